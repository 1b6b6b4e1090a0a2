//! A right preconditioner of least squares: R of the QR of some rows, as in Blendenpik (Avron, Maymounkov, Toledo
//! 2010).
//!
//! LSQR then takes tens of iterations up to condition numbers of 1e12, and about a hundred beyond 1/ε, where a small
//! multiple of the identity below the sketch damps directions of A that are rounding. Rows are drawn without
//! replacement, uniformly within each kind, at least a quarter of them from the boundary, since rows on and near it
//! have the highest leverage. A sketch that mixes all rows would be more robust, but would need every element of A on
//! the host. A poor sketch costs iterations, not accuracy.

use faer::{Mat, MatMut};
use firebox_core::{Communicator, Error, Result, random::Random};

use super::{collocation::Weighted, householder::Qr, qr::Solver, triangular::Triangle};
use crate::types::System;

/// The stream of [`Random`] that draws the rows.
const ROWS: u64 = u64::from_be_bytes(*b"rbf-lsqr");
/// Rows of the sketch per neuron.
const ROWS_PER_NEURON: usize = 4;
/// Tikhonov parameter of the sketch, whose columns have norm about 1: LSQR would not converge along directions with
/// smaller singular values, which are rounding.
const DAMPING: f64 = 1e-12;
/// R of the QR of a sketch of A, and the sketch's least-squares solution.
#[derive(Debug, Clone)]
pub(crate) struct Preconditioner {
    triangle: Triangle,
    scales: Vec<f64>,
    pub(super) start: Vec<f64>,
    condition: f64,
    /// The relative normal residual that rounding leaves: ε times the condition number of the triangle.
    pub(super) attainable: f64,
}

impl Preconditioner {
    /// From 4m rows of `system`, or from all if it has fewer; the same for the same `seed`.
    ///
    /// # Errors
    ///
    /// [`Error::Config`] if there are fewer conditions than neurons, [`Error::Run`] if an element is not finite.
    pub(crate) fn new(system: &System, centres: &[f64], widths: &[f64], seed: u64) -> Result<Self> {
        let (n, k, wanted) = (system.interior.len(), system.boundary.len(), ROWS_PER_NEURON * widths.len());
        let proportional = (wanted as f64 * k as f64 / (n + k).max(1) as f64).ceil() as usize;
        let boundary = k.min(proportional.max(wanted / 4)).max(wanted.saturating_sub(n).min(k));
        let interior = n.min(wanted - boundary.min(wanted));
        let mut random = Random::new(seed, ROWS);
        let sketch = System {
            interior: system.interior.subset(&draw(n, interior, &mut random)),
            boundary: system.boundary.subset(&draw(k, boundary, &mut random)),
            penalty: system.penalty,
        };
        let solver = Solver::new(&Weighted::new(&sketch)?, centres, widths)?;
        let condition = solver.triangle.condition()?;
        let m = widths.len();
        let r = &solver.triangle.0;
        let qr = Qr::new(Mat::from_fn(2 * m, m, |i, j| match i {
            _ if i < m => r[(i, j)],
            _ if i == m + j => DAMPING,
            _ => 0.0,
        }))?;
        let triangle = Triangle(qr.r());
        let mut start = [solver.image(), &vec![0.0; m]].concat();
        qr.transpose_apply(MatMut::from_column_major_slice_mut(&mut start, 2 * m, 1))?;
        start.truncate(m);
        let mut this = Self { triangle, scales: solver.scales.clone(), start, condition, attainable: 0.0 };
        this.start = this.solve(&this.start);
        // The condition number in the 1-norm is a small multiple of that in the 2-norm.
        this.attainable = 0.25 * f64::EPSILON * this.triangle.condition()?;
        Ok(this)
    }

    /// Makes it on rank 0 and broadcasts it: rounding may differ between ranks, which have to apply the same
    /// preconditioner.
    pub(crate) fn broadcast(ranks: &dyn Communicator, make: impl FnOnce() -> Result<Self>) -> Result<Self> {
        if ranks.size() == 1 {
            return make();
        }
        let mut made = None;
        let numbers = ranks.broadcast_from_root(|| {
            let Self { triangle, scales, start, condition, attainable } = &*made.insert(make()?);
            let columns = (0..triangle.0.ncols()).flat_map(|j| triangle.0.col_as_slice(j));
            Ok::<_, Error>(columns.chain(scales).chain(start).chain([condition, attainable]).copied().collect())
        })?;
        if let Some(made) = made {
            return Ok(made);
        }
        // m² + 2m + 2 numbers.
        let m = ((numbers.len() - 1) as f64).sqrt() as usize - 1;
        let (r, rest) = numbers.split_at(m * m);
        Ok(Self {
            triangle: Triangle(Mat::from_fn(m, m, |i, j| r[j * m + i])),
            scales: rest[..m].to_vec(),
            start: rest[m..2 * m].to_vec(),
            condition: rest[2 * m],
            attainable: rest[2 * m + 1],
        })
    }

    /// The condition number of the sketch, estimated like [`Fit::condition`](super::qr::Fit::condition).
    pub(crate) fn condition(&self) -> f64 {
        self.condition
    }

    /// D·R⁻¹·y.
    pub(super) fn solve(&self, y: &[f64]) -> Vec<f64> {
        let mut x = y.to_vec();
        self.triangle.solve(&mut x);
        x.iter_mut().zip(&self.scales).for_each(|(x, scale)| *x *= scale);
        x
    }

    /// R⁻ᵀ·D·x.
    pub(super) fn solve_transposed(&self, mut x: Vec<f64>) -> Vec<f64> {
        x.iter_mut().zip(&self.scales).for_each(|(x, scale)| *x *= scale);
        self.triangle.solve_transposed(&mut x);
        x
    }
}

/// `count` of 0..n without replacement, in ascending order.
fn draw(n: usize, count: usize, random: &mut Random) -> Vec<usize> {
    let mut indices: Vec<usize> = (0..n).collect();
    for i in 0..count.min(n) {
        let other = i + random.below(n - i);
        indices.swap(i, other);
    }
    indices.truncate(count);
    indices.sort_unstable();
    indices
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_are_of_distinct_rows() {
        let mut random = Random::new(0, 0);
        for (n, count) in [(0, 0), (1, 1), (10, 4), (10, 10), (3, 9)] {
            let mut drawn = draw(n, count, &mut random);
            assert_eq!(drawn.len(), count.min(n));
            drawn.dedup();
            assert!(drawn.len() == count.min(n) && drawn.iter().all(|&i| i < n));
        }
    }
}
