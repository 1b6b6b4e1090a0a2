//! Conditions on u, one per point: α·Δu + β·∇u + γ·u = target.

use firebox_core::Communicator;

/// A coefficient function at the points of [`Conditions`].
#[derive(Debug, Clone, PartialEq)]
pub enum Coefficient {
    /// 0 everywhere: the term is not computed.
    Zero,
    /// 1 everywhere.
    One,
    /// One value per point.
    Each(Vec<f64>),
}

impl Coefficient {
    /// Its value at point `i`.
    pub fn at(&self, i: usize) -> f64 {
        match self {
            Self::Zero => 0.0,
            Self::One => 1.0,
            Self::Each(values) => values[i],
        }
    }
}

/// Interior or boundary conditions, one per point: α·Δu + β·∇u + γ·u = target.
#[derive(Debug, Clone, PartialEq)]
pub struct Conditions {
    /// Dimensions of space, 2 or 3.
    pub dims: usize,
    /// Row-major n × dims.
    pub points: Vec<f64>,
    /// α.
    pub laplacian: Coefficient,
    /// β, row-major n × dims; `None` if 0 everywhere.
    pub gradient: Option<Vec<f64>>,
    /// γ.
    pub value: Coefficient,
    /// Right-hand sides, n.
    pub target: Vec<f64>,
}

impl Conditions {
    /// n.
    pub fn len(&self) -> usize {
        self.target.len()
    }

    /// Whether there are no conditions.
    pub fn is_empty(&self) -> bool {
        self.target.is_empty()
    }

    /// Point `i`.
    pub fn point(&self, i: usize) -> &[f64] {
        &self.points[i * self.dims..(i + 1) * self.dims]
    }
}

/// The objective of a training: I = 1/(2N) Σ r1² + λ/(2K) Σ r2², r1 over the N interior and r2 over the K boundary
/// conditions.
#[derive(Debug, Clone, PartialEq)]
pub struct System {
    /// Interior conditions.
    pub interior: Conditions,
    /// Boundary conditions.
    pub boundary: Conditions,
    /// λ.
    pub penalty: f64,
}

/// √(Σr²/n); 0 for n = 0.
pub(crate) fn root_mean(residual: &[f64]) -> f64 {
    (residual.iter().map(|r| r * r).sum::<f64>() / residual.len().max(1) as f64).sqrt()
}

impl System {
    /// √(2I) from the root mean squares of interior and boundary residuals.
    pub(crate) fn norm(&self, inside: f64, outside: f64) -> f64 {
        (inside * inside + self.penalty * outside * outside).sqrt()
    }

    /// √(2I) of u = 0 if this is a rank's part of `counts` conditions, N and K.
    pub(crate) fn zero_norm_of_part(&self, counts: [usize; 2], ranks: &dyn Communicator) -> f64 {
        let squares = |conditions: &Conditions| conditions.target.iter().map(|t| t * t).sum::<f64>();
        let mut sums = [squares(&self.interior), squares(&self.boundary)];
        ranks.all_sum(&mut sums);
        let [inside, outside] = [0, 1].map(|kind| (sums[kind] / counts[kind].max(1) as f64).sqrt());
        self.norm(inside, outside)
    }

    /// √(2I) of u = 0.
    pub(crate) fn zero_norm(&self) -> f64 {
        self.norm(root_mean(&self.interior.target), root_mean(&self.boundary.target))
    }
}
