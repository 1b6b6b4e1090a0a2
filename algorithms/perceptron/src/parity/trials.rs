//! The trials of all operations on every backend.

use firebox_backends::parity::{Case, Parity, Target, Trial};

use super::{Problem, Shape, Suite, cases, shapes};
use crate::ops::PerceptronOps;

/// The operations of [`PerceptronOps`].
pub struct Operations;

impl<B: PerceptronOps> Parity<B> for Operations {
    const NAME: &'static str = "perceptron";
    type Shape = Shape;
    type Suite = Suite<B>;
    type Problem = Problem<B>;

    fn shapes() -> Vec<Shape> {
        shapes()
    }

    fn points(shape: &Shape) -> usize {
        shape.n
    }

    fn stride(case: &str) -> usize {
        // Each shape compiles another kernel of this method.
        if case.starts_with("product, simt") { 4 } else { 1 }
    }

    fn offset(shape: &Shape) -> usize {
        shape.n + shape.k + shape.m
    }

    fn cases(device: &B::Device) -> Vec<Case<Self::Problem>> {
        cases::<B>(device)
    }

    fn kernels() -> Suite<B> {
        Suite::backend()
    }

    fn tensor_operations() -> Suite<B> {
        Suite::tensor_operations()
    }

    fn problem(suite: Suite<B>, device: &B::Device, shape: Shape, seed: u64) -> Problem<B> {
        Problem::new(suite, device, shape, seed)
    }
}

/// The trials on a device.
pub fn trials(target: &Target<'_>) -> Vec<Trial> {
    firebox_backends::parity_trials!(target, Operations)
}
