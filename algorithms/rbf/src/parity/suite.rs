//! The implementations of the operations that are compared with the reference.

use burn::tensor::ops::FloatTensor;

use crate::{
    ops::{RbfOps, tensor},
    types::{Aim, Rows, Shape},
};

type Tensors<B> = (FloatTensor<B>, FloatTensor<B>);

/// The implementations under test on one backend.
#[allow(clippy::type_complexity)] // The operations' own signatures.
pub struct Suite<B: RbfOps> {
    /// Part of test names.
    pub name: &'static str,
    pub(super) matrix: fn(&Rows<B>, &Shape<B>, FloatTensor<B>) -> Tensors<B>,
    pub(super) residual: fn(&Rows<B>, &Shape<B>, FloatTensor<B>) -> FloatTensor<B>,
    pub(super) transposed: fn(&Rows<B>, &Shape<B>, FloatTensor<B>) -> FloatTensor<B>,
    pub(super) normal: fn(&Rows<B>, &Shape<B>, Option<FloatTensor<B>>, FloatTensor<B>) -> FloatTensor<B>,
    pub(super) gradient: fn(&Rows<B>, &Shape<B>, FloatTensor<B>, FloatTensor<B>) -> FloatTensor<B>,
    pub(super) slopes: fn(&Rows<B>, &Shape<B>, FloatTensor<B>) -> FloatTensor<B>,
    pub(super) descend: fn(&Aim<B>, Shape<B>, FloatTensor<B>, [f64; 2], usize) -> (Shape<B>, FloatTensor<B>),
    pub(super) conjugate: fn(&Aim<B>, &Shape<B>, FloatTensor<B>, usize) -> Tensors<B>,
}

impl<B: RbfOps> Suite<B> {
    /// The backend's implementations.
    pub fn backend() -> Self {
        Self {
            name: "kernels",
            matrix: B::rbf_matrix,
            residual: B::rbf_residual,
            transposed: B::rbf_transposed,
            normal: B::rbf_normal,
            gradient: B::rbf_gradient,
            slopes: B::rbf_slopes,
            descend: B::rbf_descend,
            conjugate: B::rbf_conjugate,
        }
    }

    /// The default bodies, on this backend.
    pub fn tensor_operations() -> Self {
        Self {
            name: "tensor operations",
            matrix: tensor::matrix::<B>,
            residual: tensor::residual::<B>,
            transposed: tensor::transposed::<B>,
            normal: tensor::normal::<B>,
            gradient: tensor::gradient::<B>,
            slopes: tensor::slopes::<B>,
            descend: tensor::descend::<B>,
            conjugate: tensor::conjugate::<B>,
        }
    }
}
