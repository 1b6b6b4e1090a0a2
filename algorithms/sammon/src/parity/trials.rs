//! The trials of all operations on every backend.

use firebox_backends::parity::{Case, Parity, Target, Trial};

use super::{Problem, Shape, Suite, cases, shapes};
use crate::ops::SammonOps;

/// The operations of [`SammonOps`].
pub struct Operations;

impl<B: SammonOps> Parity<B> for Operations {
    const NAME: &'static str = "sammon";
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
        // The kernels that compute distances from differences are the most unrolled.
        if case.ends_with(" of differences") { 18 } else { 6 }
    }

    fn offset(shape: &Shape) -> usize {
        shape.kernels
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
