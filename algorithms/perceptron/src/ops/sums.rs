//! Row and column sums with a fixed order of summation.
//!
//! Burn selects its reduction kernels by timing, and each rounds in its own order, so that equal seeds would not give equal
//! bits. These sums are products with ones by the one kernel that supports every size.

use burn::tensor::Tensor;
use firebox_core::tensor::tensor;

use crate::ops::{PerceptronOps, tensor::primitive};
use crate::types::Matmul;

/// Column sums `[m]` of `[n, m]`, n ≥ 1.
pub(crate) fn column_sums<B: PerceptronOps>(values: Tensor<B, 2>) -> Tensor<B, 1> {
    let ones = Tensor::ones([1, values.dims()[0]], (&values.device(), values.dtype()));
    product(ones, values).squeeze_dim(0)
}

/// Row sums `[n, 1]` of `[n, m]`, m ≥ 1.
pub(crate) fn row_sums<B: PerceptronOps>(values: Tensor<B, 2>) -> Tensor<B, 2> {
    let ones = Tensor::ones([values.dims()[1], 1], (&values.device(), values.dtype()));
    product(values, ones)
}

fn product<B: PerceptronOps>(left: Tensor<B, 2>, right: Tensor<B, 2>) -> Tensor<B, 2> {
    tensor(B::perceptron_layer(primitive(left), primitive(right), None, None, Matmul::Tile))
}
