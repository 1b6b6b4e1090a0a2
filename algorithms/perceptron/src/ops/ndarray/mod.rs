//! The operations on Burn's NdArray: SIMD loops and `matrixmultiply` over the arrays of its tensors.

mod adam;
mod loss;
mod matmul;
mod sigmoid;

use burn::tensor::{DType, TensorMetadata, ops::FloatTensor};
use burn_ndarray::{FloatNdArrayElement, IntNdArrayElement, NdArray, NdArrayTensor, QuantElement, SharedArray};
use firebox_backends::{
    cpu::SimdLevel,
    ndarray::{Float, by_float, dims, slice},
};
use firebox_core::Result;
use ndarray::{ArrayView2, Ix2, LinalgScalar};

use crate::ops::{PerceptronOps, unsupported_matmul};
use crate::types::{AdamStep, Matmul, MatmulKernel, Sigmoid};

/// Float whose arrays can be taken out of a tensor without changing their layout.
trait Element: Float + LinalgScalar {
    fn array(tensor: NdArrayTensor) -> SharedArray<Self>;
}

macro_rules! element {
    ($float:ident, $variant:ident) => {
        impl Element for $float {
            fn array(tensor: NdArrayTensor) -> SharedArray<Self> {
                match tensor {
                    NdArrayTensor::$variant(array) => array.into_shared(),
                    other => Self::dense(other),
                }
            }
        }
    };
}

element!(f32, F32);
element!(f64, F64);

/// Elements in row-major order, without a copy if stored so and not shared.
fn owned<E: Element>(tensor: NdArrayTensor) -> Vec<E> {
    let (mut values, start) = E::dense(tensor).into_owned().into_raw_vec_and_offset();
    values.drain(..start.unwrap_or(0));
    values
}

/// View of a matrix, with its strides.
fn matrix<E>(array: &SharedArray<E>) -> ArrayView2<'_, E> {
    // Every caller passes two axes.
    array.view().into_dimensionality::<Ix2>().unwrap_or_else(|_| ArrayView2::from(&[[]; 0]))
}

fn layer<E: Element>(
    inputs: NdArrayTensor,
    weights: NdArrayTensor,
    bias: Option<NdArrayTensor>,
    sigmoid: Option<Sigmoid>,
) -> NdArrayTensor {
    let ([n, _], [_, m]) = (dims(&inputs), dims(&weights));
    let mut out = vec![E::ZERO; n * m];
    let (left, right) = (E::array(inputs), E::array(weights));
    let bias = bias.map(E::dense);
    let epilogue = matmul::Epilogue { bias: bias.as_ref().map(slice), sigmoid };
    matmul::product(SimdLevel::best(), matrix(&left), matrix(&right), &mut out, epilogue);
    E::tensor(out, &[n, m])
}

impl<E, I, Q> PerceptronOps for NdArray<E, I, Q>
where
    E: FloatNdArrayElement,
    I: IntNdArrayElement,
    Q: QuantElement,
    NdArrayTensor: From<SharedArray<E>> + From<SharedArray<I>>,
{
    fn perceptron_strategy(
        _device: &Self::Device,
        _dtype: DType,
        _size: [usize; 3],
        matmul: Matmul,
        _tf32: bool,
    ) -> Result<(Matmul, MatmulKernel)> {
        if matmul == Matmul::Auto { Ok((matmul, MatmulKernel::RowsByThread)) } else { Err(unsupported_matmul(matmul)) }
    }

    fn perceptron_sigmoid(values: FloatTensor<Self>, sigmoid: Sigmoid, _in_place: bool) -> FloatTensor<Self> {
        let shape = values.shape().to_vec();
        by_float!(values, F => {
            let mut values = owned::<F>(values);
            sigmoid::sigmoid(SimdLevel::best(), &mut values, sigmoid);
            F::tensor(values, &shape)
        })
    }

    fn perceptron_delta(
        outputs: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
        sigmoid: Sigmoid,
    ) -> FloatTensor<Self> {
        let shape = outputs.shape().to_vec();
        by_float!(outputs, F => {
            let mut gradient = owned::<F>(gradient);
            sigmoid::delta(SimdLevel::best(), slice(&F::dense(outputs)), &mut gradient, sigmoid);
            F::tensor(gradient, &shape)
        })
    }

    fn perceptron_layer(
        inputs: FloatTensor<Self>,
        weights: FloatTensor<Self>,
        bias: Option<FloatTensor<Self>>,
        sigmoid: Option<Sigmoid>,
        _matmul: Matmul,
    ) -> FloatTensor<Self> {
        by_float!(inputs, F => layer::<F>(inputs, weights, bias, sigmoid))
    }

    fn perceptron_cross_entropy(
        outputs: FloatTensor<Self>,
        classes: FloatTensor<Self>,
        scale: f64,
    ) -> (FloatTensor<Self>, FloatTensor<Self>) {
        let [n, m] = dims(&outputs);
        by_float!(outputs, F => {
            let (outputs, classes) = (F::dense(outputs), F::dense(classes));
            let (losses, gradient) = loss::cross_entropy(slice(&outputs), slice(&classes), scale, m.max(1));
            (F::tensor(losses, &[n, 1]), F::tensor(gradient, &[n, m]))
        })
    }
    fn perceptron_adam(
        parameters: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
        first: FloatTensor<Self>,
        second: FloatTensor<Self>,
        average: FloatTensor<Self>,
        step: AdamStep,
    ) -> (FloatTensor<Self>, FloatTensor<Self>, FloatTensor<Self>, FloatTensor<Self>) {
        let shape = parameters.shape().to_vec();
        by_float!(parameters, F => {
            let mut state = [parameters, first, second, average].map(owned::<F>);
            adam::adam(SimdLevel::best(), &mut state, slice(&F::dense(gradient)), step);
            let [parameters, first, second, average] = state.map(|values| F::tensor(values, &shape));
            (parameters, first, second, average)
        })
    }
}
