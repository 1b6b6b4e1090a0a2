//! Losses of a batch, and their gradients by the outputs.

use burn::tensor::ops::FloatTensor;
use firebox_core::tensor::{add, multiply, scale};

use crate::config::Task;
use crate::ops::PerceptronOps;

/// Losses `[n, 1]` of `outputs` `[n, m]` for `targets` `[n, 1]`, and `factor` times their gradient `[n, m]`: cross-entropy
/// for class codes, or the squared error of a number, for which m = 1. Both are multiplied by the `weights` `[n, 1]`.
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
            let error = add::<B>(outputs, scale::<B>(targets, -1.0));
            (multiply::<B>(error.clone(), error.clone()), scale::<B>(error, 2.0 * factor))
        }
    };
    match weights {
        Some(weights) => (multiply::<B>(losses, weights.clone()), multiply::<B>(gradient, weights)),
        None => (losses, gradient),
    }
}
