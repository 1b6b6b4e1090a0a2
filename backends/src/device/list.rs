//! List of all backends and devices with their properties.

use firebox_core::{Error, Precision};

#[cfg(feature = "cuda")]
use super::cuda;
#[cfg(feature = "wgpu")]
use super::wgpu;
use super::{choice::Choice, kinds::Device};

/// A device, or a backend without one, as listed by `firebox backends`.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Listed {
    /// Value for `--backend`.
    pub name: String,
    /// Name of the device, if it is available.
    pub device: Option<String>,
    /// What is missing to use it.
    pub missing: Option<String>,
    /// How to install it.
    pub help: Option<String>,
    /// Whether `--precision f64` works on it.
    pub f64: bool,
    /// Whether it has an atomic addition of f32.
    pub atomic_f32: Option<bool>,
    /// Free memory in bytes, if known.
    pub free: Option<u64>,
    /// Size of the largest buffer in bytes, if known.
    pub largest_buffer: Option<u64>,
    /// Units per plane, if planes can reduce.
    pub plane: Option<u32>,
    /// Whether `auto` selects it.
    pub auto: bool,
}

/// Lists every backend: the devices of available ones with their properties, the others with what is missing.
pub fn list() -> Vec<Listed> {
    let mut choices: Vec<Choice> = vec![Choice::NdArray, Choice::Flex];
    #[cfg(feature = "wgpu")]
    choices.extend((0..wgpu::adapters().len().max(1)).map(|i| Choice::Wgpu(Some(i))));
    #[cfg(not(feature = "wgpu"))]
    choices.push(Choice::Wgpu(None));
    #[cfg(feature = "cuda")]
    choices.extend((0..cuda::count().unwrap_or(0).max(1)).map(|i| Choice::Cuda(Some(i))));
    #[cfg(not(feature = "cuda"))]
    choices.push(Choice::Cuda(None));
    choices.push(Choice::Rocm(None));

    let auto = Device::find(Choice::Auto, Precision::F32).ok();
    let same = |a: &Device, b: &Device| format!("{a:?}") == format!("{b:?}");
    choices
        .into_iter()
        .map(|choice| match Device::find(choice, Precision::F32) {
            Ok(device) => {
                let limits = device.limits();
                Listed {
                    name: choice.to_string(),
                    missing: None,
                    help: None,
                    f64: device.has_f64(),
                    atomic_f32: device.atomic_f32(),
                    free: limits.free,
                    largest_buffer: limits.largest_buffer,
                    plane: limits.plane,
                    auto: auto.as_ref().is_some_and(|a| same(a, &device)),
                    device: Some(limits.device),
                }
            }
            Err(error) => Listed {
                name: choice.to_string(),
                device: None,
                help: error.help(),
                missing: Some(match error {
                    Error::Device { what, .. } => what,
                    other => other.to_string(),
                }),
                f64: false,
                atomic_f32: None,
                free: None,
                largest_buffer: None,
                plane: None,
                auto: false,
            },
        })
        .collect()
}

impl Device {
    /// Memory and other limits of the device.
    pub fn limits(&self) -> crate::Limits {
        crate::with_backend!(self, Precision::F32, |B, device| <B as crate::DeviceLimits>::limits(device))
    }

    /// Returns whether the device has an atomic addition of f32; `None` on the CPU, where no loop needs it.
    pub fn atomic_f32(&self) -> Option<bool> {
        match self {
            #[cfg(feature = "cuda")]
            Self::Cuda(device) => Some(crate::kernel::supports_atomic_add::<cubecl::cuda::CudaRuntime, f32>(device)),
            #[cfg(feature = "wgpu")]
            Self::Wgpu(device) => Some(crate::kernel::supports_atomic_add::<cubecl::wgpu::WgpuRuntime, f32>(device)),
            #[cfg(feature = "rocm")]
            Self::Rocm(device) => Some(crate::kernel::supports_atomic_add::<cubecl::hip::HipRuntime, f32>(device)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exactly_one_device_is_auto_and_missing_backends_have_help() {
        let list = list();
        assert_eq!(list.iter().filter(|l| l.auto).count(), 1, "{list:?}");
        for listed in &list {
            assert!(listed.device.is_some() != listed.missing.is_some(), "{listed:?}");
            assert!(listed.missing.is_none() || listed.help.is_some(), "{listed:?}");
        }
    }
}
