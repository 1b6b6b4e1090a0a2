//! Limits and collectives of devices with CubeCL kernels.

use std::any::Any;

use burn_cubecl::{BoolElement, CubeBackend, CubeRuntime, FloatElement, IntElement, tensor::CubeTensor};
use cubecl::server::ServerCommunication;
#[cfg(feature = "cuda")]
use firebox_core::{Error, Result};

#[cfg(feature = "cuda")]
use super::cuda_qr;
#[cfg(feature = "cuda")]
use crate::qr::DeviceQr;
use crate::{
    kernel::launch,
    limits::{DeviceLimits, Limits},
    qr::QrSupport,
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

    fn qr_support(device: &R::Device) -> QrSupport {
        #[cfg(feature = "cuda")]
        if (device as &dyn Any).is::<burn_cuda::CudaDevice>() {
            return match size_of::<F>() {
                8 if cuda_qr::is_present() => QrSupport::Available,
                8 => QrSupport::Missing("libcusolver or libcublas was not found; put them on the library path"),
                _ => QrSupport::Missing("the floats of its backend are not f64; take a backend with f64"),
            };
        }
        let _ = device;
        QrSupport::Missing("only CUDA has a QR decomposition in f64")
    }

    #[cfg(feature = "cuda")]
    fn qr(transposed: CubeTensor<R>) -> Result<Box<dyn DeviceQr>> {
        let device = transposed.device.clone();
        match (Box::new(transposed) as Box<dyn Any>).downcast() {
            Ok(transposed) => Ok(Box::new(cuda_qr::CudaQr::new(*transposed)?)),
            Err(_) => {
                let (device, what) = (Self::limits(&device).device, "it is not available on this device".into());
                Err(Error::Run { device, phase: "the QR decomposition".into(), what })
            }
        }
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
