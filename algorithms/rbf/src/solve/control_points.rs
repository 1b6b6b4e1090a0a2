//! Control points of each cycle, drawn from a random stream that the number of the cycle names.

use firebox_core::{Communicator, Result, Solo, random::Random};

use super::{nondimensional::Scaling, subset::part};
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
        let first = draw(problem, config, &settings, seed, 0, &Solo)?;
        let (scaling, first) = Scaling::new(problem.domain(), first);
        Ok((Self { problem, config, settings, seed, scaling }, first))
    }

    /// The system at points of no cycle, at most `most` of each kind.
    pub(crate) fn held_out(&self, most: usize) -> Result<System> {
        let few = |count: usize| count.min(most.max(1));
        let (points, boundary_points) = (few(self.settings.points), few(self.settings.boundary_points));
        let settings = Settings { points, boundary_points, ..self.settings };
        Ok(self.scaling.system(draw(self.problem, self.config, &settings, self.seed, u64::MAX, &Solo)?))
    }

    /// The system of a cycle in nondimensional units; the same in all cycles unless points are redrawn.
    pub(crate) fn system(&self, cycle: usize) -> Result<System> {
        self.part(cycle, &Solo)
    }

    /// A rank's part of [`system`](Self::system): every condition belongs to exactly one rank.
    pub(crate) fn part(&self, cycle: usize, ranks: &dyn Communicator) -> Result<System> {
        let stream = if self.settings.redraw { cycle as u64 } else { 0 };
        Ok(self.scaling.system(draw(self.problem, self.config, &self.settings, self.seed, stream, ranks)?))
    }
}

fn draw(
    problem: &Problem,
    config: &RbfConfig,
    settings: &Settings,
    seed: u64,
    stream: u64,
    ranks: &dyn Communicator,
) -> Result<System> {
    let random = &mut Random::new(seed, STREAM.wrapping_add(stream));
    let points = problem.domain().shared_points(settings.points, config.sampling, random, ranks)?;
    let interior = problem.interior(points)?;
    // Boundary points are few: every rank draws all of them.
    let boundary = problem.boundary(&problem.boundary_points(settings.boundary_points, config.sampling, random)?)?;
    let boundary = if ranks.size() == 1 { boundary } else { part(&boundary, ranks.share()) };
    Ok(System { interior, boundary, penalty: config.penalty })
}
