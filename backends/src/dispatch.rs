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
            ($crate::Device::NdArray($device), $crate::Precision::F32) => $crate::__ndarray!($device, f32, $B, $body),
            ($crate::Device::NdArray($device), $crate::Precision::F64) => $crate::__ndarray!($device, f64, $B, $body),
            ($crate::Device::Cuda($device), $crate::Precision::F32) => $crate::__cuda!($device, f32, $B, $body),
            ($crate::Device::Cuda($device), $crate::Precision::F64) => $crate::__cuda!($device, f64, $B, $body),
            ($crate::Device::Wgpu($device), _) => $crate::__wgpu!($device, f32, $B, $body),
            ($crate::Device::Rocm($device), _) => $crate::__rocm!($device, f32, $B, $body),
            ($crate::Device::Flex($device), _) => $crate::__flex!($device, f32, $B, $body),
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

// One macro for each backend: the body if its feature is enabled, an empty match otherwise. A `cfg` inside
// `with_backend!` would refer to features of the crate that uses the macro.

#[cfg(feature = "ndarray")]
#[doc(hidden)]
#[macro_export]
macro_rules! __ndarray {
    ($device:ident, $element:ty, $B:ident, $body:expr) => {{
        type $B = $crate::backend::NdArray<$element>;
        $body
    }};
}

#[cfg(not(feature = "ndarray"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __ndarray {
    ($device:ident, $element:ty, $B:ident, $body:expr) => {
        match *$device {}
    };
}

#[cfg(feature = "cuda")]
#[doc(hidden)]
#[macro_export]
macro_rules! __cuda {
    ($device:ident, $element:ty, $B:ident, $body:expr) => {{
        type $B = $crate::backend::Cuda<$element>;
        $body
    }};
}

#[cfg(not(feature = "cuda"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __cuda {
    ($device:ident, $element:ty, $B:ident, $body:expr) => {
        match *$device {}
    };
}

#[cfg(feature = "wgpu")]
#[doc(hidden)]
#[macro_export]
macro_rules! __wgpu {
    ($device:ident, $element:ty, $B:ident, $body:expr) => {{
        type $B = $crate::backend::Wgpu<$element>;
        $body
    }};
}

#[cfg(not(feature = "wgpu"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __wgpu {
    ($device:ident, $element:ty, $B:ident, $body:expr) => {
        match *$device {}
    };
}

#[cfg(feature = "rocm")]
#[doc(hidden)]
#[macro_export]
macro_rules! __rocm {
    ($device:ident, $element:ty, $B:ident, $body:expr) => {{
        type $B = $crate::backend::Rocm<$element>;
        $body
    }};
}

#[cfg(not(feature = "rocm"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __rocm {
    ($device:ident, $element:ty, $B:ident, $body:expr) => {
        match *$device {}
    };
}

#[cfg(feature = "flex")]
#[doc(hidden)]
#[macro_export]
macro_rules! __flex {
    ($device:ident, $element:ty, $B:ident, $body:expr) => {{
        type $B = $crate::backend::Flex<$element>;
        $body
    }};
}

#[cfg(not(feature = "flex"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __flex {
    ($device:ident, $element:ty, $B:ident, $body:expr) => {
        match *$device {}
    };
}
