//! What is asked of u: one condition a point, α·Δu + β·∇u + γ·u = target.

use firebox_core::Communicator;

/// A coefficient function at the points of [`Conditions`].
#[derive(Debug, Clone, PartialEq)]
pub enum Coefficient {
    /// 0 everywhere: the term is not computed.
    Zero,
    /// 1 everywhere.
    One,
    /// A value a point.
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

/// Conditions of one kind (inside, or on the boundary), one a point: α·Δu + β·∇u + γ·u = target.
#[derive(Debug, Clone, PartialEq)]
pub struct Conditions {
    /// Dimensions of space, 2 or 3.
    pub dims: usize,
    /// Row-major n × dims.
    pub points: Vec<f64>,
    /// α.
    pub laplacian: Coefficient,
    /// β, row-major n × dims; none where it is 0 everywhere.
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

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.target.is_empty()
    }

    /// Point `i`.
    pub fn point(&self, i: usize) -> &[f64] {
        &self.points[i * self.dims..(i + 1) * self.dims]
    }
}

/// What a training minimises: I = 1/(2N) Σ r1² + λ/(2K) Σ r2², r1 over the N interior and r2 over the K boundary conditions.
#[derive(Debug, Clone, PartialEq)]
pub struct System {
    /// Inside.
    pub interior: Conditions,
    /// On the boundary.
    pub boundary: Conditions,
    /// λ.
    pub penalty: f64,
}

/// √(Σr²/n); 0 of none.
pub(crate) fn root_mean(residual: &[f64]) -> f64 {
    (residual.iter().map(|r| r * r).sum::<f64>() / residual.len().max(1) as f64).sqrt()
}

impl System {
    /// √(2I) of residuals whose root mean squares these are.
    pub(crate) fn norm(&self, inside: f64, outside: f64) -> f64 {
        (inside * inside + self.penalty * outside * outside).sqrt()
    }

    /// √(2I) of u = 0 where this is a rank's part of so many conditions.
    pub(crate) fn part_of_nothing(&self, counts: [usize; 2], ranks: &dyn Communicator) -> f64 {
        let squares = |conditions: &Conditions| conditions.target.iter().map(|t| t * t).sum::<f64>();
        let mut sums = [squares(&self.interior), squares(&self.boundary)];
        ranks.all_sum(&mut sums);
        let [inside, outside] = [0, 1].map(|kind| (sums[kind] / counts[kind].max(1) as f64).sqrt());
        self.norm(inside, outside)
    }

    /// √(2I) of u = 0.
    pub(crate) fn of_nothing(&self) -> f64 {
        self.norm(root_mean(&self.interior.target), root_mean(&self.boundary.target))
    }
}
