//! Growth of the network, level by level, until the estimate of its error is small enough.

use firebox_core::{Error, Result, random::Random};
use serde::Serialize;

use super::cells::{Cells, Place, Point, SCATTERED};
use super::level::{Conditions, OpenConstant, Solved};
use super::operator::Operator;
use crate::{
    problem::definition::Problem,
    solve::{accuracy::accuracy, decompositions::failed},
    types::root_mean,
};

/// Stream of [`Random`] of the first level.
const STREAM: u64 = u64::from_be_bytes(*b"rbf-grow");
/// Neurons of the first level, about.
const FIRST: f64 = 81.0;
/// Widths that are tried, in sides of a cell.
const RATIOS: [f64; 4] = [2.2, 3.2, 4.6, 6.6];
/// Neurons up to which all widths are tried; from there on the last one, and its neighbours by this factor.
const ALL_TRIED: usize = 600;
const STEP: f64 = 1.4;
/// Bounds of these.
const NARROWEST: f64 = 1.5;
const WIDEST: f64 = 9.5;
/// Share of the squared held-out residuals of the cells that are bisected.
const MARKED: f64 = 0.85;
/// Share of the cells from which on all are refined instead.
const EVERYWHERE: f64 = 0.3;
/// Growth of the number of cells of such a level.
const GROWTH: f64 = 2.25;
/// Factor of the growth per axis where that changes too few cells.
const MORE: f64 = 1.08;
/// Least growth of the number of neurons that a level is worth.
const LEAST_GROWTH: f64 = 1.25;
/// Factors of the held-out residual, and of its product with the stability constant, in the estimate.
const HELD_OUT: f64 = 3.0;
const STABLE: f64 = 0.01;
/// Least share of another second derivative at which a cell is bisected along an axis too.
const OTHER_AXIS: f64 = 0.25;
/// Factor of the spacing where a level has fewer conditions than neurons.
const THINNER: f64 = 0.7;
/// Halvings of the first spacing for thin domains.
const HALVINGS: usize = 12;
/// Change of the right-hand side from which on conditions do not balance it: in all right-hand sides, and in held-out
/// residuals.
const UNBALANCED: [f64; 2] = [1e-3, 10.0];
/// Every how many points of the grid the stability constant uses.
const STRIDE: usize = 9;

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
    pub(crate) seed: u64,
}

/// Figures of a level.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Level {
    /// Neurons.
    pub neurons: usize,
    /// Conditions at points, inside and along the boundary.
    pub conditions: usize,
    /// a in sides of a cell.
    pub ratio: f64,
    /// Estimate of the relative L2 error, at most 1.
    pub estimate: f64,
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
}

/// Reason why the growth ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// The estimate is small enough.
    Resolved,
    /// The neurons or the work are spent.
    Budget,
    /// The time limit.
    Time,
    /// There is no solution: conditions on derivatives only do not balance the right-hand side.
    Unbalanced,
}

/// A grown network.
pub(crate) struct Adapted<const D: usize> {
    pub(crate) centres: Vec<Point<D>>,
    pub(crate) widths: Vec<Point<D>>,
    pub(crate) weights: Vec<f64>,
    /// The first neuron of each region, and the number of all neurons.
    pub(crate) starts: Vec<usize>,
    pub(crate) levels: Vec<Level>,
    pub(crate) end: End,
    /// Operations of the decompositions.
    pub(crate) spent: f64,
}

/// The places of the domain at which u is measured.
pub(crate) struct Measured<'a, const D: usize> {
    pub(crate) places: &'a [Place<D>],
    /// The exact solution at the places, if it is known.
    pub(crate) exact: Option<&'a [f64]>,
    /// The conditions leave a constant open: the mean at the places is made that of the exact solution, or 0.
    pub(crate) open: bool,
}

/// Cells of the next level: the spacing of the grid, and the sides wanted.
struct Plan<const D: usize> {
    spacing: f64,
    wanted: Option<Cells<D>>,
}

