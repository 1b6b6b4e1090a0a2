//! ROCm devices. CubeCL panics if the HIP libraries or the device are missing, so they are probed first.

use burn_rocm::RocmDevice;
use cubecl_hip_sys::{HIP_SUCCESS, hipGetDeviceCount, is_available};
use firebox_core::Result;

use super::choice::Choice;

/// Finds a device, by default the first. Fails if the device or the HIP libraries are missing.
pub(crate) fn find(index: Option<usize>) -> Result<RocmDevice> {
    let choice = Choice::Rocm(index);
    if !is_available() {
        return Err(choice.unavailable(
            "the HIP libraries (libamdhip64, libhiprtc) were not found",
            "install ROCm and set ROCM_PATH, or use `backend = wgpu` or ndarray",
        ));
    }
    let mut count = 0;
    // SAFETY: the library is loaded, and writes one integer to the valid pointer.
    let status = unsafe { hipGetDeviceCount(&mut count) };
    let count = if status == HIP_SUCCESS { usize::try_from(count).unwrap_or(0) } else { 0 };
    let ordinal = index.unwrap_or(0);
    if ordinal >= count {
        let what = format!("ROCm device {ordinal} does not exist; {count} found (HIP status {status})");
        return Err(choice.unavailable(what, "count from 0, and check that rocminfo lists the device"));
    }
    Ok(RocmDevice::new(ordinal))
}
