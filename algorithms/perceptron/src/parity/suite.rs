//! Implementations under test.

use burn::tensor::ops::FloatTensor;

use crate::{
    ops::{PerceptronOps, tensor as default},
    types::{Matmul, Sigmoid},
};

/// Implementations under test on one backend.
pub struct Suite<B: PerceptronOps> {
    /// Name in tests.
    pub name: &'static str,
    pub(super) sigmoid: fn(FloatTensor<B>, Sigmoid, bool) -> FloatTensor<B>,
    pub(super) delta: fn(FloatTensor<B>, FloatTensor<B>, Sigmoid) -> FloatTensor<B>,
    pub(super) layer: Layer<B>,
    /// Whether products are Burn's: f32 and f64 only, f32 as TF32 on devices with TF32 tensor cores.
    pub(super) by_burn: bool,
}

type Layer<B> = fn(FloatTensor<B>, FloatTensor<B>, Option<FloatTensor<B>>, Option<Sigmoid>, Matmul) -> FloatTensor<B>;

impl<B: PerceptronOps> Suite<B> {
    /// Operations of the backend.
    pub fn backend() -> Self {
        Self {
            name: "kernels",
            sigmoid: B::perceptron_sigmoid,
            delta: B::perceptron_delta,
            layer: B::perceptron_layer,
            by_burn: false,
        }
    }

    /// Default bodies on this backend.
    pub fn tensor_operations() -> Self {
        Self {
            name: "tensor operations",
            sigmoid: |values, sigmoid, _| default::sigmoid::<B>(values, sigmoid),
            delta: default::delta::<B>,
            layer: |inputs, weights, bias, sigmoid, _| default::layer::<B>(inputs, weights, bias, sigmoid),
            by_burn: true,
        }
    }
}