impl Adaptive {
    /// Grows a network for `problem`, measured at places of its domain. `go_on` receives the number of neurons of the
    /// next level. `grown` receives the network of each level, so that it remains if an error, such as that of a time
    /// limit, ends the growth.
    ///
    /// # Errors
    ///
    /// [`Error::Input`] for a domain too thin for cells of this number, [`Error::Run`] if no width has finite weights;
    /// those of the problem's functions, of `go_on`, and of the thread's [`Watch`](firebox_core::watch::Watch).
    pub(crate) fn grow<const D: usize>(
        &self,
        problem: &Problem,
        measured: &Measured<'_, D>,
        go_on: &dyn Fn(usize) -> Result<()>,
        grown: &mut Option<Adapted<D>>,
    ) -> Result<()> {
        let mut plan = Plan { spacing: first_spacing::<D>(problem), wanted: None };
        let (mut work, mut last) = (self.work, Vec::new());
        let some: Vec<Place<D>> = measured.places.iter().step_by(STRIDE).copied().collect();
        let open = measured.open.then(|| {
            let sum = measured.exact.map_or(0.0, |exact| exact.iter().step_by(STRIDE).sum());
            OpenConstant { mean: sum / some.len() as f64, places: some.clone() }
        });
        loop {
            let cells = Cells::new(problem.regions(), plan.spacing, plan.wanted.as_ref());
            let m = cells.len();
            if m > self.max_neurons {
                return if grown.is_some() { Ok(()) } else { Err(thin(m)) };
            }
            go_on(m)?;
            let levels: &[Level] = grown.as_ref().map_or(&[], |grown| &grown.levels);
            let random = &mut Random::new(self.seed, STREAM + levels.len() as u64);
            let conditions = Conditions::new(problem, &cells, false, random)?;
            if conditions.len() < m || conditions.points() == 0 {
                // Most of each cell is outside.
                plan.spacing *= THINNER;
                continue;
            }
            let held_out = Conditions::new(problem, &cells, true, random)?;
            let each = 2.0 * conditions.len() as f64 * (m as f64).powi(2);
            let (mut ratio, others) = ratios(m, levels.last().map(|level| level.ratio));
            let mut solved = Solved::new(&cells, ratio, [&conditions, &held_out], open.as_ref())?;
            work -= each;
            for other in others {
                if work < each {
                    break;
                }
                let found = Solved::new(&cells, other, [&conditions, &held_out], open.as_ref())?;
                work -= each;
                if found.residual() < solved.residual() {
                    (ratio, solved) = (other, found);
                }
            }
            if !solved.residual().is_finite() {
                return Err(failed("the weights or residuals of the network are not finite; check the problem's data"));
            }
            let values = solved.evaluate(Operator::VALUE, measured.places)?;
            let size = root_mean(&values).max(self.least_size);
            // Where u = 0 fulfils all conditions, nothing is divided by 0.
            let relative = |part: f64| if part == 0.0 { 0.0 } else { part / size };
            let difference: Vec<f64> = values.iter().zip(&last).map(|(u, v)| u - v).collect();
            let change = if last.is_empty() { f64::INFINITY } else { relative(root_mean(&difference)) };
            let at_points: f64 = solved.residuals[..held_out.points()].iter().map(|r| r * r).sum();
            let stability = solved.stability(&some, random)?;
            let held = relative(at_points.sqrt());
            let bound = STABLE * stability * relative(solved.residual());
            let parts = [change, HELD_OUT * held, bound];
            // NaN and infinities are no estimate; above 1 it says no more than that.
            let estimate =
                if parts.iter().all(|part| *part < 1.0) { parts.into_iter().fold(0.0, f64::max) } else { 1.0 };
            let level = Level {
                neurons: m,
                conditions: conditions.points(),
                ratio,
                estimate,
                held_out: held,
                stability,
                change,
                condition: solved.condition()?,
                error: measured.exact.map(|exact| accuracy(&values, exact).relative_l2),
            };
            let affordable = (m as f64 * (work.max(0.0) / each).cbrt()).min(self.max_neurons as f64);
            let unbalanced = solved.balance > UNBALANCED[0] && solved.balance > UNBALANCED[1] * solved.unmet;
            let is_last = unbalanced || estimate <= self.target_error || affordable < LEAST_GROWTH * m as f64;
            if !is_last {
                plan = next(problem, &plan, &cells, (&solved, &held_out), affordable)?;
            }
            last = values;
            let levels = levels.iter().copied().chain([level]).collect();
            let end = match estimate <= self.target_error {
                _ if unbalanced => End::Unbalanced,
                true => End::Resolved,
                false => End::Budget,
            };
            let Solved { centres, widths, weights, starts, .. } = solved;
            *grown = Some(Adapted { centres, widths, weights, starts, levels, end, spent: self.work - work });
            if is_last {
                return Ok(());
            }
        }
    }
}

