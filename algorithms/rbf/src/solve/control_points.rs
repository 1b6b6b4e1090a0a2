//! Control points of each cycle, drawn from a random stream that the number of the cycle names.

use firebox_core::{Communicator, Result, Solo, random::Random};

use super::nondimensional::Scaling;
use crate::{
    config::{RbfConfig, Settings},
    problem::definition::Problem,
    types::System,
};

/// The stream of [`Random`] of cycle 0; cycle k has the k-th after it.
const STREAM: u64 = u64::from_be_bytes(*b"rbf-draw");

/// Draws the control points of a problem.
pub(crate) struct Sampler<'a> {
    pub(crate) problem: &'a Problem,
    pub(crate) config: &'a RbfConfig,
    pub(crate) settings: Settings,
    pub(crate) seed: u64,
    pub(crate) scaling: Scaling,
}

impl<'a> Sampler<'a> {
    /// A sampler, and the system of the first cycle.
    pub(crate) fn new(
        problem: &'a Problem,
        config: &'a RbfConfig,
        settings: Settings,
        seed: u64,
    ) -> Result<(Self, System)> {
        let (counts, random) = ([settings.points, settings.boundary_points], &mut Random::new(seed, STREAM));
        let first = problem.system(counts, config.sampling, config.penalty, random, &Solo)?;
        let (scaling, first) = Scaling::new(problem.domain(), first);
        Ok((Self { problem, config, settings, seed, scaling }, first))
    }

    /// The system at points of no cycle, at most `most` of each kind.
    pub(crate) fn held_out(&self, most: usize) -> Result<System> {
        self.draw(self.counts().map(|count| count.min(most.max(1))), u64::MAX, &Solo)
    }

    /// The system of a cycle in nondimensional units; the same in all cycles unless points are redrawn.
    pub(crate) fn system(&self, cycle: usize) -> Result<System> {
        self.part(cycle, &Solo)
    }

    /// A rank's part of [`system`](Self::system): every condition belongs to exactly one rank.
    pub(crate) fn part(&self, cycle: usize, ranks: &dyn Communicator) -> Result<System> {
        self.draw(self.counts(), if self.settings.redraw { cycle as u64 } else { 0 }, ranks)
    }

    fn counts(&self) -> [usize; 2] {
        [self.settings.points, self.settings.boundary_points]
    }

    fn draw(&self, counts: [usize; 2], stream: u64, ranks: &dyn Communicator) -> Result<System> {
        let (config, random) = (self.config, &mut Random::new(self.seed, STREAM.wrapping_add(stream)));
        Ok(self.scaling.system(self.problem.system(counts, config.sampling, config.penalty, random, ranks)?))
    }
}

/// Control points inside and on the boundary, `counts` of each, row-major: those of a cycle, which is 0
/// unless they are redrawn.
///
/// # Errors
///
/// Those of [`Problem::system`].
#[cfg(feature = "plot")]
pub(crate) fn control_points(
    problem: &Problem,
    config: &RbfConfig,
    counts: [usize; 2],
    (seed, cycle): (u64, usize),
) -> Result<[Vec<f64>; 2]> {
    let random = &mut Random::new(seed, STREAM.wrapping_add(cycle as u64));
    let system = problem.system(counts, config.sampling, config.penalty, random, &Solo)?;
    Ok([system.interior.points, system.boundary.points])
}
