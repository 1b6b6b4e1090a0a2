//! The state of a growth: its levels, with estimates of their errors, and the work that remains.

use firebox_core::{Result, random::Random};
use serde::Serialize;

use super::{
    cells::{Place, Point},
    level::{Conditions, LARGE, Solved},
    newton::Iteration,
    operator::{Neurons, Operator},
    posterior::Found,
};
use crate::{
    problem::definition::Problem,
    solve::{accuracy::accuracy, decompositions::failed},
    types::root_mean,
};

/// Widths that are tried, in sides of a cell.
pub(super) const RATIOS: [f64; 4] = [2.2, 3.2, 4.6, 6.6];
/// Neurons up to which all widths are tried; from there on the last one, and its neighbours by this factor.
const ALL_TRIED: usize = 600;
const STEP: f64 = 1.4;
/// Bounds of these.
const NARROWEST: f64 = 1.5;
const WIDEST: f64 = 9.5;
/// Factors of the held-out residual, and of its product with the stability constant, in the estimate.
const HELD_OUT: f64 = 3.0;
const STABLE: f64 = 0.01;
/// The latter factor up to a number of neurons, where conditions are too few to measure all of an error.
const STABLE_OF_FEW: f64 = 0.5;
const FEW: usize = 400;
/// Factor of the change since the level before, if that is large, for nonlinear equations: levels that do not
/// resolve a front have it in similar places, all of them wrong.
const CHANGE_OF_FRONTS: f64 = 3.0;
/// Relative change of u from which on [`CHANGE_OF_FRONTS`] applies.
const LARGE_CHANGE: f64 = 1e-2;
/// Relative residual left by rounding, multiplied by the stability constant.
const ROUNDING: f64 = 1e-12;
/// Change of the right-hand side from which on conditions do not balance it: in all right-hand sides, and in held-out
/// residuals.
const UNBALANCED: [f64; 2] = [1e-3, 10.0];
/// Maximum number of linear problems per level that is assumed when the next level is chosen; more occur only far from the
/// solution.
const EXPECTED_STEPS: usize = 3;
/// Number of consecutive levels with `moved` above [`CONVERGING`] after which the growth ends.
const DIVERGED: usize = 4;
/// Relative change of u above which an iteration does not converge.
const CONVERGING: f64 = 0.3;
/// Share of the error by noise below which other errors need not fall.
const BELOW_NOISE: f64 = 0.5;
/// Least growth of the number of neurons that a level is worth.
pub(super) const LEAST_GROWTH: f64 = 1.25;
/// Every how many points of the grid the stability constant uses.
pub(super) const STRIDE: usize = 9;

/// Limits of the growth.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Adaptive {
    /// Relative error at which the growth ends.
    pub(crate) target_error: f64,
    pub(crate) max_neurons: usize,
    /// Operations of the decompositions, 2·rows·m² each.
    pub(crate) work: f64,
    /// Root mean square that errors are relative to if that of u is less.
    pub(crate) least_size: f64,
    /// The growth goes on to `max_neurons`, however small the estimate and whatever the work.
    pub(crate) grows_on: bool,
    /// a in sides of a cell at all levels; else the best of some.
    pub(crate) ratio: Option<f64>,
    pub(crate) seed: u64,
}

/// Figures of a level.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Level {
    /// Neurons.
    pub neurons: usize,
    /// Conditions at points, inside and along the boundary.
    pub conditions: usize,
    /// a in sides of a cell, before training.
    pub ratio: f64,
    /// Estimate of the relative L2 error, at most 1.
    pub estimate: f64,
    /// The part of it that is due to the noise of measured values; 0 without them.
    pub noise: f64,
    /// Norm of the held-out residuals over that of u.
    pub held_out: f64,
    /// Stability constant: the largest |u| over the norm of its residuals.
    pub stability: f64,
    /// Change of u since the level before, relative; infinite in the first.
    pub change: f64,
    /// Condition number of the scaled matrix, estimated; infinite if singular.
    pub condition: f64,
    /// Relative L2 error on the grid, if the exact solution is known.
    pub error: Option<f64>,
    /// The least squares ran on the device of the context, not on the host.
    pub on_device: bool,
    /// Centres and widths were trained.
    pub trained: bool,
    /// Linear problems that were solved in turn: 1, or those of a Gauss–Newton iteration.
    pub steps: usize,
    /// Relative change of u by the last whole step, or the predicted change by the second step if this was skipped; infinite
    /// if no step gave a finite equation, 0 if the equation is linear.
    pub moved: f64,
    /// `moved` is at most 1e-2 of the estimate of the level before (1e-2 on the first level) or 0.1 of the target error,
    /// whichever is larger.
    pub settled: bool,
}

/// Reason why the growth ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "command", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// The estimate is small enough.
    Resolved,
    /// The noise of measured values leaves a larger error than all else.
    Noise,
    /// The neurons or the work are spent.
    Budget,
    /// The time limit.
    Time,
    /// There is no solution: conditions on derivatives only do not balance the right-hand side.
    Unbalanced,
    /// The iteration for a nonlinear equation did not converge.
    Diverged,
}

