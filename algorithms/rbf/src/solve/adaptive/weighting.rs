//! Weights of measured values and of weak conditions on coefficients, and the errors that noise leaves.
//!
//! With conditions A·w = b in units in which the noise of measured values is `unit`, the covariance of w is at most
//! unit²·(AᵀA)⁻¹: that of Bayes' theorem for normal noise, equations that hold almost exactly, and priors by which a
//! coefficient is some multiples of its size (A. M. Stuart, Acta Numerica 19, 2010).

use firebox_core::{Result, random::Random};
use serde::Serialize;

use super::{
    cells::Place,
    level::Solved,
    operator::{Functionals, Operator},
};
use crate::{
    problem::{
        definition::Problem,
        unknown::{Measurements, Role},
    },
    types::root_mean,
};

/// Noise that is assumed first, relative to the values, if it is not given.
const FIRST_NOISE: f64 = 1e-2;
/// Least noise, relative to the values.
const LEAST_NOISE: f64 = 1e-9;
/// Relative noise up to which measured values weigh as much as boundary conditions; with more, their weight falls with it so
/// that equations do not bend to the noise.
const EXACT: f64 = 1e-4;
/// Least weight of measured values, relative to boundary conditions.
const LEAST_WEIGHT: f64 = 1e-3;
/// The same on the first level: the iteration is slow where equations weigh far more than values.
const LEAST_FIRST_WEIGHT: f64 = 0.1;
/// Standard deviation of the prior of a coefficient's value, in multiples of its size.
const VALUES: f64 = 1e3;
/// First standard deviation of the prior of second derivatives, in multiples of the unknown's size over the domain's sides
/// squared.
const FIRST_CURVATURE: f64 = 10.0;
/// Bounds of it.
const CURVATURES: [f64; 2] = [0.1, 1e3];
/// Factors of it that are tried after each level.
const FACTORS: [f64; 4] = [0.1, 0.316, 3.16, 10.0];
/// Times that they are tried.
const ROUNDS: usize = 2;
/// Neurons up to which they are tried.
const FEW: usize = 1000;
/// Difference of scores, in degrees of freedom, below which the smoother fit is taken.
const MARGIN: f64 = 0.25;
/// Random vectors by which a trace is estimated.
const PROBES: usize = 16;
/// Maximum number of measured values of a set by which its noise is estimated.
const SOME: usize = 4000;

/// Factors of the weak conditions on a coefficient: on its value, and on its second derivatives.
#[derive(Debug, Clone, Copy)]
pub(super) struct Prior {
    pub(super) value: f64,
    pub(super) curvature: f64,
}

/// Factors of conditions of a problem with measured values.
#[derive(Debug, Clone)]
pub(super) struct Weighting {
    /// Of the values of each set.
    pub(super) values: Vec<f64>,
    /// Of each unknown's weak conditions.
    pub(super) priors: Vec<Prior>,
    /// Standard deviation of each set's noise.
    noise: Vec<f64>,
    /// Standard deviation of the prior of second derivatives of each unknown that has one, in multiples of its size over the
    /// domain's sides squared.
    curvatures: Vec<Option<f64>>,
    /// Standard deviation of the noise in conditions with these factors.
    unit: f64,
}

/// Coefficients that are numbers, and the noise of measured values.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Found {
    /// The parameters, in their order.
    pub parameters: Vec<Estimated>,
    /// Each set of measured values.
    pub fits: Vec<Fit>,
}

/// A number with its error.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Estimated {
    /// The number.
    pub value: f64,
    /// Standard deviation of its error by the noise of measured values.
    pub standard_error: f64,
}

/// A set of measured values beside the solution.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Fit {
    /// Standard deviation of the noise, as given or estimated.
    pub noise: f64,
    /// Root mean square of the solution minus the values.
    pub misfit: f64,
}

impl Weighting {
    /// The factors before the first level.
    ///
    /// # Errors
    ///
    /// Those of a field's start.
    pub(super) fn first<const D: usize>(problem: &Problem, places: &[Place<D>]) -> Result<Self> {
        let noise = problem.measurements().iter().map(|of| of.noise.unwrap_or(FIRST_NOISE * root_mean(&of.values)));
        let size = |(unknown, role): (usize, &Role)| match role {
            Role::Solution => Ok(1.0),
            Role::Parameter { start } => Ok(start.abs()),
            Role::Field { start } => {
                let points: Vec<f64> = own(problem, places, unknown).iter().flat_map(|place| place.point).collect();
                Ok(root_mean(&start.values(&points, D)?))
            }
        };
        let sizes = problem.roles().iter().enumerate().map(size).collect::<Result<Vec<_>>>()?;
        // Boundary conditions and equations determine the other solutions.
        let is_measured = |unknown: usize| problem.measurements().iter().any(|of| of.unknown == unknown);
        let curvature = |(unknown, role): (usize, &Role)| match role {
            Role::Field { .. } => Some(FIRST_CURVATURE),
            Role::Solution if is_measured(unknown) && !problem.is_bounded(unknown) => Some(FIRST_CURVATURE),
            _ => None,
        };
        let curvatures: Vec<_> = problem.roles().iter().enumerate().map(curvature).collect();
        Ok(Self::of(problem, noise.collect(), &sizes, curvatures, LEAST_FIRST_WEIGHT))
    }

