//! The user's choice of backend and device: `auto`, `ndarray`, `flex`, `wgpu[:i]`, `cuda[:i]`, `rocm[:i]`.

use std::{fmt, str::FromStr};

use firebox_core::Error;

/// A backend by name, with a device index if the backend may have several devices.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Choice {
    /// The first available of CUDA, wgpu on a hardware GPU, and NdArray.
    #[default]
    Auto,
    /// The CPU through Burn's NdArray.
    NdArray,
    /// The CPU through Burn's Flex, by plain tensor operations: Firebox has no kernels for it.
    Flex,
    /// The i-th adapter through wgpu (Vulkan, Metal); by default the first hardware GPU, or else the first adapter.
    Wgpu(Option<usize>),
    /// The i-th NVIDIA GPU.
    Cuda(Option<usize>),
    /// The i-th AMD GPU.
    Rocm(Option<usize>),
}

impl Choice {
    /// Error of a device that is not available.
    pub(super) fn unavailable(self, what: impl Into<String>, help: &str) -> Error {
        Error::Device { backend: self.to_string(), what: what.into(), help: help.into() }
    }
}

impl FromStr for Choice {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let (name, index) = match text.split_once(':') {
            Some((name, index)) => {
                let index = index.parse().map_err(|_| format!("'{index}' is not a device index; write {name}:0"))?;
                (name, Some(index))
            }
            None => (text, None),
        };
        match (name, index) {
            ("auto", None) => Ok(Self::Auto),
            ("ndarray", None) => Ok(Self::NdArray),
            ("flex", None) => Ok(Self::Flex),
            ("wgpu", index) => Ok(Self::Wgpu(index)),
            ("cuda", index) => Ok(Self::Cuda(index)),
            ("rocm", index) => Ok(Self::Rocm(index)),
            ("auto" | "ndarray" | "flex", Some(_)) => Err(format!("'{name}' has a single device; write {name}")),
            _ => Err(format!("unknown backend '{name}'; use auto, ndarray, flex, wgpu[:i], cuda[:i] or rocm[:i]")),
        }
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, index) = match self {
            Self::Auto => ("auto", None),
            Self::NdArray => ("ndarray", None),
            Self::Flex => ("flex", None),
            Self::Wgpu(i) => ("wgpu", *i),
            Self::Cuda(i) => ("cuda", *i),
            Self::Rocm(i) => ("rocm", *i),
        };
        match index {
            Some(i) => write!(f, "{name}:{i}"),
            None => f.write_str(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for name in ["auto", "ndarray", "flex", "wgpu", "wgpu:1", "cuda", "cuda:3", "rocm:0"] {
            assert_eq!(name.parse::<Choice>().unwrap().to_string(), name);
        }
        for name in ["", "gpu", "cuda:", "cuda:x", "cuda:-1", "ndarray:0", "auto:0", "CUDA"] {
            assert!(name.parse::<Choice>().is_err(), "{name}");
        }
    }
}
