//! Which device runs Firebox, what it can do, and the kernel blocks that algorithms share.
//!
//! - [`device`]: `"cuda:1"` becomes a device, or an error that says what is missing; [`with_backend!`] turns a device
//!   into a type that implements Burn's `Backend`.
//! - [`exchange`]: what ranks tell each other of numbers on their devices.
//! - [`limits`]: what a device can hold.
//! - [`kernel`]: building blocks for CubeCL kernels; [`cpu`]: their twins for NdArray, and [`ndarray`] its tensors as slices.
//! - [`fusion`]: custom operations on Burn's `Fusion` backends.

pub mod bench;
pub mod cpu;
pub mod device;
mod dispatch;
pub mod exchange;
pub mod fusion;
pub mod kernel;
pub mod limits;
pub mod ndarray;

pub use device::{Choice, Device};
pub use limits::{Limited, Limits};

pub use firebox_core::Precision;

/// The backends that [`with_backend!`] names, each generic over its float.
#[doc(hidden)]
pub mod backend {
    pub use burn_ndarray::NdArray;

    #[cfg(any(feature = "cuda", feature = "rocm", feature = "wgpu"))]
    use burn_cubecl::CubeBackend;

    /// CUDA without Burn's fusion in front: kernels are launched from raw handles anyway.
    #[cfg(feature = "cuda")]
    pub type Cuda<F> = CubeBackend<cubecl::cuda::CudaRuntime, F, i32, u8>;
    /// wgpu without fusion.
    #[cfg(feature = "wgpu")]
    pub type Wgpu<F> = CubeBackend<cubecl::wgpu::WgpuRuntime, F, i32, u32>;
    /// ROCm without fusion.
    #[cfg(feature = "rocm")]
    pub type Rocm<F> = CubeBackend<cubecl::hip::HipRuntime, F, i32, u8>;
    /// Flex, whose float is f32.
    #[cfg(feature = "flex")]
    pub use burn_flex::Flex as FlexOf;
}
