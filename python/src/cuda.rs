//! Predictions for rows in the memory of a CUDA device, which another library owns: one copy on the device, no trip through
//! the host.

use burn::tensor::{FloatDType, Tensor, ops::FloatTensorOps};
use firebox::{
    Context, Result,
    backends::{backend::Cuda, device::CudaContext, kernel::launch},
    core::tensor::{into_primitive, reshape, tensor},
    perceptron::{FittedMlpClassifier, FittedMlpRegressor, Model, Task},
};

use crate::errors::in_rows;

type B = Cuda<f32>;

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
    let cuda = CudaContext::enter(device.index, "predicting on the device")?;
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
        // SAFETY: both ranges lie in arrays that the caller and this function hold; no call makes another context current.
        unsafe { cuda.copy(cuda.address(&block)?, source, numbers * width) }?;
        let y = outputs(tensor(reshape::<B>(block, [count, columns].into())));
        let y = launch::dense(into_primitive(y.map_err(|error| in_rows(error, from, count, rows.rows))?));
        let target = rows.target + (from * results * width) as u64;
        // SAFETY: as above.
        unsafe { cuda.copy(target, cuda.address(&y)?, count * results * width) }?;
    }
    Ok(())
}
