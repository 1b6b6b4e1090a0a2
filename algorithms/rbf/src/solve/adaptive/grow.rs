//! Growth of the network, level by level, until the estimate of its error is small enough.

use std::cell::Cell;

use firebox_core::{Error, Result, random::Random};

use super::{
    cells::{Cells, Place, Point, SCATTERED},
    engine::Engine,
    first::first_spacing,
    growth::{Adapted, Adaptive, Drawn, Growth, LEAST_GROWTH, Measured, RATIOS, STRIDE, work_of},
    level::{Conditions, LARGE, OpenConstant, Solved, Use},
    newton::{Draw, Iteration, Newton, state_of, tolerance},
    operator::{Neurons, Operator},
    training::train,
    weighting::Weighting,
};
use crate::problem::definition::Problem;

/// Stream of [`Random`] of the first level.
const STREAM: u64 = u64::from_be_bytes(*b"rbf-grow");
/// Share of the squared held-out residuals of the cells that are bisected.
const MARKED: f64 = 0.85;
/// Least share of the cells that is bisected, and in large levels, where a level more costs as much as all before it.
const LEAST_BISECTED: f64 = 0.1;
const LEAST_BISECTED_OF_LARGE: f64 = 0.2;
/// Share of the cells from which on all are refined instead.
const EVERYWHERE: f64 = 0.3;
/// Growth of the number of cells of such a level.
const GROWTH: f64 = 2.25;
/// Factor of the growth per axis where that changes too few cells.
const MORE: f64 = 1.08;
/// Factors of the growth per axis, and of the number of bisected cells, where a level would have too many cells.
const LESS: f64 = 0.98;
const FEWER: f64 = 0.8;
/// Least share of another second derivative at which a cell is bisected along an axis too.
const OTHER_AXIS: f64 = 0.25;
/// Factor of the spacing where a level has fewer conditions than neurons.
const THINNER: f64 = 0.7;
/// Share of the work that training may spend.
const TRAINING: f64 = 0.02;
/// Share of the right-hand sides in held-out residuals from which on the centres and widths of the first level are trained.
const UNMET: f64 = 1e-3;

/// Cells of a level, with the spacing of the grid and the sides wanted that they are made of.
struct Plan<const D: usize> {
    spacing: Point<D>,
    wanted: Option<Cells<D>>,
    cells: Cells<D>,
}

impl<const D: usize> Plan<D> {
    fn new(problem: &Problem, spacing: Point<D>, wanted: Option<Cells<D>>) -> Self {
        let cells = Cells::new(problem.blocks(), &spacing, wanted.as_ref());
        Self { spacing, wanted, cells }
    }
}

