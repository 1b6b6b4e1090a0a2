//! wgpu adapters. CubeCL panics without an adapter, so they are enumerated first, in the order of the indices in
//! `wgpu:i`.

use std::sync::OnceLock;

use burn_wgpu::{
    WgpuDevice,
    graphics::{AutoGraphicsApi, GraphicsApi},
};
use firebox_core::Result;
use wgpu::DeviceType;

use super::choice::Choice;

/// An adapter, with CubeCL's identifier for it.
#[derive(Debug, Clone)]
pub(crate) struct Adapter {
    pub(crate) device: WgpuDevice,
    pub(crate) name: String,
    /// `false` for a software renderer.
    pub(crate) is_hardware: bool,
}

/// All adapters of the platform's graphics API, hardware GPUs first. Enumerated once, as drivers are slow.
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
    let mut counts = [0usize; 4];
    let mut next_index = |device_type: usize| {
        counts[device_type] += 1;
        counts[device_type] - 1
    };
    let mut adapters: Vec<Adapter> = cubecl::future::block_on(instance.enumerate_adapters(backend.into()))
        .iter()
        .filter_map(|adapter| {
            let info = adapter.get_info();
            // CubeCL numbers each type of adapter separately, and supports a single CPU.
            let device = match info.device_type {
                DeviceType::DiscreteGpu => WgpuDevice::DiscreteGpu(next_index(0)),
                DeviceType::IntegratedGpu => WgpuDevice::IntegratedGpu(next_index(1)),
                DeviceType::VirtualGpu => WgpuDevice::VirtualGpu(next_index(2)),
                DeviceType::Cpu if next_index(3) == 0 => WgpuDevice::Cpu,
                DeviceType::Cpu | DeviceType::Other => return None,
            };
            let is_hardware = !matches!(info.device_type, DeviceType::Cpu);
            Some(Adapter { device, name: format!("{} ({})", info.name, info.backend), is_hardware })
        })
        .collect();
    adapters.sort_by_key(|adapter| !adapter.is_hardware);
    adapters
}

/// Finds the i-th adapter, by default the first, which is a hardware GPU if one exists.
///
/// # Errors
/// [`Error::Device`](firebox_core::Error::Device) if it does not exist.
pub(crate) fn find(index: Option<usize>) -> Result<WgpuDevice> {
    let (adapters, ordinal) = (adapters(), index.unwrap_or(0));
    if adapters.is_empty() {
        return Err(Choice::Wgpu(None).unavailable(
            "no graphics adapter was found",
            "install a Vulkan driver (on a machine with no GPU: the package mesa-vulkan-drivers), or use `backend = ndarray`",
        ));
    }
    let adapter = adapters.get(ordinal).ok_or_else(|| {
        let what = format!("adapter {ordinal} does not exist; {} found", adapters.len());
        Choice::Wgpu(Some(ordinal)).unavailable(what, "count from 0; 'firebox backends' lists them")
    })?;
    Ok(adapter.device.clone())
}

/// Name of the adapter, from the driver.
pub(crate) fn name(device: &WgpuDevice) -> Option<String> {
    let same = |a: &&Adapter| a.device == *device || *device == WgpuDevice::DefaultDevice;
    adapters().iter().find(same).map(|a| a.name.clone())
}
