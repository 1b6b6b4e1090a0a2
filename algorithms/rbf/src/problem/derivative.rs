//! Derivatives of u, and the terms of equations at points.

use crate::types::Coefficient;

/// A derivative of u by coordinates, which are counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Derivative {
    /// u.
    Value,
    /// ∂u/∂xᵢ.
    First(usize),
    /// ∂²u/∂xᵢ∂xⱼ.
    Second(usize, usize),
    /// Δu, the sum of the second derivatives by each coordinate.
    Laplacian,
}

impl Derivative {
    /// Returns `true` if both are the same derivative.
    pub(super) fn is(self, other: Self) -> bool {
        matches!((self, other), (Self::Second(i, j), Self::Second(k, l)) if (i, j) == (l, k)) || self == other
    }

    /// The coordinates by which it derives; twice the first for a single one.
    pub(super) fn axes(self) -> [usize; 2] {
        match self {
            Self::Value | Self::Laplacian => [0; 2],
            Self::First(i) => [i; 2],
            Self::Second(i, j) => [i, j],
        }
    }
}

/// A derivative of one of the unknowns, which are counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Argument {
    /// The unknown.
    pub unknown: usize,
    /// Its derivative.
    pub derivative: Derivative,
}

impl From<Derivative> for Argument {
    /// A derivative of the first unknown.
    fn from(derivative: Derivative) -> Self {
        Self { unknown: 0, derivative }
    }
}

impl Argument {
    /// Returns `true` if both are the same derivative of the same unknown.
    pub(super) fn is(self, other: Self) -> bool {
        self.unknown == other.unknown && self.derivative.is(other.derivative)
    }
}

/// The terms of an equation at points.
pub(crate) type Terms = Vec<(Argument, Coefficient)>;