/// A grown network.
pub(crate) struct Adapted<const D: usize> {
    pub(crate) neurons: Neurons<D>,
    pub(crate) weights: Vec<f64>,
    /// Points of the conditions that determine the weights: inside, and along the boundary and interfaces.
    pub(crate) control_points: [Vec<Point<D>>; 2],
    pub(crate) levels: Vec<Level>,
    pub(crate) end: End,
    /// Operations of the decompositions.
    pub(crate) spent: f64,
    /// Parameters and fits to measured values.
    pub(crate) found: Found,
}

/// The places of the domain at which u is measured.
pub(crate) struct Measured<'a, const D: usize> {
    pub(crate) places: &'a [Place<D>],
    /// The exact solution at the places, if it is known, without numbers.
    pub(crate) exact: Option<&'a [f64]>,
    /// The conditions leave a constant open: the mean at the places is made that of the exact solution, or 0.
    pub(crate) open: bool,
}

/// Points, row-major, as places of each unknown in turn.
pub(crate) fn places<const D: usize>(problem: &Problem, points: &[f64]) -> Vec<Place<D>> {
    let of = |unknown: usize| {
        let block = move |x: &[f64]| problem.block(problem.region_of(x), unknown);
        points.chunks_exact(D).map(move |x| Place { point: std::array::from_fn(|i| x[i]), block: block(x) })
    };
    (0..problem.unknowns().len()).flat_map(of).collect()
}

/// Operations of a decomposition.
pub(super) fn work_of<const D: usize>(conditions: &Conditions<D>, neurons: usize) -> f64 {
    2.0 * conditions.len() as f64 * (neurons as f64).powi(2)
}

/// Conditions of a level, and how its network was found.
pub(super) struct Drawn<'a, const D: usize> {
    pub(super) conditions: &'a Conditions<D>,
    pub(super) held_out: &'a Conditions<D>,
    pub(super) ratio: f64,
    pub(super) trained: bool,
    pub(super) iteration: Iteration,
    /// Error that noise leaves, relative to the unknown.
    pub(super) noise: f64,
    /// Least size of each unknown.
    pub(super) floors: &'a [f64],
    pub(super) found: &'a Found,
}

/// A growth in progress.
pub(super) struct Growth<'a, const D: usize> {
    pub(super) limits: Adaptive,
    pub(super) measured: &'a Measured<'a, D>,
    pub(super) is_linear: bool,
    /// Number of unknowns, each of which has as many places.
    pub(super) unknowns: usize,
    /// Number of the first of them that are solutions.
    pub(super) solutions: usize,
    /// Every [`STRIDE`]th place.
    pub(super) some: Vec<Place<D>>,
    /// Operations that were spent.
    pub(super) spent: f64,
    /// u at the places, of the last level.
    pub(super) last: Vec<f64>,
    pub(super) grown: &'a mut Option<Adapted<D>>,
}

