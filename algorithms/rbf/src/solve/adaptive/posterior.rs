//! Parameters with standard errors, the noise of measured values, and the error that it leaves in the solution.
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
    weighting::{LEAST_WEIGHT, Weighting, least, own},
};
use crate::{
    problem::{definition::Problem, unknown::Measurements},
    types::root_mean,
};

/// Bounds of the relative curvatures.
const CURVATURES: [f64; 2] = [0.1, 1e3];
/// Factors of a relative curvature that are tried after each level.
const FACTORS: [f64; 4] = [0.1, 0.316, 3.16, 10.0];
/// Number of times that the factors are tried.
const ROUNDS: usize = 2;
/// Neurons up to which the factors are tried.
const FEW: usize = 1000;
/// Difference of scores, in degrees of freedom, below which the smoother fit is taken.
const MARGIN: f64 = 0.25;
/// Least number of degrees of freedom that a fit leaves of values by which their noise is estimated, and least share.
const LEAST_FREE: f64 = 1.0;
const LEAST_FREE_SHARE: f64 = 0.1;
/// Random vectors by which a trace is estimated.
const PROBES: usize = 16;
/// Maximum number of measured values of a set by which its noise is estimated.
const SOME: usize = 4000;

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
    /// The factors after a level, whose solution fits the values. Of some priors of second derivatives, with which `refit` solves
    /// the level's linear problem again, that is taken with which values are predicted best (C. L. Mallows, Technometrics 15,
    /// 1973), or a smoother one that is nearly as good.
    pub(super) fn after<'s, const D: usize>(
        &self,
        problem: &Problem,
        (solved, found): (&Solved<'_, D>, &Found),
        places: &[Place<D>],
        refit: &dyn Fn(&Self) -> Result<Solved<'s, D>>,
        random: &mut Random,
    ) -> Result<Self> {
        if problem.measurements().is_empty() {
            return Ok(self.clone());
        }
        let noise: Vec<f64> = found.fits.iter().map(|fit| fit.noise).collect();
        let size = |unknown: usize| {
            let own = own(problem, places, unknown);
            Ok(root_mean(&solved.evaluate(Operator::VALUE, &own)?))
        };
        let sizes = (0..problem.unknowns().len()).map(size).collect::<Result<Vec<_>>>()?;
        // A number may be 0 as far as values show.
        let mut floors = self.floors.clone();
        let numbers = problem.roles().iter().zip(&mut floors).skip(problem.function_names().len());
        for ((role, floor), it) in numbers.zip(&found.parameters) {
            *floor = role.least_size().max(it.standard_error);
        }
        let base = Self { floors, ..self.clone() };
        let mut curvatures = self.curvatures.clone();
        let with = |curvatures: &[Option<f64>]| {
            Self { curvatures: curvatures.to_vec(), ..base.clone() }.with(problem, noise.clone(), &sizes, LEAST_WEIGHT)
        };
        if Self::is_noisy(problem, &noise) && solved.neurons.len() <= FEW {
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
                    tried[unknown] = tried[unknown].map(|most| (factor * most).clamp(CURVATURES[0], CURVATURES[1]));
                    Ok((tried[unknown], score(&tried)?))
                };
                let scores = FACTORS.into_iter().chain([1.0]).map(of).collect::<Result<Vec<_>>>()?;
                let best = scores.iter().map(|it| it.1).fold(f64::INFINITY, f64::min);
                let good = scores.into_iter().filter(|(_, score)| *score <= best + MARGIN).filter_map(|it| it.0);
                curvatures[unknown] = good.reduce(f64::min).or(curvatures[unknown]);
            }
        }
        Ok(with(&curvatures))
    }

    /// Mallows's statistic: the squared misfits over those of the noise, and twice the degrees of freedom that the fit takes.
    fn score<const D: usize>(&self, problem: &Problem, solved: &Solved<'_, D>, random: &mut Random) -> Result<f64> {
        let mut score = 0.0;
        let noise = least(problem, &self.noise);
        for (k, of) in problem.measurements().iter().enumerate() {
            let relative = misfit(problem, solved, of)? / noise[k];
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

    /// The coefficients that are numbers, and the fits. Where noise is not given, it is the misfit, corrected for the degrees of
    /// freedom that the fit takes from the values; where that leaves few, the noise that was assumed.
    pub(super) fn found<const D: usize>(
        &self,
        problem: &Problem,
        solved: &Solved<'_, D>,
        random: &mut Random,
    ) -> Result<Found> {
        let mut found = Found::default();
        for (k, of) in problem.measurements().iter().enumerate() {
            let (misfit, n) = (misfit(problem, solved, of)?, of.values.len() as f64);
            let mut noise = self.noise[k];
            if of.noise.is_none() {
                let free = n - self.taken(problem, solved, k, random)?;
                noise = if free >= LEAST_FREE.max(LEAST_FREE_SHARE * n) { misfit * (n / free).sqrt() } else { noise };
            }
            found.fits.push(Fit { noise, misfit });
        }
        let unit = self.unit_of(problem, &found);
        for block in problem.function_names().len()..problem.unknowns().len() {
            let place = Place { point: solved.neurons.centres[solved.neurons.starts[block]], block };
            let value = solved.evaluate(Operator::VALUE, &[place])?.first().copied().unwrap_or(f64::NAN);
            let variance = solved.variance_of(&rows(&[place], solved, 1.0))?;
            found.parameters.push(Estimated { value, standard_error: unit * variance.sqrt() });
        }
        Ok(found)
    }

    /// The noise in conditions with these factors, if that of the values is as it was found.
    fn unit_of(&self, problem: &Problem, found: &Found) -> f64 {
        let noise: Vec<f64> = found.fits.iter().map(|fit| fit.noise).collect();
        let ratios =
            least(problem, &noise).into_iter().zip(least(problem, &self.noise)).map(|(found, old)| found / old);
        self.unit * ratios.fold(0.0, f64::max)
    }

    /// Root mean square at places of the error that noise leaves, relative to the function: that of the function where it is
    /// largest. Numbers have standard errors.
    pub(super) fn error<const D: usize>(
        &self,
        problem: &Problem,
        (solved, found): (&Solved<'_, D>, &Found),
        places: &[Place<D>],
        random: &mut Random,
    ) -> Result<f64> {
        if self.values.is_empty() {
            return Ok(0.0);
        }
        let (unit, mut largest) = (self.unit_of(problem, found), 0.0_f64);
        for unknown in 0..problem.function_names().len() {
            let own = own(problem, places, unknown);
            let size = root_mean(&solved.evaluate(Operator::VALUE, &own)?).max(self.floors[unknown]);
            let rows = rows(&own, solved, (own.len() as f64).sqrt().recip());
            let relative = unit * solved.trace(&rows, PROBES, random)?.sqrt() / size;
            largest = if relative.is_nan() { f64::INFINITY } else { largest.max(relative) };
        }
        Ok(largest)
    }
}

/// Root mean square of the solution minus the values of a set.
fn misfit<const D: usize>(problem: &Problem, solved: &Solved<'_, D>, of: &Measurements) -> Result<f64> {
    let mut values = solved.evaluate(Operator::VALUE, &places_of::<D>(problem, of))?;
    values.iter_mut().zip(of.values.iter()).for_each(|(found, value)| *found -= value);
    Ok(root_mean(&values))
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
