//! Control points, cycle by cycle: the cycle's number is all the random state there is.

use firebox_core::{Result, random::Random};

use crate::{Problem, Sampling, System, config::Settings};

/// The stream of [`Random`] of cycle 0; each cycle has one of its own.
const STREAM: u64 = u64::from_be_bytes(*b"rbf-draw");

/// Draws the control points of a problem.
pub(crate) struct Control<'a> {
    pub(crate) problem: &'a Problem,
    pub(crate) settings: Settings,
    pub(crate) sampling: Sampling,
    pub(crate) penalty: f64,
    pub(crate) seed: u64,
}

impl Control<'_> {
    /// What is asked for in a cycle, which is the same in all unless points are drawn again.
    pub(crate) fn system(&self, cycle: usize) -> Result<System> {
        let stream = if self.settings.redraw { cycle as u64 } else { 0 };
        let random = &mut Random::new(self.seed, STREAM.wrapping_add(stream));
        let Self { problem, settings, sampling, penalty, .. } = self;
        let interior = problem.interior(problem.interior_points(settings.points, *sampling, random)?)?;
        let boundary = problem.boundary(&problem.boundary_points(settings.boundary_points, *sampling, random)?)?;
        Ok(System { interior, boundary, penalty: *penalty })
    }
}
