//! CUDA devices. CubeCL panics when the driver, NVRTC or its headers are missing, so all are probed first.

use burn_cuda::CudaDevice;
use cubecl::cuda::install::cuda_path;
use cudarc::{driver, nvrtc};
use firebox_core::{Error, Result};

fn missing(index: Option<usize>, what: impl Into<String>, help: &str) -> Error {
    let backend = index.map_or("cuda".into(), |i| format!("cuda:{i}"));
    Error::Device { backend, what: what.into(), help: help.into() }
}

/// How many CUDA devices there are, or what is missing to use one.
pub(crate) fn count() -> Result<usize> {
    // SAFETY: only asks the loader whether the library can be opened.
    if !unsafe { driver::sys::is_culib_present() } {
        return Err(missing(
            None,
            "no NVIDIA driver (libcuda) on this machine",
            "install the driver, or use --backend wgpu or ndarray",
        ));
    }
    driver::result::init()
        .and_then(|()| driver::result::device::get_count())
        .map(|n| n.max(0) as usize)
        .map_err(|error| missing(None, format!("the driver says: {error}"), "check that nvidia-smi works"))
}

/// The device, once everything CubeCL needs to compile for it was found.
pub(crate) fn find(index: Option<usize>) -> Result<CudaDevice> {
    let count = count()?;
    let wanted = index.unwrap_or(0);
    if wanted >= count {
        return Err(missing(
            index,
            format!("there is no CUDA device {wanted}; {count} found"),
            "count from 0; 'firebox backends' lists them",
        ));
    }
    // SAFETY: only asks the loader whether the library can be opened.
    if !unsafe { nvrtc::sys::is_culib_present() } {
        return Err(missing(
            index,
            "NVRTC (libnvrtc) was not found, and kernels are compiled with it at run time",
            "install the CUDA toolkit, or its nvrtc package, and put it on the library path",
        ));
    }
    let headers = cuda_path().map(|path| path.join("include/cuda_runtime.h"));
    if !headers.as_ref().is_some_and(|header| header.exists()) {
        return Err(missing(
            index,
            "the CUDA headers were not found, and kernels are compiled with them at run time",
            "install the CUDA toolkit and set CUDA_PATH to the folder that holds include/",
        ));
    }
    Ok(CudaDevice::new(wanted))
}

/// Whether the library by which GPUs tell each other (NCCL) can be loaded.
pub(crate) fn has_nccl() -> bool {
    // SAFETY: only asks the loader whether the library can be opened.
    unsafe { cudarc::nccl::sys::is_culib_present() }
}

/// Tells NCCL where the processes find each other: CubeCL asks it for a place, which without this would be one of each
/// process's own.
pub(crate) fn meet_at(port: u16) {
    // SAFETY: C's environment is read by NCCL alone by now, in the call that comes next; MPI and the driver have read theirs
    // as they started.
    unsafe { std::env::set_var("NCCL_COMM_ID", format!("127.0.0.1:{port}")) }
}

/// The device's name in the driver's words.
pub(crate) fn name(index: usize) -> Option<String> {
    let device = driver::result::device::get(index as i32).ok()?;
    driver::result::device::get_name(device).ok()
}

/// Bytes free on the device now.
pub(crate) fn free_memory(index: usize) -> Option<u64> {
    let device = driver::result::device::get(index as i32).ok()?;
    // SAFETY: the device handle was just obtained; the primary context is retained and released in pairs, and it
    // stays current on this thread, where CubeCL sets its own before every use.
    unsafe {
        let context = driver::result::primary_ctx::retain(device).ok()?;
        driver::result::ctx::set_current(context).ok()?;
        let free = driver::result::mem_get_info().ok().map(|(free, _)| free as u64);
        driver::result::primary_ctx::release(device).ok()?;
        free
    }
}

/// Bytes of the second-level cache.
pub(crate) fn cache(index: usize) -> Option<u64> {
    let device = driver::result::device::get(index as i32).ok()?;
    let attribute = driver::sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE;
    // SAFETY: the device handle was just obtained.
    let bytes = unsafe { driver::result::device::get_attribute(device, attribute) }.ok()?;
    u64::try_from(bytes).ok().filter(|&bytes| bytes > 0)
}
