//! Losses of a batch, and their gradients by the outputs.

use burn::tensor::{TensorMetadata, ops::FloatTensor};
use firebox_core::tensor::{add, multiply, scale};

use crate::config::Task;
use crate::ops::PerceptronOps;

/// Losses of `outputs` `[n, m]`, of shape `[n, 1]` for class codes `[n, 1]` and `[n, m]` for numbers `[n, m]`, whose sum
/// counts; and `factor` times their gradient `[n, m]`. They are the cross-entropy of class codes, or the squared errors of
/// numbers divided by m, multiplied by the `weights` `[n, 1]`.
pub(crate) fn losses<B: PerceptronOps>(
    task: Task,
    outputs: FloatTensor<B>,
    targets: FloatTensor<B>,
    weights: Option<FloatTensor<B>>,
    factor: f64,
) -> (FloatTensor<B>, FloatTensor<B>) {
    let (losses, gradient) = match task {
        Task::Classification => B::perceptron_cross_entropy(outputs, targets, factor),
        Task::Regression => {
            let share = (outputs.shape()[1] as f64).recip();
            let error = add::<B>(outputs, scale::<B>(targets, -1.0));
            let squares = multiply::<B>(scale::<B>(error.clone(), share), error.clone());
            (squares, scale::<B>(error, 2.0 * share * factor))
        }
    };
    match weights {
        Some(weights) => (multiply::<B>(losses, weights.clone()), multiply::<B>(gradient, weights)),
        None => (losses, gradient),
    }
}
