//! Gauss–Newton iteration on the weights of a level, for nonlinear equations.

use std::sync::Arc;

use firebox_core::{Error, Result, random::Random};

use super::{
    cells::{Cells, Place},
    engine::Engine,
    level::{Conditions, OpenConstant, Solved, Use},
    operator::{Functionals, Neurons, Operator},
    weighting::Weighting,
};
use crate::{
    problem::{definition::Problem, equation::Argument, non_linear::State},
    types::root_mean,
};

/// Maximum number of linear problems of a level: up to [`SMALL`] neurons, and above.
const STEPS: [usize; 2] = [30, 10];
/// Neurons up to which a level is small.
const SMALL: usize = 600;
/// Change of u at which the iteration ends, relative to the estimated error of the level before.
const SETTLED: f64 = 1e-2;
/// The same, relative to the target error.
const SETTLED_OF_TARGET: f64 = 0.1;
/// Maximum number of halvings of a step.
const HALVINGS: usize = 7;
/// Share of the decrease predicted by the linear problem that an accepted step reaches (Armijo's condition).
const DECREASE: f64 = 1e-4;
/// Residual of a step, relative to that of the linear problem, that is accepted without a decrease.
const NEAR: f64 = 1.1;
/// Lower bound of c in the prediction c·d² of the change by the step after one that changes u by d.
const LEAST_CONTRACTION: f64 = 1.0;

/// The conditions of a level, linearised about the same u: those of the least squares, and held-out ones.
pub(super) type Pair<const D: usize> = [Conditions<D>; 2];

/// The points of a level's conditions, which are the same for all linearisations.
#[derive(Clone)]
pub(super) struct Draw<'a, const D: usize> {
    pub(super) cells: &'a Cells<D>,
    pub(super) weighting: &'a Weighting,
    pub(super) random: Random,
}

impl<const D: usize> Draw<'_, D> {
    /// The conditions of the least squares for an equation, and the random state after them.
    pub(super) fn conditions(&self, problem: &Problem) -> Result<(Conditions<D>, Random)> {
        let mut random = self.random.clone();
        Ok((Conditions::new(problem, self.cells, Use::Weights, self.weighting, &mut random)?, random))
    }

    /// The held-out conditions, from the random state after the others.
    pub(super) fn held_out(&self, problem: &Problem, mut random: Random) -> Result<(Conditions<D>, Random)> {
        Ok((Conditions::new(problem, self.cells, Use::HeldOut, self.weighting, &mut random)?, random))
    }
}

/// The outcome of an iteration.
pub(super) struct Iterated<'s, const D: usize> {
    pub(super) solved: Solved<'s, D>,
    /// The conditions of the last linearisation.
    pub(super) pair: Pair<D>,
    pub(super) iteration: Iteration,
    /// Change of u by the second step over the square of that by the first, if the iteration settled with it.
    pub(super) contraction: Option<f64>,
}

/// Figures of an iteration.
#[derive(Debug, Clone, Copy)]
pub(super) struct Iteration {
    /// Linear problems that were solved.
    pub(super) steps: usize,
    /// Change of u by the last whole step, relative to u.
    pub(super) moved: f64,
    /// This change is small enough.
    pub(super) settled: bool,
}

impl Iteration {
    /// That of a linear equation.
    pub(super) const LINEAR: Self = Self { steps: 1, moved: 0.0, settled: true };
}

/// A network as a state for linearisations.
pub(super) fn state_of<const D: usize>(problem: &Problem, neurons: &Neurons<D>, weights: &[f64]) -> State {
    let (neurons, weights) = (Arc::new(neurons.clone()), weights.to_vec());
    let unknowns = problem.unknowns().len();
    State::new(move |region, points, arguments| {
        let values = |&Argument { unknown, derivative }: &Argument| {
            let block = region * unknowns + unknown;
            let place = |x: &[f64]| Place { point: std::array::from_fn(|i| x[i]), block };
            let places: Vec<Place<D>> = points.chunks_exact(D).map(place).collect();
            Functionals::at(&places, neurons.starts.len() - 1, &Operator::of(derivative)).values(&neurons, &weights)
        };
        arguments.iter().map(values).collect()
    })
}

