//! List of all backends and devices with their properties.

use firebox_core::{Error, Precision};

#[cfg(feature = "cuda")]
use super::cuda;
#[cfg(feature = "wgpu")]
use super::wgpu;
use super::{choice::Choice, kinds::Device};
use crate::{DeviceLimits, Limits, with_backend};

/// A device, or a backend without one, as listed by `firebox backends`.
#[derive(Debug, Clone, Default, serde::Serialize)]
pub struct Listed {
    /// Value for `--backend`.
    pub name: String,
    /// Name of the device, if it is available.
    pub device: Option<String>,
    /// Reason why it is not available.
    pub missing: Option<String>,
    /// Way to make it available.
    pub help: Option<String>,
    /// `true` if its f64 arithmetic is reliable.
    pub f64: bool,
    /// `true` if it has an atomic addition of f32; `None` on the CPU.
    pub atomic_f32: Option<bool>,
    /// Free memory in bytes, if known.
    pub free: Option<u64>,
    /// Size of the largest buffer in bytes, if known.
    pub largest_buffer: Option<u64>,
    /// Units per plane, if planes can reduce.
    pub plane: Option<u32>,
    /// `true` if `auto` selects it.
    pub auto: bool,
}

/// Lists every backend: the devices of available ones with their properties, the others with the reason.
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
    let listed = |choice: Choice| match Device::find(choice, Precision::F32) {
        Ok(device) => {
            let limits = device.limits();
            Listed {
                name: choice.to_string(),
                device: Some(limits.device),
                f64: device.has_f64(),
                atomic_f32: with_backend!(&device, Precision::F32, |B, device| B::supports_atomic_f32(device)),
                free: limits.free,
                largest_buffer: limits.largest_buffer,
                plane: limits.plane,
                auto: auto.as_ref() == Some(&device),
                ..Listed::default()
            }
        }
        Err(error) => {
            let (name, help) = (choice.to_string(), error.help());
            let missing = if let Error::Device { what, .. } = error { what } else { error.to_string() };
            Listed { name, missing: Some(missing), help, ..Listed::default() }
        }
    };
    choices.into_iter().map(listed).collect()
}

impl Device {
    /// Memory and other limits of the device.
    pub fn limits(&self) -> Limits {
        with_backend!(self, Precision::F32, |B, device| B::limits(device))
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
