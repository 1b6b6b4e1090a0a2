//! The exact solution of a problem, where it is known.

use firebox_core::Result;

use super::Problem;
use crate::problem::function::Function;

impl Problem {
    /// The exact solution of each unknown; empty if it is not known.
    pub(in crate::problem) fn exact_functions(&self) -> &[Function] {
        &self.exact
    }

    /// The exact solution of the first unknown at points, row-major n × dims, if it is known.
    ///
    /// # Errors
    ///
    /// Those of [`Function::values`].
    pub fn exact(&self, points: &[f64]) -> Result<Option<Vec<f64>>> {
        self.exact.first().map(|exact| exact.values(points, self.dims())).transpose()
    }

    /// The exact solution of each unknown at points, row-major n × dims, if it is known.
    ///
    /// # Errors
    ///
    /// Those of [`Function::values`].
    pub(crate) fn all_exact(&self, points: &[f64]) -> Result<Option<Vec<Vec<f64>>>> {
        let all = self.exact.iter().map(|exact| exact.values(points, self.dims())).collect::<Result<Vec<_>>>()?;
        Ok(Some(all).filter(|all| !all.is_empty()))
    }

    /// [`all_exact`](Self::all_exact), checked to be finite.
    ///
    /// # Errors
    ///
    /// [`Error::Input`] with the first point where it is not.
    pub(crate) fn finite_exact(&self, points: &[f64]) -> Result<Option<Vec<Vec<f64>>>> {
        let values = |exact: &Function| exact.finite_values(points, self.dims(), "the exact solution");
        let all = self.exact.iter().map(values).collect::<Result<Vec<_>>>()?;
        Ok(Some(all).filter(|all| !all.is_empty()))
    }
}