impl<const D: usize> Growth<'_, D> {
    pub(super) fn levels(&self) -> &[Level] {
        self.grown.as_ref().map_or(&[], |grown| &grown.levels)
    }

    /// Ends the growth as diverged with the last level; returns `false` before the first level.
    pub(super) fn diverged(&mut self) -> bool {
        self.grown.as_mut().map(|grown| grown.end = End::Diverged).is_some()
    }

    /// Operations that remain.
    pub(super) fn left(&self) -> f64 {
        self.limits.work - self.spent
    }

    /// The width with the least held-out residual, of those that the work allows, and its solution. `each` is the work of
    /// one.
    pub(super) fn best_width<'s>(
        &mut self,
        neurons: usize,
        each: f64,
        fitted: &dyn Fn(f64) -> Result<Solved<'s, D>>,
    ) -> Result<(f64, Solved<'s, D>)> {
        let last = self.levels().last().map(|level| level.ratio);
        let (first, others) = match self.limits.ratio {
            Some(given) => (given, Vec::new()),
            None => ratios(neurons, last),
        };
        let mut best = (first, fitted(first)?);
        self.spent += each;
        for other in others {
            if self.left() < each && !self.limits.grows_on {
                break;
            }
            let found = fitted(other)?;
            self.spent += each;
            if found.residual() < best.1.residual() {
                best = (other, found);
            }
            // The wider neighbour alone.
            if neurons > LARGE {
                break;
            }
        }
        Ok(best)
    }

    /// Adds the level of `solved`. Returns the number of neurons that the rest of the work affords, unless this level is
    /// the last.
    pub(super) fn record(
        &mut self,
        solved: &Solved<'_, D>,
        drawn: &Drawn<'_, D>,
        random: &mut Random,
    ) -> Result<Option<f64>> {
        if !solved.residual().is_finite() {
            return Err(failed("the weights or residuals of the network are not finite; check the problem's data"));
        }
        let (limits, measured) = (self.limits, self.measured);
        let Drawn { conditions, held_out, ratio, trained, iteration, noise, floors, found } = *drawn;
        let Iteration { steps, moved, settled } = iteration;
        let m = solved.neurons.len();
        let values = solved.evaluate(Operator::VALUE, measured.places)?;
        let size = root_mean(&values).max(limits.least_size);
        // Where u = 0 fulfils all conditions, nothing is divided by 0.
        let relative = |part: f64| if part == 0.0 { 0.0 } else { part / size };
        let difference: Vec<f64> = values.iter().zip(&self.last).map(|(u, v)| u - v).collect();
        let change = match (self.last.is_empty(), found.fits.is_empty()) {
            (true, _) => f64::INFINITY,
            (_, true) => relative(root_mean(&difference)),
            // Coefficients and solutions may be of any sizes.
            _ => {
                let count = difference.len() / self.unknowns;
                let own = difference.chunks(count).zip(values.chunks(count));
                let sizes =
                    own.zip(floors).map(|((change, own), least)| root_mean(change) / root_mean(own).max(*least));
                sizes.fold(0.0, f64::max)
            }
        };
        let at_points: f64 = solved.residuals[..held_out.points()].iter().map(|r| r * r).sum();
        let stability = solved.stability(&self.some, random)?;
        // Residuals are in units of solutions, not of coefficients.
        let held = match found.fits.is_empty() {
            true => relative(at_points.sqrt()),
            false => at_points.sqrt() / root_mean(&values[..values.len() / self.unknowns * self.solutions]),
        };
        let factor = if m < FEW { STABLE_OF_FEW } else { STABLE };
        // Coefficients depend on values that noise disturbs far more than residuals do, so that the constant says little.
        let is_measured = !found.fits.is_empty();
        let bound = if is_measured { 0.0 } else { factor * stability * relative(solved.residual()) };
        let fronts = if !self.is_linear && change > LARGE_CHANGE { CHANGE_OF_FRONTS } else { 1.0 };
        let rounding = if self.is_linear || is_measured { 0.0 } else { ROUNDING * stability };
        let parts = [fronts * change, HELD_OUT * held, bound, moved, rounding];
        // NaN and infinities are no estimate; above 1 it says no more than that.
        let estimate = if parts.iter().all(|part| *part < 1.0) { parts.into_iter().fold(0.0, f64::max) } else { 1.0 };
        let is_below = settled && estimate < 1.0 && noise < 1.0 && estimate <= BELOW_NOISE * noise;
        let estimate = if noise < 1.0 { estimate.max(noise) } else { 1.0 };
        let level = Level {
            neurons: m,
            conditions: conditions.points(),
            ratio,
            estimate,
            noise,
            held_out: held,
            stability,
            change,
            condition: solved.condition()?,
            error: measured.exact.map(|exact| accuracy(&values[..exact.len()], exact).relative_l2),
            on_device: solved.on_device,
            trained,
            steps,
            moved,
            settled,
        };
        let each = steps.min(EXPECTED_STEPS) as f64 * work_of(conditions, m);
        let affordable = match limits.grows_on {
            true => limits.max_neurons as f64,
            false => (m as f64 * (self.left().max(0.0) / each).cbrt()).min(limits.max_neurons as f64),
        };
        let unbalanced = solved.balance > UNBALANCED[0] && solved.balance > UNBALANCED[1] * solved.unmet;
        let levels: Vec<Level> = self.levels().iter().copied().chain([level]).collect();
        let last = levels.len().checked_sub(DIVERGED).map(|first| &levels[first..]);
        let diverged = last.is_some_and(|last| last.iter().all(|level| level.moved > CONVERGING));
        let end = match estimate <= limits.target_error {
            _ if unbalanced => End::Unbalanced,
            _ if diverged => End::Diverged,
            true => End::Resolved,
            false if is_below => End::Noise,
            false => End::Budget,
        };
        self.last = values;
        let (neurons, weights) = (solved.neurons.clone(), solved.weights.clone());
        let control_points = conditions.control_points();
        *self.grown =
            Some(Adapted { neurons, weights, control_points, levels, end, spent: self.spent, found: found.clone() });
        let goes_on = end == End::Budget || matches!(end, End::Resolved | End::Noise) && limits.grows_on;
        Ok((goes_on && affordable >= LEAST_GROWTH * m as f64).then_some(affordable))
    }
}

/// Width to try first with `neurons` after a level with the width `last`, and others.
fn ratios(neurons: usize, last: Option<f64>) -> (f64, Vec<f64>) {
    match last {
        Some(last) if neurons > ALL_TRIED => {
            let others = [last * STEP, last / STEP].into_iter();
            (last, others.filter(|ratio| (NARROWEST..=WIDEST).contains(ratio)).collect())
        }
        _ => (RATIOS[0], RATIOS[1..].to_vec()),
    }
}
