//! The operations on `Fusion<B>`: queued as custom operations and executed by `B`.

use burn::tensor::{DType, Shape, TensorMetadata, ops::FloatTensor};
use burn_fusion::{Fusion, FusionBackend};
use firebox_backends::fusion::register;
use firebox_core::Result;

use crate::{
    ops::PerceptronOps,
    types::{Matmul, Sigmoid},
};

impl<B: FusionBackend + PerceptronOps> PerceptronOps for Fusion<B> {
    fn perceptron_strategy(
        device: &Self::Device,
        dtype: DType,
        size: [usize; 3],
        matmul: Matmul,
        tf32: bool,
    ) -> Result<(Matmul, &'static str)> {
        B::perceptron_strategy(device, dtype, size, matmul, tf32)
    }

    fn perceptron_sigmoid(values: FloatTensor<Self>, sigmoid: Sigmoid, in_place: bool) -> FloatTensor<Self> {
        let (shape, dtype) = (values.shape(), values.dtype());
        register::<B, _>("perceptron_sigmoid", vec![values], shape, dtype, move |ir, handles| {
            let ([values], [out]) = ir.as_fixed();
            let values = handles.get_float_tensor::<B>(values);
            handles.register_float_tensor::<B>(&out.id, B::perceptron_sigmoid(values, sigmoid, in_place));
        })
    }

    fn perceptron_delta(
        outputs: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
        sigmoid: Sigmoid,
    ) -> FloatTensor<Self> {
        let (shape, dtype) = (outputs.shape(), outputs.dtype());
        register::<B, _>("perceptron_delta", vec![outputs, gradient], shape, dtype, move |ir, handles| {
            let ([outputs, gradient], [out]) = ir.as_fixed();
            let outputs = handles.get_float_tensor::<B>(outputs);
            let gradient = handles.get_float_tensor::<B>(gradient);
            handles.register_float_tensor::<B>(&out.id, B::perceptron_delta(outputs, gradient, sigmoid));
        })
    }

    fn perceptron_layer(
        inputs: FloatTensor<Self>,
        weights: FloatTensor<Self>,
        bias: Option<FloatTensor<Self>>,
        sigmoid: Option<Sigmoid>,
        matmul: Matmul,
    ) -> FloatTensor<Self> {
        let shape = Shape::new([inputs.shape()[0], weights.shape()[1]]);
        let dtype = inputs.dtype();
        let mut tensors = vec![inputs, weights];
        tensors.extend(bias);
        register::<B, _>("perceptron_layer", tensors, shape, dtype, move |ir, handles| {
            let mut tensors = ir.inputs.iter().map(|tensor| handles.get_float_tensor::<B>(tensor)).collect::<Vec<_>>();
            let bias = (tensors.len() == 3).then(|| tensors.pop()).flatten();
            let (Some(weights), Some(inputs)) = (tensors.pop(), tensors.pop()) else { return };
            let out = B::perceptron_layer(inputs, weights, bias, sigmoid, matmul);
            handles.register_float_tensor::<B>(&ir.outputs[0].id, out);
        })
    }
}
