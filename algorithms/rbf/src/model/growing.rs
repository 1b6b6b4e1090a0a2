//! Networks that grow: of a whole problem, or of slabs of time one after the other.

use std::sync::Arc;

use firebox_core::{Context, Error, Result};
use serde::Serialize;

use super::{engine::DeviceEngine, time_limit::TimeLimit};
use crate::{
    io::solution_grid::Field,
    ops::RbfOps,
    problem::{
        definition::Problem,
        equation::{Argument, Derivative},
        function::Function,
        time::TimeSlabs,
    },
    solve::{
        adaptive::{Adapted, Adaptive, End, Found, Level, Measured, Neurons, places, state},
        piecewise::PiecewiseNetwork,
    },
    types::{Coefficient, root_mean},
};

/// Numbers of slabs that are tried.
const SLABS: [usize; 7] = [1, 2, 4, 8, 16, 32, 64];
/// Minimum number of slabs that is tried for nonlinear equations: fewer rarely resolve a front.
const LEAST_SLABS: usize = 4;
/// Share of its part of the work with which the first slab decides whether there are enough slabs.
const PROBE: f64 = 0.5;

/// Relative error to which the problems of a continuation are solved, and share of the work that each may spend.
const CONTINUED: f64 = 1e-2;
const CONTINUED_WORK: f64 = 0.1;

/// A slab of time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "command", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Slab {
    /// Start of the slab.
    pub from: f64,
    /// End of the slab.
    pub to: f64,
    /// Neurons.
    pub neurons: usize,
    /// Estimate of the L2 error that arises in the slab, relative to u here or where u is largest in the slabs before.
    pub estimate: f64,
}

/// The network of a problem, or of a slab of its time.
pub(super) struct Part {
    /// The solution of each unknown.
    pub(super) networks: Vec<PiecewiseNetwork>,
    /// Control points, row-major: inside, and along the boundary and interfaces.
    control_points: [Vec<f64>; 2],
    pub(super) levels: Vec<Level>,
    pub(super) end: End,
    /// Parameters and fits to measured values.
    pub(super) found: Found,
    /// Operations of the decompositions.
    spent: f64,
    /// Root mean square of u.
    size: f64,
    /// Root mean square that the estimate is relative to.
    scale: f64,
}

impl Part {
    fn estimate(&self) -> f64 {
        self.levels.last().map_or(1.0, |level| level.estimate)
    }

    fn neurons(&self) -> usize {
        self.networks.iter().map(PiecewiseNetwork::len).sum()
    }
}

/// The parts of a solution, in order of time.
pub(super) struct Parts {
    pub(super) slabs: Vec<Slab>,
    pub(super) parts: Vec<Part>,
}

/// The growth of networks for one run.
pub(super) struct Growing<'a, B: RbfOps> {
    pub(super) context: &'a Context<B>,
    pub(super) engine: &'a DeviceEngine<'a, B>,
    pub(super) limit: TimeLimit,
    pub(super) limits: Adaptive,
}

