//! Predictions of rows on a GPU, without a trip through the host.

use burn::tensor::{ElementConversion, Int, Tensor, backend::Backend, ops::FloatTensor};
use firebox_backends::DeviceLimits;
use firebox_core::{
    Context, Result,
    tensor::{
        add, concatenate, divide, exponential, float_values, into_primitive, multiply, primitive, scale, slice, tensor,
    },
};

use super::predict::BLOCK as HOST_BLOCK;
use crate::ops::PerceptronOps;
use crate::solve::{Model, Network, OutputKind};
use crate::types::Matmul;

/// Maximum number of elements of a block of rows on a GPU, and of each layer's outputs for it: launches of smaller blocks cost
/// more than their products.
const BLOCK: usize = 1 << 25;

/// Returns true if the memory of the device is not that of the host, which computes scales in f64.
pub(super) fn is_separate<B: DeviceLimits>(device: &B::Device) -> bool {
    B::limits(device).largest_buffer.is_some()
}

impl Model {
    /// Rows of a block of [`device_results`](Self::device_results) that fits into the device's memory. Fails if no block of
    /// [`results`](Self::results) does.
    pub(super) fn device_block<B: PerceptronOps>(&self, rows: usize, context: &Context<B>) -> Result<usize> {
        if self.plan_blocks(rows, BLOCK, context).is_ok() {
            return Ok(self.block_rows(BLOCK));
        }
        self.plan(rows, context)?;
        Ok(self.block_rows(HOST_BLOCK))
    }

    /// Outputs `[n, outputs]` as of [`results`](Self::results), for unscaled rows `[n, k]`, n ≥ 1, on the device, in blocks of
    /// `block_rows`; `None` if a number of the rows or of the outputs is not finite, which `results` reports or replaces.
    ///
    /// A row x is scaled as ((x − m) − r)/deviation, where m is the mean rounded to the device's float and r the rest of the
    /// mean: x − m is exact for x within a factor of two of m.
    pub(crate) fn device_results<B: PerceptronOps>(
        &self,
        network: &Network<B>,
        x: FloatTensor<B>,
        rows: usize,
        block_rows: usize,
        context: &Context<B>,
    ) -> Result<Option<FloatTensor<B>>> {
        let device = &context.device;
        let row = |values: Vec<f64>| {
            let count = values.len();
            primitive::<B, 2>(values, [1, count], device)
        };
        let rounded = |mean: &f64| mean.elem::<B::FloatElem>().elem::<f64>();
        let means = &self.scaling.mean;
        let mean = row(means.iter().map(|mean| -rounded(mean)).collect());
        let rest = row(means.iter().map(|mean| rounded(mean) - mean).collect());
        let deviation = row(self.scaling.deviation.clone());
        let units = match &self.output {
            OutputKind::Class(_) => None,
            OutputKind::Number { scaling, .. } => Some((row(scaling.deviation.clone()), row(scaling.mean.clone()))),
        };
        let (columns, session) = (self.columns.len(), context.rank_local());
        // NaN if a number is not finite, else 0.
        let zero = |values: FloatTensor<B>| B::float_sum(scale::<B>(values, 0.0));
        let (mut outputs, mut zeros) = (Vec::new(), Vec::new());
        for from in (0..rows).step_by(block_rows) {
            session.checkpoint("predicting", from as u64, rows as u64)?;
            let block = slice::<B, 2>(x.clone(), [from..rows.min(from + block_rows), 0..columns]);
            let centred = add::<B>(add::<B>(block, mean.clone()), rest.clone());
            let scaled = divide::<B>(centred, deviation.clone());
            zeros.push(zero(scaled.clone()));
            let results = network.forward(scaled);
            let results = match &units {
                None => results,
                Some((deviation, mean)) => add::<B>(multiply::<B>(results, deviation.clone()), mean.clone()),
            };
            zeros.push(zero(results.clone()));
            outputs.push(results);
        }
        let zeros = float_values::<B>(concatenate::<B>(zeros, 0), "predicting")?;
        session.checkpoint("predicting", rows as u64, rows as u64)?;
        let is_finite = zeros.iter().all(|zero| *zero == 0.0);
        Ok(is_finite.then(|| if outputs.len() == 1 { outputs.remove(0) } else { concatenate::<B>(outputs, 0) }))
    }
}

/// Softmax `[n, m]` of rows of logits.
pub(crate) fn softmax<B: PerceptronOps>(logits: FloatTensor<B>) -> Tensor<B, 2> {
    let logits = tensor::<B, 2>(logits);
    let classes = logits.dims()[1];
    let maxima = logits.clone().max_dim(1);
    let powers = exponential::<B>(into_primitive(logits - maxima));
    // A product with ones: Burn's sums depend on the kernel that it measured to be the fastest.
    let ones = primitive::<B, 2>(vec![1.0; classes], [classes, 1], &B::float_device(&powers));
    let sums = B::perceptron_layer(powers.clone(), ones, None, None, Matmul::Tile);
    tensor(divide::<B>(powers, sums))
}

/// Index `[n]` of the largest logit of each row.
pub(crate) fn largest<B: Backend>(logits: FloatTensor<B>) -> Tensor<B, 1, Int> {
    tensor::<B, 2>(logits).argmax(1).flatten(0, 1)
}
