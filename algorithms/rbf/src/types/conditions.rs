//! Conditions on u, one per point: α·Δu + β·∇u + γ·u = target.

use firebox_core::{Communicator, Share};

/// A coefficient function at the points of [`Conditions`].
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Coefficient {
    /// 0 everywhere: the term is not computed.
    Zero,
    /// 1 everywhere.
    One,
    /// One value per point.
    Each(Vec<f64>),
}

impl Coefficient {
    /// The value at point `i`.
    pub(crate) fn at(&self, i: usize) -> f64 {
        match self {
            Self::Zero => 0.0,
            Self::One => 1.0,
            Self::Each(values) => values[i],
        }
    }
}

/// Interior or boundary conditions, one per point: α·Δu + β·∇u + γ·u = target.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Conditions {
    /// Dimensions.
    pub(crate) dims: usize,
    /// Row-major n × dims.
    pub(crate) points: Vec<f64>,
    /// α.
    pub(crate) laplacian: Coefficient,
    /// β, row-major n × dims; `None` if 0 everywhere.
    pub(crate) gradient: Option<Vec<f64>>,
    /// γ.
    pub(crate) value: Coefficient,
    /// Right-hand sides, n.
    pub(crate) target: Vec<f64>,
}

impl Conditions {
    /// n.
    pub(crate) fn len(&self) -> usize {
        self.target.len()
    }

    /// Returns `true` if there are no conditions.
    pub(crate) fn is_empty(&self) -> bool {
        self.target.is_empty()
    }

    /// Point `i`.
    #[cfg(any(test, feature = "parity"))]
    pub(crate) fn point(&self, i: usize) -> &[f64] {
        &self.points[i * self.dims..(i + 1) * self.dims]
    }

    /// A rank's contiguous part.
    pub(crate) fn part(&self, share: Share) -> Self {
        if share.is_whole() {
            return self.clone();
        }
        self.subset(&share.of(self.len()).collect::<Vec<_>>())
    }

    /// The conditions at `indices`, in that order.
    pub(crate) fn subset(&self, indices: &[usize]) -> Self {
        let dims = self.dims;
        let each = |values: &[f64]| indices.iter().map(|&i| values[i]).collect();
        let rows = |values: &[f64]| indices.iter().flat_map(|&i| &values[i * dims..(i + 1) * dims]).copied().collect();
        let coefficient = |coefficient: &Coefficient| match coefficient {
            Coefficient::Each(values) => Coefficient::Each(each(values)),
            constant => constant.clone(),
        };
        Self {
            dims,
            points: rows(&self.points),
            laplacian: coefficient(&self.laplacian),
            gradient: self.gradient.as_deref().map(rows),
            value: coefficient(&self.value),
            target: each(&self.target),
        }
    }
}

/// The objective of a training: I = 1/(2N) Σ r1² + λ/(2K) Σ r2², r1 over the N interior and r2 over the K boundary
/// conditions.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct System {
    /// Interior conditions.
    pub(crate) interior: Conditions,
    /// Boundary conditions.
    pub(crate) boundary: Conditions,
    /// λ.
    pub(crate) penalty: f64,
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

#[cfg(test)]
mod tests {
    use crate::tests::samples;

    #[test]
    fn a_subset_keeps_points_coefficients_and_targets() {
        let (system, _) = samples::mixed(3, 1, 6);
        let all = &system.interior;
        let some = all.subset(&[4, 0]);
        assert_eq!((some.len(), some.point(0), some.point(1)), (2, all.point(4), all.point(0)));
        assert_eq!((some.laplacian.at(0), some.value.at(1)), (all.laplacian.at(4), 1.0));
        assert_eq!(some.gradient.unwrap()[..3], all.gradient.as_ref().unwrap()[12..15]);
    }
}