impl<B: RbfOps> Growing<'_, B> {
    /// Grows the network of a problem; `open` as of [`leaves_constant`].
    ///
    /// # Errors
    ///
    /// Those of [`Adaptive::grow`], and [`Error::Run`] if the time limit ends before the first level.
    pub(super) fn part<const D: usize>(
        &self,
        problem: &Problem,
        field: &Field,
        open: bool,
        limits: Adaptive,
    ) -> Result<Part> {
        let (places, exact) = (
            places::<D>(problem, &field.points),
            field.exact.as_ref().map(|all| all[..problem.function_names().len()].concat()),
        );
        let measured = Measured { places: &places, exact: exact.as_deref(), open };
        let (context, session) = (self.context, self.context.solo());
        let go_on = |neurons: usize| session.checkpoint("growing", neurons as u64, limits.max_neurons as u64);
        let mut grown = None;
        let engine = self.engine;
        let ended = self.limit.watched(context, || limits.grow(problem, engine, &measured, &go_on, &mut grown));
        // A level that fulfils the target remains resolved, whatever ends the growth to a given number of neurons.
        let ended_by = |end: End, grown: Adapted<D>| match grown.end {
            End::Resolved | End::Noise => grown,
            _ => Adapted { end, ..grown },
        };
        let grown = match (ended, grown) {
            (Ok(()), Some(grown)) => grown,
            (Err(Error::Cancelled), Some(grown)) if !context.cancelled() => ended_by(End::Time, grown),
            (Err(Error::Cancelled), None) if !context.cancelled() => return Err(self.limit.no_result(context)),
            (Err(error @ Error::Memory { .. }), Some(grown)) => {
                context.observer.notice(&format!("the growth ends: {error}"));
                ended_by(End::Budget, grown)
            }
            (Err(error), _) => return Err(error),
            (Ok(()), None) => return Err(self.limit.no_result(context)),
        };
        let Neurons { centres, widths, starts } = grown.neurons;
        let neurons = [centres.into_flattened(), widths.into_flattened(), grown.weights];
        let regions: Vec<_> = problem.regions().cloned().collect();
        let networks = PiecewiseNetwork::of_unknowns(&regions, problem.unknowns().len(), &starts, neurons)?;
        let values = || networks.iter().flat_map(|network| network.evaluate(&field.points)).collect::<Vec<_>>();
        let size = context.watched(|| root_mean(&values()))?;
        let scale = size.max(limits.least_size);
        let control_points = grown.control_points.map(Vec::into_flattened);
        Ok(Part {
            networks,
            control_points,
            levels: grown.levels,
            end: grown.end,
            found: grown.found,
            spent: grown.spent,
            size,
            scale,
        })
    }

    /// Grows the network of a problem from the solution of its [continuation](Problem::with_continuation); `open` as of
    /// [`leaves_constant`].
    ///
    /// # Errors
    ///
    /// Those of [`part`](Self::part).
    pub(super) fn continued<const D: usize>(&self, problem: &Problem, field: &Field, open: bool) -> Result<Part> {
        let mut last: Option<Part> = None;
        let about = |problem: &Problem, last: &Option<Part>| match last {
            Some(last) => problem.about(state(last.networks.clone(), |_| ())),
            None => problem.clone(),
        };
        for (name, earlier) in problem.continuation() {
            let target_error = self.limits.target_error.max(CONTINUED);
            let limits =
                Adaptive { target_error, work: CONTINUED_WORK * self.limits.work, grows_on: false, ..self.limits };
            earlier.check_measured()?;
            let part = self.part::<D>(&about(earlier, &last), field, open, limits)?;
            if !matches!(part.end, End::Resolved | End::Noise) {
                self.context.observer.notice(&format!(
                    "the continuation with {name} is not resolved, with an estimate of {:.0e}: if the solution is not the one \
                     wanted, give values between",
                    part.estimate()
                ));
            }
            last = Some(part);
        }
        self.part::<D>(&about(problem, &last), field, open, self.limits)
    }

    /// Grows a network in each slab of time. Without a number of slabs, it is doubled until the first slab is resolved.
    ///
    /// # Errors
    ///
    /// Those of [`part`](Self::part) and [`Problem::slab`].
    pub(super) fn slabs<const D: usize>(&self, problem: &Problem, slabs: TimeSlabs) -> Result<Parts> {
        let Some(count) = slabs.count else {
            let mut best: Option<(f64, usize)> = None;
            let least = if problem.is_linear() { 1 } else { LEAST_SLABS };
            for count in SLABS.into_iter().filter(|count| *count >= least) {
                let work = PROBE * self.limits.work / count as f64;
                let probe = Adaptive { work, grows_on: false, ..self.limits };
                let first = self.slab::<D>(problem, slabs.axis, (0, count), probe, None)?;
                let whole = first.estimate() * count as f64;
                if first.end == End::Resolved {
                    let first = (!self.limits.grows_on).then_some(first);
                    return self.all::<D>(problem, slabs.axis, count, first);
                }
                if best.is_none_or(|(least, _)| whole < least) {
                    best = Some((whole, count));
                }
                // Probes that do not balance or ran out of time gain nothing from more slabs.
                if !matches!(first.end, End::Budget | End::Diverged) {
                    if count == 1 {
                        return self.all::<D>(problem, slabs.axis, count, Some(first));
                    }
                    break;
                }
            }
            return self.all::<D>(problem, slabs.axis, best.map_or(1, |it| it.1), None);
        };
        self.all::<D>(problem, slabs.axis, count, None)
    }

    /// All of `count` slabs, the first of which may be grown already.
    fn all<const D: usize>(&self, problem: &Problem, axis: usize, count: usize, first: Option<Part>) -> Result<Parts> {
        let mut all = Parts { slabs: Vec::new(), parts: Vec::new() };
        let (mut first, mut spent) = (first, 0.0);
        for k in 0..count {
            let part = match first.take() {
                Some(part) => part,
                None => {
                    let (left, slabs) = (self.limits.work - spent, (count - k) as f64);
                    // The slabs after this one are expected to need as much as those before it.
                    let expected = spent / k.max(1) as f64 * (slabs - 1.0);
                    let own = if k == 0 { 0.0 } else { left - expected };
                    let limits = Adaptive { work: own.max(left / slabs), ..self.limits };
                    self.slab::<D>(problem, axis, (k, count), limits, all.parts.last())?
                }
            };
            spent += part.spent;
            let (from, to) = problem.slab_ends(axis, (k, count));
            all.slabs.push(Slab { from, to, neurons: part.neurons(), estimate: part.estimate() });
            all.parts.push(part);
        }
        Ok(all)
    }

    /// Slab k of `count` within `limits`, from the end of the one before.
    fn slab<const D: usize>(
        &self,
        problem: &Problem,
        axis: usize,
        (k, count): (usize, usize),
        limits: Adaptive,
        before: Option<&Part>,
    ) -> Result<Part> {
        let start = before.map(|before| {
            let of = |network: &PiecewiseNetwork| {
                let network = Arc::new(network.clone());
                let other = network.clone();
                let value = move |x: &[f64]| network.evaluate(x).first().copied().unwrap_or(f64::NAN);
                let rate = move |x: &[f64]| other.gradient(x).get(axis).copied().unwrap_or(f64::NAN);
                [Function::given(value), Function::given(rate)]
            };
            before.networks.iter().map(of).collect()
        });
        let ends = problem.slab_ends(axis, (k, count));
        let mut slab = problem.slab(axis, ends, start)?;
        if let Some(before) = before.filter(|_| !problem.is_linear()) {
            // The iteration starts from u at the end of the slab before, and ∂u/∂t there.
            slab = slab.about(state(before.networks.clone(), move |point| point[axis] = ends.0));
        }
        let field = self.context.watched(|| Field::new(&slab, Field::default_side(D)))??;
        let target_error = limits.target_error / count as f64;
        // Where u has decayed, its errors count as much as those before.
        let least_size = before.map_or(0.0, |before| before.scale);
        let limits = Adaptive { target_error, least_size, ..limits };
        self.part::<D>(&slab, &field, leaves_constant(&slab, &field)?, limits)
    }
}

