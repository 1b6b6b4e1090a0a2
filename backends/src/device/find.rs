//! Lookup of a device, with errors that name what is missing.

use firebox_core::{Error, Precision, Result};

#[cfg(feature = "cuda")]
use super::cuda;
#[cfg(feature = "rocm")]
use super::rocm;
#[cfg(feature = "wgpu")]
use super::wgpu;
use super::{choice::Choice, kinds::Device};

impl Device {
    /// Finds the chosen device, and checks that it supports `precision`.
    ///
    /// # Errors
    ///
    /// [`Error::Device`] if the backend is not compiled in, the device is absent, or its f64 is unreliable.
    pub fn find(choice: Choice, precision: Precision) -> Result<Self> {
        let device = match choice {
            Choice::Auto => best(precision)?,
            Choice::NdArray => ndarray()?,
            Choice::Flex => flex()?,
            Choice::Wgpu(index) => wgpu_device(index)?,
            Choice::Cuda(index) => cuda_device(index)?,
            Choice::Rocm(index) => rocm_device(index)?,
        };
        if precision == Precision::F64 && !device.has_f64() {
            return Err(Error::Device {
                backend: choice.to_string(),
                what: format!("f64 is unreliable on {}", device.backend()),
                help: "use `precision = f32`, or `backend = cuda` or ndarray with f64".into(),
            });
        }
        Ok(device)
    }
}

/// Finds the first available of CUDA, wgpu on a hardware GPU, and NdArray.
fn best(precision: Precision) -> Result<Device> {
    if let Ok(device) = cuda_device(None) {
        return Ok(device);
    }
    #[cfg(feature = "wgpu")]
    if precision == Precision::F32
        && let Some(gpu) = wgpu::adapters().iter().find(|adapter| adapter.is_hardware)
    {
        return Ok(Device::Wgpu(gpu.device.clone()));
    }
    let _ = precision;
    ndarray().or_else(|_| wgpu_device(None)).or_else(|_| flex())
}

#[allow(dead_code)] // Called for disabled features only.
fn not_compiled_in(backend: &str) -> Error {
    Error::Device {
        backend: backend.into(),
        what: "this backend is not compiled in".into(),
        help: format!("build with --features {backend}; 'firebox backends' lists the available ones"),
    }
}

fn ndarray() -> Result<Device> {
    #[cfg(feature = "ndarray")]
    return Ok(Device::NdArray(burn_ndarray::NdArrayDevice::Cpu));
    #[cfg(not(feature = "ndarray"))]
    Err(not_compiled_in("ndarray"))
}

fn flex() -> Result<Device> {
    #[cfg(feature = "flex")]
    return Ok(Device::Flex(burn_flex::FlexDevice));
    #[cfg(not(feature = "flex"))]
    Err(not_compiled_in("flex"))
}

#[cfg_attr(not(feature = "wgpu"), allow(unused_variables))]
fn wgpu_device(index: Option<usize>) -> Result<Device> {
    #[cfg(feature = "wgpu")]
    return wgpu::find(index).map(Device::Wgpu);
    #[cfg(not(feature = "wgpu"))]
    Err(not_compiled_in("wgpu"))
}

/// Number of NVIDIA GPUs.
///
/// # Errors
///
/// [`Error::Device`] with what is missing to use one.
pub fn cuda_count() -> Result<usize> {
    #[cfg(feature = "cuda")]
    return cuda::count();
    #[cfg(not(feature = "cuda"))]
    Err(not_compiled_in("cuda"))
}

#[cfg_attr(not(feature = "cuda"), allow(unused_variables))]
fn cuda_device(index: Option<usize>) -> Result<Device> {
    #[cfg(feature = "cuda")]
    return cuda::find(index).map(Device::Cuda);
    #[cfg(not(feature = "cuda"))]
    Err(not_compiled_in("cuda"))
}

#[cfg_attr(not(feature = "rocm"), allow(unused_variables))]
fn rocm_device(index: Option<usize>) -> Result<Device> {
    #[cfg(feature = "rocm")]
    return rocm::find(index).map(Device::Rocm);
    #[cfg(not(feature = "rocm"))]
    Err(not_compiled_in("rocm"))
}
