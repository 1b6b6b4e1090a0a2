//! Lookup of a device, with errors that name what is missing.

use firebox_core::{Error, Precision, Result};

#[cfg(feature = "cuda")]
use super::cuda;
#[cfg(feature = "rocm")]
use super::rocm;
#[cfg(feature = "wgpu")]
use super::wgpu;
use super::{choice::Choice, kinds::Device};

/// `$found` if the backend is compiled in; otherwise [`Error::Device`].
macro_rules! if_compiled_in {
    ($backend:literal, $found:expr) => {{
        #[cfg(feature = $backend)]
        let found = $found;
        #[cfg(not(feature = $backend))]
        let found = Err(not_compiled_in($backend));
        found
    }};
}

#[allow(dead_code)] // Called for disabled features only.
fn not_compiled_in(backend: &str) -> Error {
    Error::Device {
        backend: backend.into(),
        what: "this backend is not compiled in".into(),
        help: format!("build with --features {backend}; 'firebox backends' lists the available ones"),
    }
}

impl Device {
    /// Finds the chosen device, and checks that it supports `precision`.
    ///
    /// # Errors
    /// [`Error::Device`] if the backend is not compiled in, the device is absent, or its f64 is unreliable.
    pub fn find(choice: Choice, precision: Precision) -> Result<Self> {
        let device = find(choice, precision)?;
        if precision == Precision::F64 && !device.has_f64() {
            let what = format!("f64 is unreliable on {}", device.backend());
            return Err(choice.unavailable(what, "use `precision = f32`, or `backend = cuda` or ndarray with f64"));
        }
        Ok(device)
    }
}

/// Finds the first available of CUDA, wgpu on a hardware GPU, and NdArray.
fn best(precision: Precision) -> Result<Device> {
    if let Ok(device) = find(Choice::Cuda(None), precision) {
        return Ok(device);
    }
    #[cfg(feature = "wgpu")]
    if precision == Precision::F32
        && let Some(gpu) = wgpu::adapters().iter().find(|adapter| adapter.is_hardware)
    {
        return Ok(Device::Wgpu(gpu.device.clone()));
    }
    find(Choice::NdArray, precision)
        .or_else(|_| find(Choice::Wgpu(None), precision))
        .or_else(|_| find(Choice::Flex, precision))
}

#[allow(unused_variables)] // Indices of devices of backends that are not compiled in.
fn find(choice: Choice, precision: Precision) -> Result<Device> {
    match choice {
        Choice::Auto => best(precision),
        Choice::NdArray => if_compiled_in!("ndarray", Ok(Device::NdArray(burn_ndarray::NdArrayDevice::Cpu))),
        Choice::Flex => if_compiled_in!("flex", Ok(Device::Flex(burn_flex::FlexDevice))),
        Choice::Wgpu(index) => if_compiled_in!("wgpu", wgpu::find(index).map(Device::Wgpu)),
        Choice::Cuda(index) => if_compiled_in!("cuda", cuda::find(index).map(Device::Cuda)),
        Choice::Rocm(index) => if_compiled_in!("rocm", rocm::find(index).map(Device::Rocm)),
    }
}

/// Number of NVIDIA GPUs.
///
/// # Errors
/// [`Error::Device`] with what is missing to use one.
pub fn cuda_count() -> Result<usize> {
    if_compiled_in!("cuda", cuda::count())
}
