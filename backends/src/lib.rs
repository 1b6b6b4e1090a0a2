//! Device selection and limits, and the building blocks of kernels and their CPU twins.
//!
//! - [`device`]: lookup of a device by name, such as `"cuda:1"`; [`with_backend!`] maps a device to a type that
//!   implements Burn's `Backend`.
//! - [`collectives`]: collective operations on device tensors.
//! - [`limits`]: memory limits of devices, and admission of memory plans.
//! - [`plugin`]: an algorithm as a command, run on a device that is chosen at run time.
//! - [`mod@bench`]: benchmarks of hot loops and whole runs.
//! - [`kernel`]: building blocks for CubeCL kernels; [`cpu`]: for hot loops on the CPU; [`ndarray`]: NdArray's tensors
//!   as slices.
//! - [`fusion`]: custom operations on Burn's `Fusion` backends.

pub mod bench;
pub mod collectives;
pub mod cpu;
pub mod device;
mod dispatch;
pub mod fusion;
pub mod kernel;
pub mod limits;
pub mod ndarray;
pub mod plugin;

pub use device::{Choice, Device};
pub use limits::{DeviceLimits, Limits};
pub use plugin::Plugin;

#[doc(hidden)]
pub use firebox_core::{Context, Precision, Session};

/// The backends that [`with_backend!`] dispatches to, each generic over its float type.
#[doc(hidden)]
pub mod backend {
    pub use burn_ndarray::NdArray;

    #[cfg(any(feature = "cuda", feature = "rocm", feature = "wgpu"))]
    use burn_cubecl::CubeBackend;

    /// CUDA without fusion, which custom kernels on raw handles do not benefit from.
    #[cfg(feature = "cuda")]
    pub type Cuda<F> = CubeBackend<cubecl::cuda::CudaRuntime, F, i32, u8>;
    /// wgpu without fusion.
    #[cfg(feature = "wgpu")]
    pub type Wgpu<F> = CubeBackend<cubecl::wgpu::WgpuRuntime, F, i32, u32>;
    /// ROCm without fusion.
    #[cfg(feature = "rocm")]
    pub type Rocm<F> = CubeBackend<cubecl::hip::HipRuntime, F, i32, u8>;
    /// Flex, which implements `Backend` for f32 only.
    #[cfg(feature = "flex")]
    pub use burn_flex::Flex;
}
