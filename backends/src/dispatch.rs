//! Dispatch from a device at run time to a backend type at compile time.

/// Evaluates `$body` with `$B` the Burn backend type of a [`Device`](crate::Device) at a
/// [`Precision`](firebox_core::Precision), and `$device` a reference to the backend's device.
///
/// `$body` is compiled once for each backend, so it should only call a generic function.
/// [`Device::find`](crate::Device::find) refuses unsupported precisions before.
#[macro_export]
macro_rules! with_backend {
    ($chosen:expr, $precision:expr, |$B:ident, $device:ident| $body:expr) => {
        match ($chosen, $precision) {
            ($crate::Device::NdArray($device), $crate::Precision::F32) => {
                $crate::backend::ndarray!($device, NdArray<f32>, $B, $body)
            }
            ($crate::Device::NdArray($device), $crate::Precision::F64) => {
                $crate::backend::ndarray!($device, NdArray<f64>, $B, $body)
            }
            ($crate::Device::Cuda($device), $crate::Precision::F32) => {
                $crate::backend::cuda!($device, Cuda<f32>, $B, $body)
            }
            ($crate::Device::Cuda($device), $crate::Precision::F64) => {
                $crate::backend::cuda!($device, Cuda<f64>, $B, $body)
            }
            ($crate::Device::Wgpu($device), _) => $crate::backend::wgpu!($device, Wgpu<f32>, $B, $body),
            ($crate::Device::Rocm($device), _) => $crate::backend::rocm!($device, Rocm<f32>, $B, $body),
            ($crate::Device::Flex($device), _) => $crate::backend::flex!($device, Flex<f32>, $B, $body),
        }
    };
}

/// Evaluates `$body` with `$context` a [`Context`](firebox_core::Context) of a [`Session`](firebox_core::Session) on a
/// [`Device`](crate::Device). As in [`with_backend!`](crate::with_backend), `$body` should only call a generic
/// function.
#[macro_export]
macro_rules! with_context {
    ($device:expr, $session:expr, |$context:ident| $body:expr) => {{
        let session: &$crate::Session = $session;
        if cfg!(test) {
            // Unit tests of a crate run commands on NdArray only, to avoid compiling every backend again. In a crate
            // without backends, this branch determines the type of the expression.
            assert!(matches!($device, $crate::Device::NdArray(_)) && session.precision == $crate::Precision::F32);
            type B = $crate::backend::NdArray<f32>;
            let $context = &$crate::Context::<B> { device: Default::default(), session: session.clone() };
            $body
        } else {
            $crate::with_backend!($device, session.precision, |B, device| {
                let $context = &$crate::Context::<B> { device: device.clone(), session: session.clone() };
                $body
            })
        }
    }};
}

/// Evaluates the body on a backend that is compiled in.
#[doc(hidden)]
#[macro_export]
macro_rules! __compiled_in {
    ($device:ident, $backend:ident<$element:ty>, $B:ident, $body:expr) => {{
        type $B = $crate::backend::$backend<$element>;
        $body
    }};
}

/// Matches the device of a backend that is not compiled in, which has no values.
#[doc(hidden)]
#[macro_export]
macro_rules! __not_compiled_in {
    ($device:ident, $backend:ident<$element:ty>, $B:ident, $body:expr) => {
        match *$device {}
    };
}

/// The backends that [`with_backend!`](crate::with_backend) dispatches to, each generic over its float type, and a
/// macro for each, one of the two above: a `cfg` inside `with_backend!` would refer to features of the crate that uses
/// it.
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

    macro_rules! dispatch {
        ($($feature:literal $name:ident)*) => { $(
            #[cfg(feature = $feature)]
            pub use crate::__compiled_in as $name;
            #[cfg(not(feature = $feature))]
            pub use crate::__not_compiled_in as $name;
        )* };
    }
    dispatch!("ndarray" ndarray "cuda" cuda "wgpu" wgpu "rocm" rocm "flex" flex);
}
