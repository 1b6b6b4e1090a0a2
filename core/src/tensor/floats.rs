//! A float primitive with arithmetic operators, for default bodies of operations.

use std::ops::{Add, Div, Mul, Range, Sub};

use burn::tensor::{Shape, Slice, TensorMetadata, backend::Backend, ops::FloatTensor};

use super::{arithmetic, operations};

/// A float tensor whose operations are compiled once for all crates; shapes are broadcast as Burn's `Tensor` does.
///
/// Burn's `Tensor` compiles the quantised counterpart of every operation too, again in each crate.
#[derive(Debug, Clone)]
#[must_use]
pub struct Floats<B: Backend>(pub FloatTensor<B>);

impl<B: Backend> Floats<B> {
    /// Zeros on the device and of the type of `like`.
    pub fn zeros<const D: usize>(shape: [usize; D], like: &Self) -> Self {
        Self(arithmetic::zeros_of::<B>(Shape::from(shape), &B::float_device(&like.0), like.0.dtype().into()))
    }

    /// Zeros of the shape of `self`.
    pub fn zeros_like(&self) -> Self {
        Self(arithmetic::zeros_of::<B>(self.0.shape(), &B::float_device(&self.0), self.0.dtype().into()))
    }

    /// Ones of the shape of `self`.
    pub fn ones_like(&self) -> Self {
        Self(arithmetic::ones_of::<B>(self.0.shape(), &B::float_device(&self.0), self.0.dtype().into()))
    }

    /// Elements on the device and of the type of `like` that are not filled: CUDA cannot fill empty tensors.
    pub fn empty<const D: usize>(shape: [usize; D], like: &Self) -> Self {
        Self(arithmetic::empty::<B>(Shape::from(shape), &B::float_device(&like.0), like.0.dtype().into()))
    }

    /// Concatenates `parts`, at least one, along dimension `dim`; their other dimensions are equal.
    pub fn concatenate(parts: Vec<Self>, dim: usize) -> Self {
        Self(operations::concatenate::<B>(parts.into_iter().map(|part| part.0).collect(), dim))
    }

    /// The lengths of all dimensions.
    ///
    /// # Panics
    /// If the number of dimensions is not D.
    pub fn dims<const D: usize>(&self) -> [usize; D] {
        self.0.shape().dims()
    }

    /// The same values, row-major, in another shape with the same number of elements.
    pub fn reshape<const D: usize>(self, shape: [usize; D]) -> Self {
        Self(operations::reshape::<B>(self.0, Shape::from(shape)))
    }

    /// The block in the given range of each dimension, none of them empty.
    pub fn slice<const D: usize>(self, ranges: [Range<usize>; D]) -> Self {
        Self(operations::slice::<B>(self.0, &ranges.map(Slice::from)))
    }

    /// The last two dimensions swapped.
    pub fn transpose(self) -> Self {
        Self(arithmetic::transpose::<B>(self.0))
    }

    /// `factor` · `self`.
    pub fn scale(self, factor: f64) -> Self {
        Self(operations::scale::<B>(self.0, factor))
    }

    /// `self` + `addend`.
    pub fn shift(self, addend: f64) -> Self {
        Self(arithmetic::shift::<B>(self.0, addend))
    }

    /// 1 / `self` by division: Burn's `recip` is the processor's estimate with 12 bits on NdArray.
    pub fn reciprocal(self) -> Self {
        self.ones_like() / self
    }

    /// exp of each element.
    pub fn exp(self) -> Self {
        Self(arithmetic::exponential::<B>(self.0))
    }

    /// The sum `[1]` of all elements.
    pub fn sum(self) -> Self {
        Self(arithmetic::sum::<B>(self.0))
    }

    /// Sums along dimension `dim`, which keeps the length 1.
    pub fn sum_along(self, dim: usize) -> Self {
        Self(arithmetic::sum_along::<B>(self.0, dim))
    }

    /// The vector `other` of the same shape if the number `condition` `[1]` is 0 or negative, otherwise `self`, also if
    /// it is NaN.
    pub fn replaced_if_not_positive(self, condition: Self, other: Self) -> Self {
        Self(arithmetic::where_not_positive::<B>(condition.0, other.0, self.0))
    }
}

impl<B: Backend> Add for Floats<B> {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(operations::add::<B>(self.0, other.0))
    }
}

impl<B: Backend> Sub for Floats<B> {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self(arithmetic::subtract::<B>(self.0, other.0))
    }
}

impl<B: Backend> Mul for Floats<B> {
    type Output = Self;

    fn mul(self, other: Self) -> Self {
        Self(operations::multiply::<B>(self.0, other.0))
    }
}

impl<B: Backend> Div for Floats<B> {
    type Output = Self;

    fn div(self, other: Self) -> Self {
        Self(arithmetic::divide::<B>(self.0, other.0))
    }
}
