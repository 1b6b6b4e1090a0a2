//! wgpu adapters. CubeCL panics when there is none, so they are enumerated first, in the order `wgpu:i` counts.

use std::sync::OnceLock;

use burn_wgpu::{
    WgpuDevice,
    graphics::{AutoGraphicsApi, GraphicsApi},
};
use firebox_core::{Error, Result};
use wgpu::DeviceType;

/// An adapter, and the name by which CubeCL knows it.
#[derive(Debug, Clone)]
pub(crate) struct Adapter {
    pub(crate) device: WgpuDevice,
    pub(crate) name: String,
    /// Not a CPU in disguise.
    pub(crate) real_gpu: bool,
}

/// All adapters of the platform's graphics API, real GPUs first. Asked for once: drivers take their time.
pub(crate) fn adapters() -> &'static [Adapter] {
    static ADAPTERS: OnceLock<Vec<Adapter>> = OnceLock::new();
    ADAPTERS.get_or_init(enumerate)
}

fn enumerate() -> Vec<Adapter> {
    let backend = AutoGraphicsApi::backend();
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor {
        backends: backend.into(),
        ..wgpu::InstanceDescriptor::new_without_display_handle()
    });
    let mut of_type = [0usize; 4];
    let mut numbered = |type_index: usize| {
        of_type[type_index] += 1;
        of_type[type_index] - 1
    };
    let mut adapters: Vec<Adapter> = cubecl::future::block_on(instance.enumerate_adapters(backend.into()))
        .iter()
        .filter_map(|adapter| {
            let info = adapter.get_info();
            // CubeCL counts each type of adapter by itself and knows one CPU.
            let device = match info.device_type {
                DeviceType::DiscreteGpu => WgpuDevice::DiscreteGpu(numbered(0)),
                DeviceType::IntegratedGpu => WgpuDevice::IntegratedGpu(numbered(1)),
                DeviceType::VirtualGpu => WgpuDevice::VirtualGpu(numbered(2)),
                DeviceType::Cpu if numbered(3) == 0 => WgpuDevice::Cpu,
                DeviceType::Cpu | DeviceType::Other => return None,
            };
            let real_gpu = !matches!(info.device_type, DeviceType::Cpu);
            Some(Adapter { device, name: format!("{} ({})", info.name, info.backend), real_gpu })
        })
        .collect();
    adapters.sort_by_key(|adapter| !adapter.real_gpu);
    adapters
}

/// The i-th adapter; without an index the first, which is a real GPU if there is one.
pub(crate) fn find(index: Option<usize>) -> Result<WgpuDevice> {
    let adapters = adapters();
    let wanted = index.unwrap_or(0);
    match adapters.get(wanted) {
        Some(adapter) => Ok(adapter.device.clone()),
        None if adapters.is_empty() => Err(Error::Device {
            backend: "wgpu".into(),
            what: "no graphics adapter was found".into(),
            help: "install a Vulkan driver (on a machine with no GPU: the package mesa-vulkan-drivers), or use --backend ndarray".into(),
        }),
        None => Err(Error::Device {
            backend: format!("wgpu:{wanted}"),
            what: format!("there is no adapter {wanted}; {} found", adapters.len()),
            help: "count from 0; 'firebox backends' lists them".into(),
        }),
    }
}

/// The adapter's name in the driver's words.
pub(crate) fn name(device: &WgpuDevice) -> Option<String> {
    let same = |a: &&Adapter| a.device == *device || *device == WgpuDevice::DefaultDevice;
    adapters().iter().find(same).map(|a| a.name.clone())
}
