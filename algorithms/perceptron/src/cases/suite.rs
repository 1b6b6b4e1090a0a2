//! What parity tests compare with the reference.

use burn::tensor::ops::FloatTensor;

use crate::{Matmul, PerceptronOps, Sigmoid, tensor_ops};

/// The implementations under test on one backend.
pub struct Suite<B: PerceptronOps> {
    /// For test names.
    pub name: &'static str,
    pub(super) sigmoid: fn(FloatTensor<B>, Sigmoid, bool) -> FloatTensor<B>,
    pub(super) delta: fn(FloatTensor<B>, FloatTensor<B>, Sigmoid) -> FloatTensor<B>,
    pub(super) layer: Layer<B>,
    /// Whether Burn multiplies: f32 and f64 only, f32 as TF32 where the device has that.
    pub(super) by_burn: bool,
}

type Layer<B> = fn(FloatTensor<B>, FloatTensor<B>, Option<FloatTensor<B>>, Option<Sigmoid>, Matmul) -> FloatTensor<B>;

impl<B: PerceptronOps> Suite<B> {
    /// What the backend runs.
    pub fn backend() -> Self {
        Self {
            name: "kernels",
            sigmoid: B::perceptron_sigmoid,
            delta: B::perceptron_delta,
            layer: B::perceptron_layer,
            by_burn: false,
        }
    }

    /// The default bodies, on this backend.
    pub fn tensor_operations() -> Self {
        Self {
            name: "tensor operations",
            sigmoid: |values, sigmoid, _| tensor_ops::sigmoid::<B>(values, sigmoid),
            delta: tensor_ops::delta::<B>,
            layer: |inputs, weights, bias, sigmoid, _| tensor_ops::layer::<B>(inputs, weights, bias, sigmoid),
            by_burn: true,
        }
    }
}
