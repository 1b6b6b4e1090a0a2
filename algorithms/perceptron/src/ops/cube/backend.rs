//! The operations on CubeCL backends.

use burn::tensor::{DType, ops::FloatTensor};
use burn_cubecl::{BoolElement, CubeBackend, CubeRuntime, FloatElement, IntElement};
use firebox_backends::DeviceLimits;
use firebox_core::Result;

use crate::{
    ops::PerceptronOps,
    types::{AdamStep, Matmul, MatmulKernel, Sigmoid},
};

impl<R, F, I, BT> PerceptronOps for CubeBackend<R, F, I, BT>
where
    R: CubeRuntime,
    F: FloatElement,
    I: IntElement,
    BT: BoolElement,
{
    fn perceptron_strategy(
        device: &Self::Device,
        dtype: DType,
        size: [usize; 3],
        matmul: Matmul,
        tf32: bool,
    ) -> Result<(Matmul, MatmulKernel)> {
        super::strategy::choose::<R>(device, || Self::limits(device).device, dtype, size, matmul, tf32)
    }

    fn perceptron_sigmoid(values: FloatTensor<Self>, sigmoid: Sigmoid, in_place: bool) -> FloatTensor<Self> {
        super::launch::sigmoid(values, sigmoid, in_place)
    }

    fn perceptron_delta(
        outputs: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
        sigmoid: Sigmoid,
    ) -> FloatTensor<Self> {
        super::launch::delta(outputs, gradient, sigmoid)
    }

    fn perceptron_layer(
        inputs: FloatTensor<Self>,
        weights: FloatTensor<Self>,
        bias: Option<FloatTensor<Self>>,
        sigmoid: Option<Sigmoid>,
        matmul: Matmul,
    ) -> FloatTensor<Self> {
        super::launch::layer(inputs, weights, bias, sigmoid, matmul)
    }

    fn perceptron_cross_entropy(
        outputs: FloatTensor<Self>,
        classes: FloatTensor<Self>,
        scale: f64,
    ) -> (FloatTensor<Self>, FloatTensor<Self>) {
        super::launch::cross_entropy(outputs, classes, scale)
    }

    fn perceptron_adam(
        parameters: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
        first: FloatTensor<Self>,
        second: FloatTensor<Self>,
        average: FloatTensor<Self>,
        step: AdamStep,
    ) -> (FloatTensor<Self>, FloatTensor<Self>, FloatTensor<Self>, FloatTensor<Self>) {
        let [parameters, first, second, average] =
            super::launch::adam(parameters, gradient, [first, second, average], step);
        (parameters, first, second, average)
    }
}
