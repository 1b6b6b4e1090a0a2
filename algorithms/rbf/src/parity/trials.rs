//! The trials of all operations on every backend.

use firebox_backends::parity::{Bodies, Case, Parity, Target, Trial};

use super::{Problem, Size, Suite, cases, shapes};
use crate::ops::RbfOps;

/// The operations of [`RbfOps`].
pub struct Operations;

impl<B: RbfOps> Parity<B> for Operations {
    const NAME: &'static str = "rbf";
    // Fusion always runs the kernels instead: Burn's autotuned reductions differ in the last bits between calls, and
    // NVIDIA's Vulkan driver crashes on a fused reduction.
    const FUSED_DEFAULTS: bool = false;
    type Shape = Size;
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

    fn problem(bodies: Bodies, device: &B::Device, shape: Size, seed: u64) -> Problem<B> {
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