    /// The factors for the noise of each set of values, and the size and the relative curvature of each unknown, with a least
    /// weight of values.
    fn of(problem: &Problem, noise: Vec<f64>, sizes: &[f64], curvatures: Vec<Option<f64>>, least_weight: f64) -> Self {
        let all = problem.measurements();
        let total = all.iter().map(|of| of.values.len()).sum::<usize>().max(1) as f64;
        let unit = |(of, &noise): (&Measurements, &f64)| {
            let weight = (EXACT * size_of(of) / least(of, noise)).min(1.0).max(least_weight);
            least(of, noise) * weight / total.sqrt()
        };
        let unit = all.iter().zip(&noise).map(unit).fold(f64::INFINITY, f64::min);
        let prior = |(&size, curvature): (&f64, &Option<f64>)| {
            let size = if size > 0.0 && size.is_finite() { size } else { 1.0 };
            Prior { value: unit / (VALUES * size), curvature: curvature.map_or(0.0, |most| unit / (most * size)) }
        };
        let values = all.iter().zip(&noise).map(|(of, &noise)| unit / least(of, noise)).collect();
        let priors = sizes.iter().zip(&curvatures).map(prior).collect();
        Self { values, priors, noise, curvatures, unit }
    }

    /// The factors after a level, whose solution fits the values. Where noise is not given, it is the misfit, corrected for
    /// the degrees of freedom that the fit takes from the values. Of some priors of second derivatives, with which `refit`
    /// solves the level's linear problem again, that is taken with which values are predicted best (C. L. Mallows,
    /// Technometrics 15, 1973), or a smoother one that is nearly as good.
    pub(super) fn after<'s, const D: usize>(
        &self,
        problem: &Problem,
        (solved, found): (&Solved<'_, D>, &Found),
        places: &[Place<D>],
        refit: &dyn Fn(&Self) -> Result<Solved<'s, D>>,
        random: &mut Random,
    ) -> Result<Self> {
        let mut noise = self.noise.clone();
        for (k, of) in problem.measurements().iter().enumerate().filter(|(_, of)| of.noise.is_none()) {
            let n = of.values.len() as f64;
            let free = (n - self.taken(problem, solved, k, random)?).max(1.0);
            noise[k] = found.fits[k].misfit * (n / free).sqrt();
        }
        let size = |unknown: usize| {
            let own = own(problem, places, unknown);
            Ok(root_mean(&solved.evaluate(Operator::VALUE, &own)?))
        };
        let sizes = (0..problem.unknowns().len()).map(size).collect::<Result<Vec<_>>>()?;
        let mut curvatures = self.curvatures.clone();
        let with =
            |curvatures: &[Option<f64>]| Self::of(problem, noise.clone(), &sizes, curvatures.to_vec(), LEAST_WEIGHT);
        let is_noisy = problem.measurements().iter().zip(&noise).any(|(of, &noise)| noise > EXACT * size_of(of));
        if is_noisy && solved.neurons.len() <= FEW {
            // The same random vectors, so that differences of scores are accurate.
            let probes = random.clone();
            let score = |curvatures: &[Option<f64>]| {
                let weighting = with(curvatures);
                weighting.score(problem, &refit(&weighting)?, &mut probes.clone())
            };
            let smooth = (0..curvatures.len()).filter(|&unknown| self.curvatures[unknown].is_some());
            let smooth: Vec<usize> = smooth.collect();
            for unknown in std::iter::repeat_n(smooth, ROUNDS).flatten() {
                let of = |factor: f64| {
                    let mut tried = curvatures.clone();
                    tried[unknown] = tried[unknown].map(|most| factor * most);
                    Ok((factor, score(&tried)?))
                };
                let scores = FACTORS.into_iter().chain([1.0]).map(of).collect::<Result<Vec<_>>>()?;
                let best = scores.iter().map(|it| it.1).fold(f64::INFINITY, f64::min);
                let good = scores.into_iter().filter(|(_, score)| *score <= best + MARGIN).map(|it| it.0);
                let factor = good.fold(f64::INFINITY, f64::min);
                curvatures[unknown] = curvatures[unknown].map(|most| {
                    let factor = if factor.is_finite() { factor } else { 1.0 };
                    (factor * most).clamp(CURVATURES[0], CURVATURES[1])
                });
            }
        }
        Ok(with(&curvatures))
    }

