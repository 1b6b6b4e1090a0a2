//! From a device known at run time to a backend known at compile time.

/// Runs `$body` with `$B` the Burn backend of a [`Device`](crate::Device) at a
/// [`Precision`](firebox_core::Precision), and `$device` its device, by reference.
///
/// `$body` is compiled once for every backend that is compiled in, so it holds a call of one generic function and
/// little else. A precision that a device lacks was refused by [`Device::find`](crate::Device::find).
#[macro_export]
macro_rules! with_backend {
    ($found:expr, $precision:expr, |$B:ident, $device:ident| $body:expr) => {
        match ($found, $precision) {
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

// The arm of each backend: the body where its feature is on, nothing to match where it is off. (A `cfg` inside
// `with_backend!` would ask for the features of the crate that uses it.)

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
        type $B = $crate::backend::FlexOf<$element>;
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
