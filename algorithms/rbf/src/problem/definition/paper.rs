//! Problems as the paper's network has them.

use firebox_core::{Communicator, Error, Result, random::Random};

use super::Problem;
use crate::{
    problem::{condition::Condition, equation::Derivative},
    types::{Coefficient, Conditions, Sampling, System},
};

impl Problem {
    /// The conditions at N points inside and K on the boundary: a rank's part, where every condition belongs to exactly
    /// one rank.
    pub(crate) fn system(
        &self,
        [inside, outside]: [usize; 2],
        sampling: Sampling,
        penalty: f64,
        random: &mut Random,
        ranks: &dyn Communicator,
    ) -> Result<System> {
        let interior = self.interior(self.domain.interior_points(inside, sampling, random, ranks)?)?;
        // Boundary points are few: every rank draws all of them.
        let boundary = self.boundary(&self.boundary_points(outside, sampling, random)?)?;
        let boundary = if ranks.size() == 1 { boundary } else { boundary.part(ranks.share()) };
        Ok(System { interior, boundary, penalty })
    }

    /// Fails unless the problem is one of `mode = paper`: a·Δu + b·∇u + c·u = f in two or three dimensions, with one
    /// condition at each point of the boundary.
    pub(crate) fn check_paper(&self) -> Result<()> {
        let what = if !self.measurements.is_empty() {
            "`mode = paper` has no measured values".into()
        } else if !(2..=3).contains(&self.dims()) {
            format!("`mode = paper` solves problems in two or three dimensions, and this one has {}", self.dims())
        } else if self.regions.len() > 1 {
            "`mode = paper` has one equation in the whole domain".into()
        } else if self.time.is_some() {
            "`mode = paper` has no slabs of time".into()
        } else if self.unknowns.len() > 1 {
            "`mode = paper` solves for one unknown".into()
        } else if !self.is_linear() {
            "`mode = paper` solves linear equations".into()
        } else if self.equation(0).terms.iter().any(|(of, _)| matches!(of.derivative, Derivative::Second(..))) {
            "`mode = paper` has second derivatives in the laplacian only".into()
        } else if self.rules.iter().any(|rule| {
            matches!(rule.condition, Condition::Initial { .. } | Condition::Periodic { .. } | Condition::Free)
        }) {
            "`mode = paper` needs one condition at each point of the boundary".into()
        } else {
            return Ok(());
        };
        Err(Error::input(what, "give `mode = auto`"))
    }

    /// The equation at points, row-major n × dims, if it is one of [`check_paper`](Self::check_paper).
    ///
    /// # Errors
    ///
    /// Those of [`terms`](Self::terms).
    pub(crate) fn interior(&self, points: Vec<f64>) -> Result<Conditions> {
        let (dims, n) = (self.dims(), points.len() / self.dims());
        let (terms, target) = self.terms(0, &points)?;
        let (mut laplacian, mut value, mut gradient) = (Coefficient::Zero, Coefficient::Zero, vec![0.0; points.len()]);
        for (argument, coefficient) in terms {
            match argument.derivative {
                Derivative::Laplacian => laplacian = coefficient,
                Derivative::Value => value = coefficient,
                Derivative::First(axis) => (0..n).for_each(|i| gradient[i * dims + axis] = coefficient.at(i)),
                Derivative::Second(..) => self.check_paper()?,
            }
        }
        let gradient = gradient.iter().any(|&b| b != 0.0).then_some(gradient);
        Ok(Conditions { dims, points, laplacian, gradient, value, target })
    }
}