/// A level of a nonlinear equation.
pub(super) struct Newton<'a, 's, const D: usize> {
    pub(super) problem: &'a Problem,
    /// The problem about the level before.
    pub(super) linear: &'a Problem,
    pub(super) engine: &'s dyn Engine<D>,
    pub(super) open: Option<&'a OpenConstant<D>>,
    pub(super) draw: &'a Draw<'a, D>,
    /// Places at which u is measured.
    pub(super) places: &'a [Place<D>],
    /// Change of u, relative to u, at which the iteration ends.
    pub(super) tolerance: f64,
    /// u of the level before at the places, about which the first problem is linearised.
    pub(super) last: Vec<f64>,
    /// [`Iterated::contraction`] of the level before.
    pub(super) contraction: Option<f64>,
}

/// Change of u at which an iteration ends, relative to u, after a level with an estimated relative error.
pub(super) fn tolerance(before: Option<f64>, target_error: f64) -> f64 {
    (SETTLED * before.unwrap_or(1.0)).max(SETTLED_OF_TARGET * target_error)
}

impl<'s, const D: usize> Newton<'_, 's, D> {
    /// Iterates from the solution `first` of a linear problem and its conditions: each linear problem is about the result of the
    /// previous one, and steps that do not lower the norm of the residuals are shortened. Returns `first` if the quadratic
    /// convergence of the level before predicts a second change within the tolerance.
    ///
    /// # Errors
    ///
    /// Those of the least squares, and of [`Problem::terms`] about `first`.
    pub(super) fn iterate(&self, first: Solved<'s, D>, pair: Pair<D>) -> Result<Iterated<'s, D>> {
        let most = STEPS[usize::from(first.neurons.len() > SMALL)];
        let mut u = self.values(&first.neurons, &first.weights)?;
        let start = if self.last.is_empty() { f64::INFINITY } else { self.change(&self.last, &u) };
        if let Some(moved) = self.contraction.map(|contraction| contraction * start * start)
            && moved <= self.tolerance
        {
            let iteration = Iteration { steps: 1, moved, settled: true };
            return Ok(Iterated { solved: first, pair, iteration, contraction: self.contraction });
        }
        let (mut best, mut conditions, mut random) = match self.about(&first.neurons, &first.weights) {
            Ok((conditions, random)) => (first.weights.clone(), conditions, random),
            // The equation may not be finite there, as the logarithm of a negative u.
            Err(Error::Input { .. }) => {
                let start = pair[0].projection(self.engine, &first.neurons, |places| self.start(places))?;
                let Some(about) = self.step(&pair[0], &start, &first)? else {
                    let solved = first.with_weights(start, &pair[1])?;
                    let iteration = Iteration { steps: 1, moved: f64::INFINITY, settled: false };
                    return Ok(Iterated { solved, pair, iteration, contraction: None });
                };
                u = self.values(&first.neurons, &about.0)?;
                about
            }
            Err(error) => return Err(error),
        };
        let neurons = first.neurons;
        let mut steps = 1;
        loop {
            steps += 1;
            let (held_out, _) =
                self.draw.held_out(&self.problem.about(state_of(self.problem, &neurons, &best)), random)?;
            let pair = [conditions, held_out];
            let solved = Solved::new(self.engine, neurons.clone(), pair.each_ref(), self.open)?;
            let moved = self.change(&u, &self.values(&neurons, &solved.weights)?);
            let iteration = Iteration { steps, moved, settled: moved <= self.tolerance };
            if iteration.settled {
                let is_second = steps == 2 && start.is_finite();
                let contraction = is_second.then(|| LEAST_CONTRACTION.max(moved / (start * start)));
                return Ok(Iterated { solved, pair, iteration, contraction });
            }
            let next = if steps < most && moved.is_finite() { self.step(&pair[0], &best, &solved)? } else { None };
            let Some((weights, about, after)) = next else {
                let solved = solved.with_weights(best, &pair[1])?;
                return Ok(Iterated { solved, pair, iteration, contraction: None });
            };
            (best, conditions, random) = (weights, about, after);
            u = self.values(&neurons, &best)?;
        }
    }

    /// The whole step from `weights` to `solved`, or the largest of its halves that lowers the residual enough, with the
    /// conditions about it; `None` if none does.
    fn step(
        &self,
        conditions: &Conditions<D>,
        weights: &[f64],
        solved: &Solved<'s, D>,
    ) -> Result<Option<(Vec<f64>, Conditions<D>, Random)>> {
        let neurons = &solved.neurons;
        let at = conditions.residual(self.engine, neurons, weights, conditions)?;
        let least = conditions.residual(self.engine, neurons, &solved.weights, conditions)?;
        let mut part = 1.0;
        for _ in 0..=HALVINGS {
            let trial: Vec<f64> =
                weights.iter().zip(&solved.weights).map(|(old, new)| old + part * (new - old)).collect();
            match self.about(neurons, &trial) {
                Ok((about, random)) => {
                    let residual = about.residual(self.engine, neurons, &trial, conditions)?;
                    if residual <= NEAR * least || residual <= at - DECREASE * part * (at - least) {
                        return Ok(Some((trial, about, random)));
                    }
                }
                Err(Error::Input { .. }) => {}
                Err(error) => return Err(error),
            }
            part *= 0.5;
        }
        Ok(None)
    }

    /// Relative change of u; with measured values that of the unknown which changes most.
    fn change(&self, old: &[f64], new: &[f64]) -> f64 {
        if self.problem.measurements().is_empty() {
            return change(old, new, 0.0);
        }
        let unknowns = self.problem.unknowns().len();
        let of = |unknown: usize| {
            let own = |all: &[f64]| -> Vec<f64> {
                let both = all.iter().zip(self.places).filter(|(_, place)| place.block % unknowns == unknown);
                both.map(|(value, _)| *value).collect()
            };
            change(&own(old), &own(new), self.draw.weighting.floors[unknown])
        };
        (0..unknowns).map(of).fold(0.0, |most, own| if own.is_nan() { f64::INFINITY } else { own.max(most) })
    }

    /// u about which the first problem is linearised.
    fn start(&self, places: &[Place<D>]) -> Result<Vec<f64>> {
        let mut u = vec![0.0; places.len()];
        for block in 0..self.problem.blocks().count() {
            let own: Vec<usize> = (0..places.len()).filter(|&i| places[i].block == block).collect();
            let points: Vec<f64> = own.iter().flat_map(|&i| places[i].point).collect();
            let values = self.linear.state_values(block, &points)?;
            own.into_iter().zip(values).for_each(|(i, value)| u[i] = value);
        }
        Ok(u)
    }

    fn about(&self, neurons: &Neurons<D>, weights: &[f64]) -> Result<(Conditions<D>, Random)> {
        self.draw.conditions(&self.problem.about(state_of(self.problem, neurons, weights)))
    }

    /// u at the places.
    fn values(&self, neurons: &Neurons<D>, weights: &[f64]) -> Result<Vec<f64>> {
        let rows = Functionals::at(self.places, neurons.starts.len() - 1, &Operator::VALUE);
        self.engine.values(&rows, neurons, weights)
    }
}

/// Root mean square of the change of u, relative to the new one, or to `least` if that is less.
fn change(old: &[f64], new: &[f64], least: f64) -> f64 {
    let difference: Vec<f64> = new.iter().zip(old).map(|(new, old)| new - old).collect();
    let moved = root_mean(&difference);
    if moved == 0.0 { 0.0 } else { moved / root_mean(new).max(least) }
}
