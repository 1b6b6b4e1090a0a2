//! The trials of all operations on every backend.

use firebox_backends::parity::{Bodies, Case, Parity, Target, Trial};

use super::{Problem, Shape, Suite, cases, shapes};
use crate::ops::PerceptronOps;

/// The operations of [`PerceptronOps`].
pub struct Operations;

impl<B: PerceptronOps> Parity<B> for Operations {
    const NAME: &'static str = "perceptron";
    // Fusion always runs the kernels instead, and Burn's fused reduction of a transposed view is wrong on wgpu.
    const FUSED_DEFAULTS: bool = false;
    type Shape = Shape;
    type Problem = Problem<B>;

    fn shapes() -> Vec<Shape> {
        shapes()
    }

    fn points(shape: &Shape) -> usize {
        shape.n
    }

    fn cases(device: &B::Device) -> Vec<Case<Self::Problem>> {
        cases::<B>(device)
    }

    fn problem(bodies: Bodies, device: &B::Device, shape: Shape, seed: u64) -> Problem<B> {
        let suite = match bodies {
            Bodies::Backend => Suite::backend(),
            Bodies::TensorOperations => Suite::tensor_operations(),
        };
        Problem::new(suite, device, shape, seed)
    }
}

/// The trials on a device.
pub fn trials(target: &Target<'_>) -> Vec<Trial> {
    firebox_backends::parity_trials!(target, Operations)
}
