//! From `"cuda:1"` to a device, or to an error that says what is missing and what to do.

use std::{fmt, str::FromStr};

use firebox_core::{Error, Precision, Result};

#[cfg(feature = "cuda")]
pub(crate) mod cuda;
#[cfg(feature = "rocm")]
mod rocm;
#[cfg(feature = "wgpu")]
pub(crate) mod wgpu;

/// A backend as a person names it: `auto`, `ndarray`, `flex`, `wgpu[:i]`, `cuda[:i]`, `rocm[:i]`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Choice {
    /// The best present: CUDA, then wgpu on a real GPU, then NdArray.
    #[default]
    Auto,
    /// The CPU through Burn's NdArray.
    NdArray,
    /// The CPU through Burn's Flex: no kernels of Firebox's own, plain tensor operations.
    Flex,
    /// The i-th adapter through wgpu (Vulkan, Metal); by default the first real GPU, or else the first adapter.
    Wgpu(Option<usize>),
    /// The i-th NVIDIA GPU.
    Cuda(Option<usize>),
    /// The i-th AMD GPU.
    Rocm(Option<usize>),
}

impl FromStr for Choice {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let (name, index) = match text.split_once(':') {
            Some((name, index)) => {
                let index = index.parse().map_err(|_| format!("'{index}' is no device index; write {name}:0"))?;
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
            ("auto" | "ndarray" | "flex", Some(_)) => Err(format!("'{name}' has one device only; write {name}")),
            _ => Err(format!("unknown backend '{name}'; there are auto, ndarray, flex, wgpu[:i], cuda[:i], rocm[:i]")),
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

/// Stands for the device of a backend that is not compiled in; no value of it exists.
#[derive(Debug, Clone)]
pub enum NotCompiledIn {}

#[cfg(feature = "cuda")]
type CudaDevice = burn_cuda::CudaDevice;
#[cfg(not(feature = "cuda"))]
type CudaDevice = NotCompiledIn;
#[cfg(feature = "wgpu")]
type WgpuDevice = burn_wgpu::WgpuDevice;
#[cfg(not(feature = "wgpu"))]
type WgpuDevice = NotCompiledIn;
#[cfg(feature = "rocm")]
type RocmDevice = burn_rocm::RocmDevice;
#[cfg(not(feature = "rocm"))]
type RocmDevice = NotCompiledIn;
#[cfg(feature = "flex")]
type FlexDevice = burn_flex::FlexDevice;
#[cfg(not(feature = "flex"))]
type FlexDevice = NotCompiledIn;
#[cfg(feature = "ndarray")]
type NdArrayDevice = burn_ndarray::NdArrayDevice;
#[cfg(not(feature = "ndarray"))]
type NdArrayDevice = NotCompiledIn;

/// A device that was found; [`crate::with_backend!`] runs code on it.
#[derive(Debug, Clone)]
pub enum Device {
    /// The CPU through NdArray.
    NdArray(NdArrayDevice),
    /// The CPU through Flex.
    Flex(FlexDevice),
    /// A wgpu adapter.
    Wgpu(WgpuDevice),
    /// An NVIDIA GPU.
    Cuda(CudaDevice),
    /// An AMD GPU.
    Rocm(RocmDevice),
}

/// Where the processes of GPUs that tell each other meet: a port of this machine.
pub(crate) fn meet_at(port: u16) {
    #[cfg(feature = "cuda")]
    cuda::meet_at(port);
    #[cfg(not(feature = "cuda"))]
    let _ = port;
}

impl Device {
    /// The backend's name, as in reports.
    pub fn backend(&self) -> &'static str {
        match self {
            Self::NdArray(_) => "ndarray",
            Self::Flex(_) => "flex",
            Self::Wgpu(_) => "wgpu",
            Self::Cuda(_) => "cuda",
            Self::Rocm(_) => "rocm",
        }
    }

    /// The GPU's number, if it can tell other processes' numbers of its own without the host's help.
    pub fn tells_others(&self) -> Option<u16> {
        #[cfg(feature = "cuda")]
        if let Self::Cuda(device) = self {
            return u16::try_from(device.index).ok().filter(|_| cuda::has_nccl());
        }
        None
    }

    /// Whether this is a graphics driver without a GPU: it computes on the CPU, and compiles slowly.
    pub fn is_software(&self) -> bool {
        #[cfg(feature = "wgpu")]
        if let Self::Wgpu(device) = self {
            return *device == burn_wgpu::WgpuDevice::Cpu;
        }
        false
    }

    /// Whether 64-bit floats are computed rightly there: a table of our own, from measurements. CubeCL's properties
    /// say the opposite of what was measured (registered on Vulkan, where exp is off by 3e-9 to 1e-2; not registered
    /// on CUDA, where it is exact to 1.7e-17). ROCm was never measured.
    pub fn has_f64(&self) -> bool {
        matches!(self, Self::NdArray(_) | Self::Cuda(_))
    }

    /// Finds the device a person asked for, and checks that it computes at `precision`.
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
                what: format!("{} does not compute 64-bit floats rightly", device.backend()),
                help: "use --precision f32, or --backend cuda or ndarray with f64".into(),
            });
        }
        Ok(device)
    }
}

