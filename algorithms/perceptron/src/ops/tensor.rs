//! Default bodies of the operations, in tensor operations of any Burn backend.

use burn::tensor::{IndexingUpdateOp, Tensor, TensorMetadata, backend::Backend, ops::FloatTensor};
pub(crate) use firebox_core::tensor::into_primitive as primitive;
use firebox_core::tensor::tensor;

use crate::types::{AdamStep, Sigmoid};

pub(crate) fn is_empty(tensor: &impl TensorMetadata) -> bool {
    tensor.shape().num_elements() == 0
}

/// The elements as one axis, for element-wise operations.
fn flat<B: Backend>(values: FloatTensor<B>) -> Tensor<B, 1> {
    let count = values.shape().num_elements();
    tensor(B::float_reshape(values, [count].into()))
}

fn logistic<B: Backend, const D: usize>(x: Tensor<B, D>, sigmoid: Sigmoid) -> Tensor<B, D> {
    let denominator = x.sub_scalar(sigmoid.location).mul_scalar(-sigmoid.steepness()).exp().add_scalar(1.0);
    // `recip` is a 12-bit estimate on NdArray.
    denominator.ones_like() / denominator
}

pub(crate) fn sigmoid<B: Backend>(values: FloatTensor<B>, sigmoid: Sigmoid) -> FloatTensor<B> {
    if is_empty(&values) {
        return values;
    }
    let shape = values.shape();
    B::float_reshape(primitive(logistic(flat::<B>(values), sigmoid)), shape)
}

pub(crate) fn delta<B: Backend>(outputs: FloatTensor<B>, gradient: FloatTensor<B>, sigmoid: Sigmoid) -> FloatTensor<B> {
    if is_empty(&outputs) {
        return gradient;
    }
    let shape = outputs.shape();
    let (y, g) = (flat::<B>(outputs), flat::<B>(gradient));
    let slope = (y.clone() * y.neg().add_scalar(1.0)).mul_scalar(sigmoid.steepness());
    B::float_reshape(primitive(slope * g), shape)
}

pub(crate) fn layer<B: Backend>(
    inputs: FloatTensor<B>,
    weights: FloatTensor<B>,
    bias: Option<FloatTensor<B>>,
    sigmoid: Option<Sigmoid>,
) -> FloatTensor<B> {
    let (inputs, weights) = (tensor::<B, 2>(inputs), tensor::<B, 2>(weights));
    let (n, m) = (inputs.dims()[0], weights.dims()[1]);
    if n * m == 0 {
        return primitive(Tensor::<B, 2>::zeros([n, m], (&inputs.device(), inputs.dtype())));
    }
    let sums = inputs.matmul(weights);
    let sums = match bias {
        Some(bias) => sums + tensor::<B, 1>(bias).unsqueeze(),
        None => sums,
    };
    primitive(match sigmoid {
        Some(sigmoid) => logistic(sums, sigmoid),
        None => sums,
    })
}

pub(crate) fn cross_entropy<B: Backend>(
    outputs: FloatTensor<B>,
    classes: FloatTensor<B>,
    factor: f64,
) -> (FloatTensor<B>, FloatTensor<B>) {
    let (outputs, classes) = (tensor::<B, 2>(outputs), tensor::<B, 2>(classes).int());
    let [n, m] = outputs.dims();
    if n * m == 0 {
        let losses = Tensor::<B, 2>::zeros([n, 1], (&outputs.device(), outputs.dtype()));
        return (primitive(losses), primitive(outputs));
    }
    let x = outputs.clone() - outputs.max_dim(1);
    let powers = x.clone().exp();
    let sums = powers.clone().sum_dim(1);
    let losses = sums.clone().log() - x.gather(1, classes.clone());
    let ones = losses.ones_like().neg();
    let gradient = (powers / sums).scatter(1, classes, ones, IndexingUpdateOp::Add);
    (primitive(losses), primitive(gradient.mul_scalar(factor)))
}

#[allow(clippy::type_complexity)] // The results of the operation.
pub(crate) fn adam<B: Backend>(
    parameters: FloatTensor<B>,
    gradient: FloatTensor<B>,
    [first, second, average]: [FloatTensor<B>; 3],
    AdamStep { betas: [beta_1, beta_2], decay, rate, epsilon, share }: AdamStep,
) -> (FloatTensor<B>, FloatTensor<B>, FloatTensor<B>, FloatTensor<B>) {
    if is_empty(&parameters) {
        return (parameters, first, second, average);
    }
    let shape = parameters.shape();
    let [parameters, gradient, first, second, average] = [parameters, gradient, first, second, average].map(flat::<B>);
    let gradient = gradient + parameters.clone().mul_scalar(decay);
    let squares = gradient.clone() * gradient.clone();
    let first = first.mul_scalar(beta_1) + gradient.mul_scalar(1.0 - beta_1);
    let second = second.mul_scalar(beta_2) + squares.mul_scalar(1.0 - beta_2);
    let size = second.clone().sqrt().add_scalar(epsilon);
    let parameters = parameters - first.clone().mul_scalar(rate) / size;
    let average = average.mul_scalar(1.0 - share) + parameters.clone().mul_scalar(share);
    let [parameters, first, second, average] =
        [parameters, first, second, average].map(|it| B::float_reshape(primitive(it), shape.clone()));
    (parameters, first, second, average)
}
