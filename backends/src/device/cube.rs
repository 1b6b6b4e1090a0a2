//! Limits and collectives of devices with CubeCL kernels.

use std::any::Any;

use burn_cubecl::{BoolElement, CubeBackend, CubeRuntime, FloatElement, IntElement, tensor::CubeTensor};
use cubecl::server::ServerCommunication;

use crate::{
    kernel::launch,
    limits::{DeviceLimits, Limits},
};

impl<R, F, I, BT> DeviceLimits for CubeBackend<R, F, I, BT>
where
    R: CubeRuntime,
    F: FloatElement,
    I: IntElement,
    BT: BoolElement,
{
    fn limits(device: &R::Device) -> Limits {
        let client = R::client(device);
        let properties = client.properties();
        let device_any = device as &dyn Any;
        Limits {
            device: device_name(device_any).unwrap_or_else(|| R::name(&client).to_string()),
            free: free_memory(device_any),
            largest_buffer: Some(properties.memory.max_page_size),
            plane: launch::plane(&client),
        }
    }

    fn supports_atomic_f32(device: &R::Device) -> Option<bool> {
        Some(launch::supports_atomic_add::<R, f32>(device))
    }

    fn supports_p2p() -> bool {
        <R::Server as ServerCommunication>::SERVER_COMM_ENABLED
    }

    fn all_reduce_sum(local: CubeTensor<R>, peers: &[u16]) -> CubeTensor<R> {
        let local = launch::dense(local);
        let sum = launch::output(&local, local.meta.shape().clone(), local.dtype);
        launch::all_reduce_sum(&local, &sum, peers);
        sum
    }
}

fn device_name(device: &dyn Any) -> Option<String> {
    #[cfg(feature = "cuda")]
    if let Some(cuda) = device.downcast_ref::<burn_cuda::CudaDevice>() {
        return super::cuda::name(cuda.index);
    }
    #[cfg(feature = "wgpu")]
    if let Some(wgpu) = device.downcast_ref::<burn_wgpu::WgpuDevice>() {
        return super::wgpu::name(wgpu);
    }
    let _ = device;
    None
}

/// Free memory in bytes; `None` except on CUDA, as wgpu cannot query it.
fn free_memory(device: &dyn Any) -> Option<u64> {
    #[cfg(feature = "cuda")]
    if let Some(cuda) = device.downcast_ref::<burn_cuda::CudaDevice>() {
        return super::cuda::free_memory(cuda.index);
    }
    let _ = device;
    None
}