    /// Mallows's statistic: the squared misfits over those of the noise, and twice the degrees of freedom that the fit takes.
    fn score<const D: usize>(&self, problem: &Problem, solved: &Solved<'_, D>, random: &mut Random) -> Result<f64> {
        let mut score = 0.0;
        for (k, (of, fit)) in problem.measurements().iter().zip(self.found(problem, solved)?.fits).enumerate() {
            let relative = fit.misfit / least(of, self.noise[k]);
            score += of.values.len() as f64 * relative * relative + 2.0 * self.taken(problem, solved, k, random)?;
        }
        Ok(score)
    }

    /// Degrees of freedom that a fit takes from a set of values: the trace of the matrix that maps values to fitted ones.
    fn taken<const D: usize>(
        &self,
        problem: &Problem,
        solved: &Solved<'_, D>,
        set: usize,
        random: &mut Random,
    ) -> Result<f64> {
        let at = places_of::<D>(problem, &problem.measurements()[set]);
        let some: Vec<Place<D>> = at.iter().step_by(at.len() / SOME + 1).copied().collect();
        let share = at.len() as f64 / some.len() as f64;
        Ok(share * solved.trace(&rows(&some, solved, self.values[set]), PROBES, random)?)
    }

    /// The coefficients that are numbers, and the fits.
    pub(super) fn found<const D: usize>(&self, problem: &Problem, solved: &Solved<'_, D>) -> Result<Found> {
        let mut found = Found::default();
        for (of, &noise) in problem.measurements().iter().zip(&self.noise) {
            let mut values = solved.evaluate(Operator::VALUE, &places_of::<D>(problem, of))?;
            values.iter_mut().zip(of.values.iter()).for_each(|(found, value)| *found -= value);
            found.fits.push(Fit { noise, misfit: root_mean(&values) });
        }
        for block in problem.function_names().len()..problem.unknowns().len() {
            let place = Place { point: solved.neurons.centres[solved.neurons.starts[block]], block };
            let value = solved.evaluate(Operator::VALUE, &[place])?.first().copied().unwrap_or(f64::NAN);
            let variance = solved.variance_of(&rows(&[place], solved, 1.0))?;
            found.parameters.push(Estimated { value, standard_error: self.unit * variance.sqrt() });
        }
        Ok(found)
    }

    /// Root mean square at places of the error that noise leaves, relative to the unknown: that of the unknown where it is
    /// largest.
    pub(super) fn error<const D: usize>(
        &self,
        problem: &Problem,
        solved: &Solved<'_, D>,
        places: &[Place<D>],
        random: &mut Random,
    ) -> Result<f64> {
        if self.values.is_empty() {
            return Ok(0.0);
        }
        let mut largest = 0.0_f64;
        for unknown in 0..problem.unknowns().len() {
            let own = own(problem, places, unknown);
            let size = root_mean(&solved.evaluate(Operator::VALUE, &own)?);
            let rows = rows(&own, solved, (own.len() as f64).sqrt().recip());
            let relative = self.unit * solved.trace(&rows, PROBES, random)?.sqrt() / size;
            largest = if relative.is_nan() { f64::INFINITY } else { largest.max(relative) };
        }
        Ok(largest)
    }
}

/// The noise of values, at least [`LEAST_NOISE`] of their size.
fn least(of: &Measurements, noise: f64) -> f64 {
    noise.max(LEAST_NOISE * size_of(of))
}

/// The root mean square of values; 1 if they are 0.
fn size_of(of: &Measurements) -> f64 {
    let size = root_mean(&of.values);
    if size > 0.0 { size } else { 1.0 }
}

/// The places of an unknown.
fn own<const D: usize>(problem: &Problem, places: &[Place<D>], unknown: usize) -> Vec<Place<D>> {
    places.iter().filter(|place| place.block % problem.unknowns().len() == unknown).copied().collect()
}

fn places_of<const D: usize>(problem: &Problem, of: &Measurements) -> Vec<Place<D>> {
    let place = |at: &[f64]| Place {
        point: std::array::from_fn(|i| at[i]),
        block: problem.block(problem.region_of(at), of.unknown),
    };
    of.points.chunks_exact(D).map(place).collect()
}

/// The values at places, times a factor.
fn rows<const D: usize>(places: &[Place<D>], solved: &Solved<'_, D>, factor: f64) -> Functionals<D> {
    Functionals::at(places, solved.neurons.starts.len() - 1, &Operator::VALUE.times(factor))
}
