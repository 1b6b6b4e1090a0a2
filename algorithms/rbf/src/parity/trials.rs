//! The trials of all operations on every backend.

use firebox_backends::parity::{Case, Parity, Target, Trial};

use super::{Problem, Size, Suite, cases, shapes};
use crate::ops::RbfOps;

/// The operations of [`RbfOps`].
pub struct Operations;

impl<B: RbfOps> Parity<B> for Operations {
    const NAME: &'static str = "rbf";
    type Shape = Size;
    type Suite = Suite<B>;
    type Problem = Problem<B>;

    fn shapes() -> Vec<Size> {
        shapes()
    }

    fn points(shape: &Size) -> usize {
        shape.n
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

    fn problem(suite: Suite<B>, device: &B::Device, shape: Size, seed: u64) -> Problem<B> {
        Problem::new(suite, device, shape, seed)
    }
}

/// The trials on a device.
pub fn trials(target: &Target<'_>) -> Vec<Trial> {
    firebox_backends::parity_trials!(target, Operations)
}