/// Spacing of a grid whose cells in and around the domain are about [`FIRST`], whatever share of its box it fills; more
/// with more than two regions.
fn first_spacing<const D: usize>(problem: &Problem) -> f64 {
    let first = FIRST * (problem.regions().count() - 1).max(1) as f64;
    let (low, high) = problem.domain().bounds();
    let volume: f64 = (0..D).map(|i| high[i] - low[i]).product();
    let mut spacing = (volume / first).powf(1.0 / D as f64);
    for _ in 0..HALVINGS {
        let count = Cells::<D>::new(problem.regions(), spacing, None).len() as f64;
        if count >= 0.5 * first {
            return spacing * (count / first).powf(1.0 / D as f64);
        }
        // Some cells of a thin domain may have been missed.
        spacing *= 0.5;
    }
    spacing
}

fn thin(cells: usize) -> Error {
    let what = format!("the domain needs at least {cells} neurons to cover it");
    Error::input(what, "raise `max_neurons`, or give `mode = paper`")
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

/// Cells of the next level: those with most of the squared held-out residuals are bisected, or if these are many, all
/// are made smaller.
fn next<const D: usize>(
    problem: &Problem,
    plan: &Plan<D>,
    cells: &Cells<D>,
    (solved, held_out): (&Solved<D>, &Conditions<D>),
    affordable: f64,
) -> Result<Plan<D>> {
    let m = cells.len();
    let mut shares = vec![0.0; m];
    held_out.cells().for_each(|(row, cell)| shares[cell] += solved.residuals[row].powi(2));
    let mut order: Vec<usize> = (0..m).collect();
    order.sort_by(|&a, &b| shares[b].total_cmp(&shares[a]).then(a.cmp(&b)));
    let total: f64 = shares.iter().sum();
    let mut sum = 0.0;
    let marked = order.iter().take_while(|&&cell| {
        let open = sum < MARKED * total;
        sum += shares[cell];
        open
    });
    let marked = marked.count();
    if D >= SCATTERED || marked as f64 > EVERYWHERE * m as f64 {
        let mut growth = GROWTH.min(0.94 * affordable / m as f64).powf(1.0 / D as f64);
        // Few cells per axis may not become one more.
        loop {
            let wanted = plan.wanted.as_ref().map(|_| cells.scaled(|_| [growth.recip(); D]));
            let finer = Plan { spacing: plan.spacing / growth, wanted };
            let count = Cells::new(problem.regions(), finer.spacing, finer.wanted.as_ref()).len();
            if D == 2 || count as f64 >= LEAST_GROWTH * m as f64 {
                return Ok(finer);
            }
            growth *= MORE;
        }
    }
    let most = ((affordable - m as f64) / (0.55 * (1 << D) as f64)) as usize;
    let count = marked.max(m / 10).min(most).max(4).min(m);
    let mut chosen = vec![false; m];
    order[..count].iter().for_each(|&cell| chosen[cell] = true);
    let centres = cells.places();
    let bends: Vec<Vec<f64>> = (0..D)
        .map(|axis| {
            let seconds = solved.evaluate(Operator::second(axis), &centres)?;
            Ok(seconds.iter().zip(&cells.sides).map(|(u, sides)| (u * sides[axis] * sides[axis]).abs()).collect())
        })
        .collect::<Result<_>>()?;
    let halved = |cell: usize| -> Point<D> {
        std::array::from_fn(|axis| {
            let most = (0..D).map(|other| bends[other][cell]).fold(0.0, f64::max);
            let bent = bends[axis][cell] > OTHER_AXIS * most;
            if chosen[cell] && bent { 0.5 } else { 1.0 }
        })
    };
    Ok(Plan { spacing: plan.spacing, wanted: Some(cells.scaled(halved)) })
}