impl Adaptive {
    /// Grows a network for `problem` with least squares by `engine`, measured at places of its domain. `go_on` receives
    /// the number of neurons of the next level. `grown` receives the network of each level, so that it remains if an
    /// error, such as that of a time limit, ends the growth.
    ///
    /// # Errors
    ///
    /// [`Error::Input`] for a domain too thin for cells of this number, [`Error::Run`] if no width has finite weights;
    /// those of the problem's functions, of `go_on`, of `engine`, and of the thread's
    /// [`Watch`](firebox_core::watch::Watch).
    pub(crate) fn grow<const D: usize>(
        &self,
        problem: &Problem,
        engine: &dyn Engine<D>,
        measured: &Measured<'_, D>,
        go_on: &dyn Fn(usize) -> Result<()>,
        grown: &mut Option<Adapted<D>>,
    ) -> Result<()> {
        let mut plan = Plan::new(problem, first_spacing(problem)?, None);
        let some: Vec<Place<D>> = measured.places.iter().step_by(STRIDE).copied().collect();
        let open = measured.open.then(|| {
            let sum = measured.exact.map_or(0.0, |exact| exact.iter().step_by(STRIDE).sum());
            OpenConstant { mean: sum / some.len() as f64, places: some.clone() }
        });
        let is_linear = problem.is_linear();
        let (unknowns, solutions) = (problem.unknowns().len(), problem.solutions());
        let mut growth = Growth {
            limits: *self,
            measured,
            is_linear,
            unknowns,
            solutions,
            some,
            spent: 0.0,
            last: Vec::new(),
            grown,
        };
        let mut weighting = Weighting::first(problem, &growth.some)?;
        // Trained neurons, which all further levels contain too.
        let mut kept: Option<Neurons<D>> = None;
        // The problem linearised about the solution of the level before, and the contraction of that level's iteration.
        let (mut linear, mut contraction) = (problem.clone(), None);
        loop {
            let depth = growth.levels().len();
            let cells = &plan.cells;
            let m = cells.len() + kept.as_ref().map_or(0, Neurons::len);
            // Nothing is bisected where u and all residuals are 0; the second level has an estimate, which the first has not.
            let stays = self.grows_on && depth > 1 && growth.levels().last().is_some_and(|level| m <= level.neurons);
            if m > self.max_neurons || stays {
                return if growth.grown.is_some() { Ok(()) } else { Err(self.thin(m)) };
            }
            go_on(m)?;
            let draw = Draw { cells, weighting: &weighting, random: Random::new(self.seed, STREAM + depth as u64) };
            let (mut conditions, random) = match draw.conditions(&linear) {
                // The equation is not finite for the last level.
                Err(Error::Input { .. }) if !is_linear && growth.diverged() => return Ok(()),
                found => found?,
            };
            if conditions.len() < m || conditions.points() == 0 {
                // Most of each cell is outside.
                plan = Plan::new(problem, plan.spacing.map(|side| THINNER * side), plan.wanted);
                continue;
            }
            let (mut held_out, mut random) = draw.held_out(&linear, random)?;
            let fitted = |ratio: f64| {
                let neurons = Neurons::new(cells, ratio, kept.as_ref());
                Solved::new(engine, neurons, [&conditions, &held_out], open.as_ref())
            };
            let (ratio, mut solved) = growth.best_width(m, work_of(&conditions, m), &fitted)?;
            let mut iteration = Iteration::LINEAR;
            if !is_linear {
                let before = growth.levels().last().map(|level| level.estimate);
                let newton = Newton {
                    problem,
                    linear: &linear,
                    engine,
                    open: open.as_ref(),
                    draw: &draw,
                    places: &growth.some,
                    tolerance: tolerance(before, self.target_error),
                    last: growth.last.iter().step_by(STRIDE).copied().collect(),
                    contraction,
                };
                let found = match newton.iterate(solved, [conditions, held_out]) {
                    Err(Error::Input { .. }) if growth.diverged() => return Ok(()),
                    found => found?,
                };
                linear = problem.about(state_of(problem, &found.solved.neurons, &found.solved.weights));
                (solved, iteration, contraction) = (found.solved, found.iteration, found.contraction);
                [conditions, held_out] = found.pair;
                growth.spent += (iteration.steps - 1) as f64 * work_of(&conditions, m);
            }
            let random = &mut random;
            let found = weighting.found(problem, &solved, random)?;
            let noise = weighting.error(problem, (&solved, &found), &growth.some, random)?;
            let drawn = Drawn {
                conditions: &conditions,
                held_out: &held_out,
                ratio,
                trained: false,
                iteration,
                noise,
                floors: &weighting.floors,
                found: &found,
            };
            let mut affordable = growth.record(&solved, &drawn, random)?;
            let is_one = is_linear && problem.unknowns().len() == 1 && problem.measurements().is_empty();
            let trains = depth == 0 && is_one && open.is_none() && self.ratio.is_none() && solved.unmet > UNMET;
            if affordable.is_some() && trains {
                let conditions = Conditions::new(problem, cells, Use::Training, &weighting, random)?;
                let narrow = Neurons::new(cells, RATIOS[0], None);
                let trained = train(&conditions, &narrow, extent(problem), TRAINING * self.work)?;
                growth.spent += trained.work;
                if let Some(neurons) = trained.neurons {
                    let found = Solved::new(engine, neurons, [&conditions, &held_out], None)?;
                    growth.spent += work_of(&conditions, m);
                    if found.residual() < solved.residual() {
                        let drawn = Drawn { conditions: &conditions, trained: true, ..drawn };
                        affordable = growth.record(&found, &drawn, random)?;
                        kept = Some(found.neurons.clone());
                        solved = found;
                    }
                }
            }
            let Some(affordable) = affordable else { return Ok(()) };
            let beside = kept.as_ref().map_or(0, Neurons::len);
            let cells_affordable = affordable - beside as f64;
            if cells_affordable < LEAST_GROWTH * cells.len() as f64 {
                return Ok(());
            }
            // Elsewhere the work ends the growth, and fewer cells than are due gain little.
            let is_bounded = self.grows_on || m > LARGE;
            let most = if is_bounded { self.max_neurons.saturating_sub(beside) } else { usize::MAX };
            let of_next = {
                let spent = Cell::new(0.0);
                let refit = |weighting: &Weighting| {
                    spent.set(spent.get() + work_of(&conditions, m));
                    let (conditions, _) = Draw { weighting, ..draw.clone() }.conditions(&linear)?;
                    Solved::new(engine, solved.neurons.clone(), [&conditions, &held_out], open.as_ref())
                };
                let next = weighting.after(problem, (&solved, &found), &growth.some, &refit, random)?;
                growth.spent += spent.get();
                next
            };
            plan = next(problem, &plan, (&solved, &held_out), (cells_affordable, most))?;
            weighting = of_next;
        }
    }
}