/// CUDA, then wgpu on a real GPU, then NdArray; the first that can be used.
fn best(precision: Precision) -> Result<Device> {
    if let Ok(device) = cuda_device(None) {
        return Ok(device);
    }
    #[cfg(feature = "wgpu")]
    if precision == Precision::F32
        && let Some(gpu) = wgpu::adapters().iter().find(|a| a.real_gpu)
    {
        return Ok(Device::Wgpu(gpu.device.clone()));
    }
    let _ = precision;
    ndarray().or_else(|_| wgpu_device(None)).or_else(|_| flex())
}

#[allow(dead_code)] // Called for the features that are off.
fn not_compiled_in(backend: &str) -> Error {
    Error::Device {
        backend: backend.into(),
        what: "this backend is not compiled in".into(),
        help: format!("build with --features {backend}; 'firebox backends' lists what there is"),
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

/// How many NVIDIA GPUs there are, or what is missing to use one.
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

/// A line of `firebox backends`.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Listed {
    /// What to write after `--backend`.
    pub name: String,
    /// The device, if there is one.
    pub device: Option<String>,
    /// Why it cannot be used, if it cannot.
    pub missing: Option<String>,
    /// What to do then.
    pub help: Option<String>,
    /// Whether `--precision f64` works there.
    pub f64: bool,
    /// Whether 32-bit floats can be added atomically.
    pub atomic_f32: Option<bool>,
    /// Bytes free now, where that can be known.
    pub free: Option<u64>,
    /// Bytes of the largest buffer.
    pub largest_buffer: Option<u64>,
    /// Units of a plane, where planes reduce by themselves.
    pub plane: Option<u32>,
    /// Whether `auto` takes it.
    pub auto: bool,
}

/// Every backend there could be: those present with what they can do, the others with what is missing.
pub fn list() -> Vec<Listed> {
    let mut names: Vec<Choice> = vec![Choice::NdArray, Choice::Flex];
    #[cfg(feature = "wgpu")]
    names.extend((0..wgpu::adapters().len().max(1)).map(|i| Choice::Wgpu(Some(i))));
    #[cfg(not(feature = "wgpu"))]
    names.push(Choice::Wgpu(None));
    #[cfg(feature = "cuda")]
    names.extend((0..cuda::count().unwrap_or(0).max(1)).map(|i| Choice::Cuda(Some(i))));
    #[cfg(not(feature = "cuda"))]
    names.push(Choice::Cuda(None));
    names.push(Choice::Rocm(None));

    let auto = Device::find(Choice::Auto, Precision::F32).ok();
    let same = |a: &Device, b: &Device| format!("{a:?}") == format!("{b:?}");
    names
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
    /// What the device can hold.
    pub fn limits(&self) -> crate::Limits {
        crate::with_backend!(self, Precision::F32, |B, device| <B as crate::Limited>::limits(device))
    }

    /// Whether 32-bit floats can be added atomically; `None` on the CPU, where nothing needs it.
    pub fn atomic_f32(&self) -> Option<bool> {
        match self {
            #[cfg(feature = "cuda")]
            Self::Cuda(device) => Some(crate::kernel::adds_atomically::<cubecl::cuda::CudaRuntime, f32>(device)),
            #[cfg(feature = "wgpu")]
            Self::Wgpu(device) => Some(crate::kernel::adds_atomically::<cubecl::wgpu::WgpuRuntime, f32>(device)),
            #[cfg(feature = "rocm")]
            Self::Rocm(device) => Some(crate::kernel::adds_atomically::<cubecl::hip::HipRuntime, f32>(device)),
            _ => None,
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

    #[test]
    fn the_list_names_every_backend_once_and_one_is_auto() {
        let list = list();
        assert_eq!(list.iter().filter(|l| l.auto).count(), 1, "{list:?}");
        for listed in &list {
            assert!(listed.device.is_some() != listed.missing.is_some(), "{listed:?}");
            assert!(listed.missing.is_none() || listed.help.is_some(), "{listed:?}");
        }
    }
}
