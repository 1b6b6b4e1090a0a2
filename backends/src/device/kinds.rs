//! Devices of all backends as one type, with their fixed properties.

#[cfg(feature = "cuda")]
use super::cuda;

/// Uninhabited stand-in for the device of a backend that is not compiled in.
#[derive(Debug, Clone, PartialEq)]
#[allow(dead_code)] // Used for disabled features only.
pub enum NotCompiledIn {}

/// Defines the device types of backends.
macro_rules! devices {
    ($($name:ident: $feature:literal, $device:ty;)*) => { $(
        #[cfg(feature = $feature)]
        type $name = $device;
        #[cfg(not(feature = $feature))]
        type $name = NotCompiledIn;
    )* };
}
devices! {
    CudaDevice: "cuda", burn_cuda::CudaDevice;
    WgpuDevice: "wgpu", burn_wgpu::WgpuDevice;
    RocmDevice: "rocm", burn_rocm::RocmDevice;
    FlexDevice: "flex", burn_flex::FlexDevice;
    NdArrayDevice: "ndarray", burn_ndarray::NdArrayDevice;
}

/// An available device; [`crate::with_backend!`] runs code on it.
#[derive(Debug, Clone, PartialEq)]
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

impl Device {
    /// Name of the backend, as in reports.
    pub fn backend(&self) -> &'static str {
        match self {
            Self::NdArray(_) => "ndarray",
            Self::Flex(_) => "flex",
            Self::Wgpu(_) => "wgpu",
            Self::Cuda(_) => "cuda",
            Self::Rocm(_) => "rocm",
        }
    }

    /// CUDA ordinal, if the device supports direct transfers between processes.
    pub fn p2p_ordinal(&self) -> Option<u16> {
        #[cfg(feature = "cuda")]
        if let Self::Cuda(device) = self {
            return u16::try_from(device.index).ok().filter(|_| cuda::has_nccl());
        }
        None
    }

    /// Returns whether this is a software renderer, which computes on the CPU and compiles slowly.
    pub fn is_software(&self) -> bool {
        #[cfg(feature = "wgpu")]
        if let Self::Wgpu(device) = self {
            return *device == burn_wgpu::WgpuDevice::Cpu;
        }
        false
    }

    /// Returns whether f64 arithmetic is reliable, by measurements. CubeCL's properties claim the opposite: f64 is
    /// registered on Vulkan, where errors of exp are 3e-9 to 1e-2, and not on CUDA, where they are 1.7e-17. ROCm has
    /// not been measured.
    pub fn has_f64(&self) -> bool {
        matches!(self, Self::NdArray(_) | Self::Cuda(_))
    }
}
