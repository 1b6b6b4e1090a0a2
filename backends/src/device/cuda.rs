//! CUDA devices. CubeCL panics if the driver, NVRTC or its headers are missing, so all are probed first.

use burn_cuda::CudaDevice;
use cubecl::cuda::install::cuda_path;
use cudarc::{driver, nvrtc};
use firebox_core::Result;

use super::choice::Choice;

/// Number of CUDA devices.
///
/// # Errors
/// [`Error::Device`](firebox_core::Error::Device) with what is missing to use one.
pub(crate) fn count() -> Result<usize> {
    let cuda = Choice::Cuda(None);
    // SAFETY: only checks whether the library can be loaded.
    if !unsafe { driver::sys::is_culib_present() } {
        let help = "install the driver, or use `backend = wgpu` or ndarray";
        return Err(cuda.unavailable("no NVIDIA driver (libcuda) on this machine", help));
    }
    let count = driver::result::init().and_then(|()| driver::result::device::get_count());
    let failure = |error| cuda.unavailable(format!("the NVIDIA driver failed: {error}"), "check that nvidia-smi works");
    Ok(count.map_err(failure)?.max(0) as usize)
}

/// Finds a device, by default the first.
///
/// # Errors
/// [`Error::Device`](firebox_core::Error::Device) if the device or part of CubeCL's compile environment is missing.
pub(crate) fn find(index: Option<usize>) -> Result<CudaDevice> {
    let (choice, count, ordinal) = (Choice::Cuda(index), count()?, index.unwrap_or(0));
    if ordinal >= count {
        let what = format!("CUDA device {ordinal} does not exist; {count} found");
        return Err(choice.unavailable(what, "count from 0; 'firebox backends' lists them"));
    }
    // SAFETY: only checks whether the library can be loaded.
    if !unsafe { nvrtc::sys::is_culib_present() } {
        return Err(choice.unavailable(
            "NVRTC (libnvrtc), which compiles kernels at run time, was not found",
            "install the CUDA toolkit, or its nvrtc package, and put it on the library path",
        ));
    }
    if !cuda_path().is_some_and(|path| path.join("include/cuda_runtime.h").exists()) {
        return Err(choice.unavailable(
            "the CUDA headers, with which kernels are compiled at run time, were not found",
            "install the CUDA toolkit and set CUDA_PATH to the folder that contains include/",
        ));
    }
    Ok(CudaDevice::new(ordinal))
}

/// Returns whether NCCL, the library for collectives between GPUs, can be loaded.
pub(crate) fn has_nccl() -> bool {
    // SAFETY: only checks whether the library can be loaded.
    unsafe { cudarc::nccl::sys::is_culib_present() }
}

/// Sets the local port at which NCCL's ranks connect: CubeCL would generate a different address in each process.
pub(crate) fn set_rendezvous_port(port: u16) {
    // SAFETY: no other thread reads C's environment: MPI and the driver read it at start, NCCL in the next call.
    unsafe { std::env::set_var("NCCL_COMM_ID", format!("127.0.0.1:{port}")) }
}

/// Name of the device, from the driver.
pub(crate) fn name(index: usize) -> Option<String> {
    let device = driver::result::device::get(index as i32).ok()?;
    driver::result::device::get_name(device).ok()
}

/// Free memory of the device in bytes.
pub(crate) fn free_memory(index: usize) -> Option<u64> {
    let device = driver::result::device::get(index as i32).ok()?;
    // SAFETY: the device handle is valid; the primary context is retained and released in pairs. It stays current on
    // this thread, which is harmless as CubeCL sets its context before every use.
    unsafe {
        let context = driver::result::primary_ctx::retain(device).ok()?;
        driver::result::ctx::set_current(context).ok()?;
        let free = driver::result::mem_get_info().ok().map(|(free, _)| free as u64);
        driver::result::primary_ctx::release(device).ok()?;
        free
    }
}

/// Size of the second-level cache in bytes.
#[cfg(feature = "command")]
pub(crate) fn cache(index: usize) -> Option<u64> {
    let device = driver::result::device::get(index as i32).ok()?;
    let attribute = driver::sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE;
    // SAFETY: the device handle is valid.
    let bytes = unsafe { driver::result::device::get_attribute(device, attribute) }.ok()?;
    u64::try_from(bytes).ok().filter(|&bytes| bytes > 0)
}
