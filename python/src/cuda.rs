//! Predictions for rows in the memory of a CUDA device, which another library owns: one copy on the device, no trip through
//! the host.

use std::{ffi::c_int, fmt::Display};

use burn::tensor::{FloatDType, Tensor, ops::FloatTensorOps};
use burn_cubecl::tensor::CubeTensor;
use cubecl::cuda::CudaRuntime;
use cudarc::driver::result as driver;
use firebox::{
    Context, Error, Result,
    backends::{DeviceLimits, backend::Cuda, kernel::launch},
    core::tensor::{into_primitive, reshape, tensor},
    perceptron::{FittedMlpClassifier, FittedMlpRegressor, Model, Task},
};

type B = Cuda<f32>;

const PHASE: &str = "predicting on the device";
/// Largest number of input values of a call.
const BLOCK: usize = 1 << 26;

/// Addresses of row-major 32-bit floats on the device: rows `[rows, columns]`, and outputs of the network for each of them.
#[derive(Clone, Copy)]
pub struct Rows {
    pub source: u64,
    pub target: u64,
    pub rows: usize,
    pub columns: usize,
}

/// Writes the probabilities of the classes, or the numbers, for `rows`. Their owner may use them from any stream: all work of
/// the device ends before and after a copy.
///
/// # Errors
/// As of [`FittedMlpClassifier::predict_proba`], and [`Error::Run`] if the device fails.
pub fn predict(model: &Model, rows: Rows, context: &Context<B>) -> Result<()> {
    let device = &context.device;
    let primary = Primary::enter(device.index)?;
    let outputs: &dyn Fn(Tensor<B, 2>) -> Result<Tensor<B, 2>> = match model.task() {
        Task::Classification => {
            let network = FittedMlpClassifier::<B>::new(model.clone(), device)?;
            &move |x| network.predict_proba(x)
        }
        Task::Regression => {
            let network = FittedMlpRegressor::<B>::new(model.clone(), device)?;
            &move |x| network.predict_several(x)
        }
    };
    let width = size_of::<f32>();
    let (columns, results) = (rows.columns, model.network.outputs);
    let step = (BLOCK / columns.max(1)).max(1);
    for from in (0..rows.rows).step_by(step) {
        context.go_on()?;
        let count = step.min(rows.rows - from);
        let numbers = count * columns;
        // As one axis, since Burn pads several rows on CUDA.
        let block = B::float_empty([numbers].into(), device, FloatDType::F32);
        let source = rows.source + (from * columns * width) as u64;
        primary.copy(address(&block)?, source, numbers * width)?;
        let y = launch::dense(into_primitive(outputs(tensor(reshape::<B>(block, [count, columns].into())))?));
        let target = rows.target + (from * results * width) as u64;
        primary.copy(target, address(&y)?, count * results * width)?;
    }
    Ok(())
}

/// Address of a tensor, when all work on it has ended.
fn address(of: &CubeTensor<CudaRuntime>) -> Result<u64> {
    B::finish(&of.device, PHASE)?;
    let resource = of.client.get_resource(of.handle.clone());
    Ok(resource.map_err(|error| failure(of.device.index, format!("{error:?}")))?.resource().ptr)
}

/// The primary context of a device, which CubeCL and other libraries use, current in this thread.
struct Primary {
    ordinal: usize,
    device: cudarc::driver::sys::CUdevice,
}

impl Primary {
    fn enter(ordinal: usize) -> Result<Self> {
        let of = |error| failure(ordinal, error);
        let device = driver::device::get(ordinal as c_int).map_err(of)?;
        // SAFETY: the device is valid, and the context is retained until this value is dropped.
        unsafe {
            let context = driver::primary_ctx::retain(device).map_err(of)?;
            let primary = Self { ordinal, device };
            driver::ctx::set_current(context).map_err(of)?;
            Ok(primary)
        }
    }

    /// Copies on the device after all its work, and waits for the copy.
    fn copy(&self, target: u64, source: u64, bytes: usize) -> Result<()> {
        let of = |error| failure(self.ordinal, error);
        driver::ctx::synchronize().map_err(of)?;
        // SAFETY: both ranges lie in arrays that the caller holds.
        unsafe { driver::memcpy_dtod_sync(target, source, bytes) }.map_err(of)?;
        driver::ctx::synchronize().map_err(of)
    }
}

impl Drop for Primary {
    fn drop(&mut self) {
        // SAFETY: retained by `enter`. An error cannot be reported here.
        let _ = unsafe { driver::primary_ctx::release(self.device) };
    }
}

fn failure(ordinal: usize, what: impl Display) -> Error {
    Error::Run { device: format!("cuda:{ordinal}"), phase: PHASE.into(), what: what.to_string() }
}
