//! Control points, cycle by cycle: the cycle's number is all the random state there is.

use firebox_core::{Communicator, Result, Solo, random::Random};

use crate::{Problem, RbfConfig, System, config::Settings, frame::Frame, subset::part};

/// The stream of [`Random`] of cycle 0; each cycle has one of its own.
const STREAM: u64 = u64::from_be_bytes(*b"rbf-draw");

/// Draws the control points of a problem.
pub(crate) struct Control<'a> {
    pub(crate) problem: &'a Problem,
    pub(crate) config: &'a RbfConfig,
    pub(crate) settings: Settings,
    pub(crate) seed: u64,
    pub(crate) frame: Frame,
}

impl<'a> Control<'a> {
    /// With what is asked for in the first cycle.
    pub(crate) fn new(
        problem: &'a Problem,
        config: &'a RbfConfig,
        settings: Settings,
        seed: u64,
    ) -> Result<(Self, System)> {
        let first = draw(problem, config, &settings, seed, 0, &Solo)?;
        let (frame, first) = Frame::new(problem.domain(), first);
        Ok((Self { problem, config, settings, seed, frame }, first))
    }

    /// What is asked for at points that no cycle has, at most `most` of each kind.
    pub(crate) fn others(&self, most: usize) -> Result<System> {
        let few = |count: usize| count.min(most.max(1));
        let (points, boundary_points) = (few(self.settings.points), few(self.settings.boundary_points));
        let settings = Settings { points, boundary_points, ..self.settings };
        Ok(self.frame.system(draw(self.problem, self.config, &settings, self.seed, u64::MAX, &Solo)?))
    }

    /// What is asked for in a cycle, in the units of the frame; the same in all unless points are drawn again.
    pub(crate) fn system(&self, cycle: usize) -> Result<System> {
        self.part(cycle, &Solo)
    }

    /// A rank's part of that: each point is of one of them.
    pub(crate) fn part(&self, cycle: usize, ranks: &dyn Communicator) -> Result<System> {
        let stream = if self.settings.redraw { cycle as u64 } else { 0 };
        Ok(self.frame.system(draw(self.problem, self.config, &self.settings, self.seed, stream, ranks)?))
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
    // Few, beside those inside: drawn by all.
    let boundary = problem.boundary(&problem.boundary_points(settings.boundary_points, config.sampling, random)?)?;
    let boundary = if ranks.size() == 1 { boundary } else { part(&boundary, ranks.share()) };
    Ok(System { interior, boundary, penalty: config.penalty })
}
