//! Column sums with a fixed order of summation.
//!
//! Burn selects its reduction kernels by timing, and each rounds in its own order, so that equal seeds would not give equal
//! bits. These sums are products with ones by the one kernel that supports every size.

use burn::tensor::{TensorMetadata, ops::FloatTensor};
use firebox_core::tensor::reshape;

use super::PerceptronOps;
use crate::types::Matmul;

/// Column sums `[m]` of `[n, m]`, n ≥ 1.
pub(crate) fn column_sums<B: PerceptronOps>(values: FloatTensor<B>) -> FloatTensor<B> {
    let [n, m] = values.shape().dims();
    let ones = B::float_ones([1, n].into(), &B::float_device(&values), values.dtype().into());
    reshape::<B>(B::perceptron_layer(ones, values, None, None, Matmul::Tile), [m].into())
}
