//! Implementations to compare with the reference.

use burn::tensor::ops::FloatTensor;

use crate::{
    ops::{SammonOps, tensor},
    types::{Epoch, Forces, Metric, Problem, Steps, Variant},
};

/// The implementations under test on one backend.
#[allow(clippy::type_complexity)] // The operations' own signatures.
pub struct Suite<B: SammonOps> {
    /// Name in test names.
    pub name: &'static str,
    pub(super) inverse: fn(FloatTensor<B>, FloatTensor<B>, Option<usize>, Metric) -> FloatTensor<B>,
    pub(super) forces: fn(&Problem<B>, FloatTensor<B>, Variant) -> Forces<B>,
    pub(super) steps: fn(&Problem<B>, FloatTensor<B>, FloatTensor<B>, usize, Variant) -> Steps<B>,
    pub(super) measure: fn(&Problem<B>, FloatTensor<B>) -> FloatTensor<B>,
    pub(super) sampled:
        fn(FloatTensor<B>, Metric, FloatTensor<B>, f64, FloatTensor<B>, &[Epoch], usize) -> FloatTensor<B>,
    pub(super) place: fn(FloatTensor<B>, FloatTensor<B>, f64, FloatTensor<B>, FloatTensor<B>, usize) -> Steps<B>,
}

impl<B: SammonOps> Suite<B> {
    /// The operations as the backend implements them.
    pub fn backend() -> Self {
        Self {
            name: "kernels",
            inverse: B::sammon_inverse,
            forces: B::sammon_forces,
            steps: B::sammon_steps,
            measure: B::sammon_measure,
            sampled: B::sammon_sampled,
            place: B::sammon_place,
        }
    }

    /// The default bodies in tensor operations, on this backend.
    pub fn tensor_operations() -> Self {
        Self {
            name: "tensor operations",
            inverse: tensor::inverse::<B>,
            forces: |problem, embedding, _| tensor::forces::<B>(problem, embedding),
            steps: |problem, embedding, rates, steps, _| tensor::steps::<B>(problem, embedding, rates, steps),
            measure: tensor::measure::<B>,
            sampled: tensor::sampled::<B>,
            place: tensor::place::<B>,
        }
    }
}