impl From<Part> for Parts {
    fn from(part: Part) -> Self {
        Self { slabs: Vec::new(), parts: vec![part] }
    }
}

impl Parts {
    /// The levels of the part with the largest estimate, the network of all parts for each unknown, and the slabs.
    pub(super) fn joined(self) -> (Vec<Level>, Vec<PiecewiseNetwork>, Vec<Slab>) {
        let worst = self.parts.iter().max_by(|a, b| a.estimate().total_cmp(&b.estimate()));
        let levels = worst.map_or_else(Vec::new, |part| part.levels.clone());
        let unknowns = self.parts.first().map_or(0, |part| part.networks.len());
        let of = |unknown: usize| self.parts.iter().map(|part| part.networks[unknown].clone()).collect();
        (levels, (0..unknowns).map(of).collect(), self.slabs)
    }

    /// Parameters and fits to measured values; empty with slabs of time.
    pub(super) fn found(&self) -> Found {
        self.parts.first().map(|part| part.found.clone()).unwrap_or_default()
    }

    /// The levels of each slab; empty without slabs.
    pub(super) fn slab_levels(&self) -> Vec<Vec<Level>> {
        self.slabs.iter().zip(&self.parts).map(|(_, part)| part.levels.clone()).collect()
    }

    /// The control points of all parts, row-major: inside, and along the boundary and interfaces.
    pub(super) fn control_points(&self) -> [Vec<f64>; 2] {
        [0, 1].map(|kind| self.parts.iter().flat_map(|part| &part.control_points[kind]).copied().collect())
    }

    /// Estimate of the relative L2 error of all parts, at most 1: errors of a slab last to the end of time, and do not grow.
    pub(super) fn estimate(&self) -> f64 {
        if let [part] = &self.parts[..] {
            return part.estimate();
        }
        let (mut error, mut squares, mut sizes) = (0.0, 0.0, 0.0);
        for part in &self.parts {
            error += part.estimate() * part.scale;
            squares += error * error;
            sizes += part.size * part.size;
        }
        let estimate = if squares == 0.0 { 0.0 } else { (squares / sizes).sqrt() };
        if self.parts.iter().any(|part| part.estimate() >= 1.0) || !estimate.is_finite() {
            1.0
        } else {
            estimate.min(1.0)
        }
    }

    /// Reason why the growth ended.
    pub(super) fn end(&self, target_error: f64) -> End {
        if let [part] = &self.parts[..] {
            return part.end;
        }
        let has = |end: End| self.parts.iter().any(|part| part.end == end);
        match self.estimate() <= target_error {
            _ if has(End::Unbalanced) => End::Unbalanced,
            _ if has(End::Diverged) => End::Diverged,
            true => End::Resolved,
            false if has(End::Time) => End::Time,
            false => End::Budget,
        }
    }
}

/// Returns `true` if the conditions of a single unknown that is not measured contain its derivatives only.
pub(super) fn leaves_constant(problem: &Problem, field: &Field) -> Result<bool> {
    if problem.unknowns().len() > 1 || !problem.measurements().is_empty() {
        return Ok(false);
    }
    const CHECKED: usize = 1000;
    let dims = field.dims;
    let some = field.points.chunks_exact(dims).step_by(field.points.len() / (dims * CHECKED) + 1);
    let mut own = vec![Vec::new(); problem.regions().count()];
    some.for_each(|point| own[problem.region_of(point)].extend_from_slice(point));
    let is_value =
        |(argument, of): &(Argument, Coefficient)| argument.derivative == Derivative::Value && *of != Coefficient::Zero;
    let mut has_value = false;
    for (region, points) in own.iter().enumerate() {
        has_value |= problem.terms(region, points)?.0.iter().any(is_value);
    }
    let edge = problem.boundary(&problem.outline()?)?;
    // A boundary that is periodic all around has no rows.
    Ok(!has_value && (edge.value == Coefficient::Zero || edge.is_empty()))
}

#[cfg(test)]
#[path = "growing_tests.rs"]
mod tests;
