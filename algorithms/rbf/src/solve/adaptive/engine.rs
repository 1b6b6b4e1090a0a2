//! The least squares of a level, on the host or elsewhere.

use faer::MatMut;
use firebox_core::{Result, watch::Watch};

use super::operator::{Functionals, Neurons};
use crate::solve::{collocation::columns, householder::Qr, qr::scale, triangular::Triangle};

/// A place that makes and decomposes matrices of conditions, in f64.
pub(crate) trait Engine<const D: usize> {
    /// The weights w that minimise ‖A·w − b‖ for the matrix A of `rows` with `border`, and `targets` b.
    ///
    /// # Errors
    ///
    /// [`Error::Run`](firebox_core::Error::Run) if A is not finite or a device fails; that of the thread's [`Watch`].
    fn least_squares(
        &self,
        rows: &Functionals<D>,
        neurons: &Neurons<D>,
        border: Option<&Border>,
        targets: Vec<f64>,
    ) -> Result<LeastSquares>;

    /// The matrix of `rows`, sums included, times `weights`.
    ///
    /// # Errors
    ///
    /// [`Error::Run`](firebox_core::Error::Run) if a device fails; that of the thread's [`Watch`].
    fn values(&self, rows: &Functionals<D>, neurons: &Neurons<D>, weights: &[f64]) -> Result<Vec<f64>>;
}

/// A further column of a matrix, and then a further row, whose element in that column is 0.
pub(crate) struct Border {
    /// As many as rows.
    pub(crate) column: Vec<f64>,
    /// As many as neurons.
    pub(crate) row: Vec<f64>,
}

/// A solution of least squares.
pub(crate) struct LeastSquares {
    pub(crate) weights: Vec<f64>,
    /// R of A = Q·R.
    pub(crate) triangle: Box<dyn Triangular>,
    /// The decomposition ran on a device, not on the host.
    pub(crate) on_device: bool,
}

/// An upper triangular matrix R.
pub(crate) trait Triangular {
    /// R⁻¹·x in place.
    fn solve(&self, x: &mut [f64]) -> Result<()>;
    /// R⁻ᵀ·x in place.
    fn solve_transposed(&self, x: &mut [f64]) -> Result<()>;
    /// Condition number of R with columns scaled to norms near 1, estimated; ∞ if R is singular.
    fn condition(&self) -> Result<f64>;
}

/// The host.
pub(crate) struct Host;

impl<const D: usize> Engine<D> for Host {
    fn least_squares(
        &self,
        rows: &Functionals<D>,
        neurons: &Neurons<D>,
        border: Option<&Border>,
        targets: Vec<f64>,
    ) -> Result<LeastSquares> {
        let (more, last) = (usize::from(border.is_some()), rows.len());
        let mut matrix = faer::Mat::zeros(last + more, neurons.len() + more);
        rows.fill(&mut matrix, neurons)?;
        if let Some(border) = border {
            border.row.iter().enumerate().for_each(|(k, value)| matrix[(last, k)] = *value);
            if let Some(column) = columns(&mut matrix).last_mut() {
                column[..last].copy_from_slice(&border.column);
            }
        }
        Watch::current().go_on()?;
        let scales = scale(&mut matrix)?;
        let qr = Qr::new(matrix)?;
        let (mut image, count) = (targets, last + more);
        qr.transpose_apply(MatMut::from_column_major_slice_mut(&mut image, count, 1))?;
        image.truncate(scales.len());
        let triangle = Scaled { triangle: Triangle(qr.r()), scales };
        triangle.solve(&mut image)?;
        Ok(LeastSquares { weights: image, triangle: Box::new(triangle), on_device: false })
    }

    fn values(&self, rows: &Functionals<D>, neurons: &Neurons<D>, weights: &[f64]) -> Result<Vec<f64>> {
        rows.values(neurons, weights)
    }
}

/// R·S⁻¹ of a triangle R and a diagonal matrix S: R is that of a matrix with its columns multiplied by S.
struct Scaled {
    triangle: Triangle,
    scales: Vec<f64>,
}

impl Scaled {
    fn scale(&self, x: &mut [f64]) {
        x.iter_mut().zip(&self.scales).for_each(|(x, scale)| *x *= scale);
    }
}

impl Triangular for Scaled {
    fn solve(&self, x: &mut [f64]) -> Result<()> {
        self.triangle.solve(x);
        self.scale(x);
        Ok(())
    }

    fn solve_transposed(&self, x: &mut [f64]) -> Result<()> {
        self.scale(x);
        self.triangle.solve_transposed(x);
        Ok(())
    }

    fn condition(&self) -> Result<f64> {
        self.triangle.condition()
    }
}
