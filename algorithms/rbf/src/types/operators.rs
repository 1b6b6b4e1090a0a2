//! Arguments of operations on general linear operators of second order and neurons with a width per axis.

use burn::tensor::{
    TensorMetadata,
    ops::{FloatTensor, IntTensor},
};
use firebox_backends::DeviceLimits;

use super::MAX_DIMS;

/// The mixed derivatives ∂²u/∂xᵢ∂xⱼ, i < j, that occur in operators.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Mixed(u32);

impl Mixed {
    /// Adds ∂²u/∂xᵢ∂xⱼ, i < j < 5.
    pub fn insert(&mut self, i: usize, j: usize) {
        self.0 |= 1 << (i * MAX_DIMS + j);
    }

    /// Returns `true` if ∂²u/∂xᵢ∂xⱼ occurs.
    pub fn contains(self, i: usize, j: usize) -> bool {
        self.0 & 1 << (i * MAX_DIMS + j) != 0
    }

    /// The pairs (i, j), by i and then by j.
    pub fn pairs(self) -> impl Iterator<Item = [usize; 2]> {
        let all = (0..MAX_DIMS).flat_map(|i| (i + 1..MAX_DIMS).map(move |j| [i, j]));
        all.filter(move |&[i, j]| self.contains(i, j))
    }

    /// Number of coefficients of an operator in `dims` dimensions.
    pub fn coefficients(self, dims: usize) -> usize {
        1 + 2 * dims + self.pairs().count()
    }
}

/// Rows of linear operators, n of them, on a device: γ·u + Σ βᵢ·∂u/∂xᵢ + Σ αᵢⱼ·∂²u/∂xᵢ∂xⱼ, i ≤ j, each at a point.
#[derive(Debug, Clone)]
pub struct OperatorRows<B: DeviceLimits> {
    /// `[d, n]` in 1 ≤ d ≤ 5 dimensions.
    pub points: FloatTensor<B>,
    /// `[1 + 2d + p, n]`: γ, the d rows of β, the d rows of αᵢᵢ, and those of the p mixed derivatives.
    pub coefficients: FloatTensor<B>,
    /// The mixed derivatives that occur.
    pub mixed: Mixed,
    /// False if γ is the only coefficient that is not 0: the others are not read.
    pub has_derivatives: bool,
    /// Further rows: sums of these.
    pub sums: Option<RowSums<B>>,
}

impl<B: DeviceLimits> OperatorRows<B> {
    /// n + s.
    pub fn len(&self) -> usize {
        self.points.shape()[1] + self.sums.as_ref().map_or(0, |sums| sums.count)
    }

    /// Returns `true` if there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Weighted sums of n ≥ 1 rows, s ≥ 1 of them with e ≥ 1 terms in all.
#[derive(Debug, Clone)]
pub struct RowSums<B: DeviceLimits> {
    /// `[s + 1]`: the first term of each sum, and e.
    pub starts: IntTensor<B>,
    /// `[e]`: the sum that each term belongs to, ascending.
    pub owners: IntTensor<B>,
    /// `[e]`: the row of each term.
    pub rows: IntTensor<B>,
    /// `[e]`: the factor of each term.
    pub factors: FloatTensor<B>,
    /// s.
    pub count: usize,
}

/// Neurons with a width per axis, φ(x) = exp(−Σ((xᵢ − cᵢ)/aᵢ)²).
#[derive(Debug, Clone)]
pub struct Ellipsoids<B: DeviceLimits> {
    /// c, `[d, m]`.
    pub centres: FloatTensor<B>,
    /// a > 0, `[d, m]`.
    pub widths: FloatTensor<B>,
}