impl Adaptive {
    fn thin(&self, cells: usize) -> Error {
        let what = format!("the domain needs at least {cells} neurons to cover it");
        let option = if self.grows_on { "neurons" } else { "max_neurons" };
        Error::input(what, format!("raise `{option}`, or give `mode = paper`"))
    }
}

/// The longest side of the domain's box.
fn extent(problem: &Problem) -> f64 {
    let (low, high) = problem.domain().bounds();
    low.iter().zip(high).map(|(low, high)| high - low).fold(0.0, f64::max)
}

/// Cells of the next level, about as many as are `affordable`, and not more than `most` unless bisecting four passes that:
/// those with most of the squared held-out residuals are bisected, or if these are many, all are made smaller.
fn next<const D: usize>(
    problem: &Problem,
    plan: &Plan<D>,
    (solved, held_out): (&Solved<'_, D>, &Conditions<D>),
    (affordable, most): (f64, usize),
) -> Result<Plan<D>> {
    let m = plan.cells.len();
    let mut shares = vec![0.0; m];
    held_out.cells().for_each(|(row, cell)| shares[cell] += solved.residuals[row].powi(2));
    numbers(problem, &plan.cells).for_each(|cell| shares[cell] = 0.0);
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
    let bends = if D >= SCATTERED { Vec::new() } else { bends(problem, solved, &plan.cells)? };
    if (D >= SCATTERED || marked as f64 > EVERYWHERE * m as f64)
        && let Some(smaller) = smaller(problem, plan, &bends, (affordable, most))
    {
        return Ok(smaller);
    }
    let most_bisected = ((affordable - m as f64) / (0.55 * (1 << D) as f64)) as usize;
    let least = if m > LARGE { LEAST_BISECTED_OF_LARGE } else { LEAST_BISECTED };
    let count = marked.max((least * m as f64) as usize).min(most_bisected).max(4).min(m);
    bisected(problem, plan, &bends, &order[..count], most)
}

/// The cells of numbers, which have one each.
fn numbers<const D: usize>(problem: &Problem, cells: &Cells<D>) -> impl Iterator<Item = usize> {
    problem.blocks().zip(&cells.starts).filter(|(block, _)| block.is_number()).map(|(_, first)| *first)
}

/// Curvature of u in each cell along each axis, |∂²u/∂x²| times the square of the side; 0 along axes on which u does not depend.
fn bends<const D: usize>(problem: &Problem, solved: &Solved<'_, D>, cells: &Cells<D>) -> Result<Vec<Point<D>>> {
    let places = cells.places();
    let mut bends = vec![[0.0; D]; cells.len()];
    for axis in 0..D {
        let seconds = solved.evaluate(Operator::second(axis), &places)?;
        for (bends, (second, sides)) in bends.iter_mut().zip(seconds.iter().zip(&cells.sides)) {
            bends[axis] = (second * sides[axis] * sides[axis]).abs();
        }
    }
    for (block, ends) in problem.blocks().zip(cells.starts.windows(2)) {
        let varying: Point<D> = std::array::from_fn(|axis| if block.constant[axis] { 0.0 } else { 1.0 });
        let own = bends[ends[0]..ends[1]].iter_mut();
        own.for_each(|bends| *bends = std::array::from_fn(|axis| varying[axis] * bends[axis]));
    }
    Ok(bends)
}

/// The axes along which u bends at least a share of the most.
fn bent<const D: usize>(bends: &Point<D>) -> [bool; D] {
    let largest = bends.iter().fold(0.0, |most, bend| bend.max(most));
    bends.map(|bend| bend > OTHER_AXIS * largest)
}

/// The axes along which u of some block bends, by the sums over its cells with their centres inside; all if none does.
fn bent_axes<const D: usize>(problem: &Problem, cells: &Cells<D>, bends: &[Point<D>]) -> [bool; D] {
    let mut axes = [false; D];
    for (block, ends) in problem.blocks().zip(cells.starts.windows(2)) {
        let inside = (ends[0]..ends[1]).filter(|&cell| block.domain.signed_distance(&cells.centres[cell]) <= 0.0);
        let whole = inside.fold([0.0; D], |sum, cell| std::array::from_fn(|axis| sum[axis] + bends[cell][axis]));
        axes = std::array::from_fn(|axis| axes[axis] || bent(&whole)[axis]);
    }
    if axes == [false; D] { [true; D] } else { axes }
}

/// A plan with all cells smaller along the axes in which u bends; `None` if that takes more than `most`.
fn smaller<const D: usize>(
    problem: &Problem,
    plan: &Plan<D>,
    bends: &[Point<D>],
    (affordable, most): (f64, usize),
) -> Option<Plan<D>> {
    let m = plan.cells.len();
    let axes = if D >= SCATTERED { [true; D] } else { bent_axes(problem, &plan.cells, bends) };
    let count = axes.iter().filter(|is_bent| **is_bent).count().max(1);
    let mut growth = GROWTH.min(0.94 * affordable / m as f64).powf(1.0 / count as f64);
    let by = |growth: f64| {
        let factors = axes.map(|is_bent| if is_bent { growth.recip() } else { 1.0 });
        let wanted = plan.wanted.as_ref().map(|_| plan.cells.scaled(|_| factors));
        Plan::new(problem, std::array::from_fn(|axis| factors[axis] * plan.spacing[axis]), wanted)
    };
    let mut finer = by(growth);
    // Few cells per axis may not become one more.
    while (D != 2 || count < D) && (finer.cells.len() as f64) < LEAST_GROWTH * m as f64 {
        growth *= MORE;
        finer = by(growth);
    }
    let fits = finer.cells.len() <= most;
    while finer.cells.len() > most && growth > 1.0 {
        growth *= LESS;
        finer = by(growth);
    }
    // Cells that were bisected may all be bisected again at once.
    (fits || finer.cells.len() > m || D >= SCATTERED).then_some(finer)
}

/// A plan with `chosen` cells bisected along the axes in which u bends most, or with the first of them until there are at
/// most `most` cells.
fn bisected<const D: usize>(
    problem: &Problem,
    plan: &Plan<D>,
    bends: &[Point<D>],
    mut chosen: &[usize],
    most: usize,
) -> Result<Plan<D>> {
    let cells = &plan.cells;
    loop {
        let mut is_chosen = vec![false; cells.len()];
        chosen.iter().for_each(|&cell| is_chosen[cell] = true);
        let halved = |cell: usize| -> Point<D> {
            bent(&bends[cell]).map(|is_bent| if is_chosen[cell] && is_bent { 0.5 } else { 1.0 })
        };
        let finer = Plan::new(problem, plan.spacing, Some(cells.scaled(halved)));
        let fewer = (FEWER * chosen.len() as f64) as usize;
        if fewer < 4 || finer.cells.len() <= most {
            return Ok(finer);
        }
        chosen = &chosen[..fewer];
    }
}
