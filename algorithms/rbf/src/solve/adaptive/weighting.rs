//! Weights of measured values, and of weak conditions that keep smooth what they say little of.

use firebox_core::Result;

use super::cells::Place;
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
pub(super) const LEAST_WEIGHT: f64 = 1e-3;
/// The same on the first level: the iteration is slow where equations weigh far more than values.
const LEAST_FIRST_WEIGHT: f64 = 0.1;
/// Standard deviation of the prior of a coefficient's value, in multiples of its size.
const VALUES: f64 = 1e3;
/// Least size of a coefficient to which its errors are relative, in sizes of its start: it may be 0.
const LEAST_SIZE: f64 = 1e-3;
/// First standard deviation of the prior of second derivatives, in multiples of the unknown's size over the domain's sides
/// squared.
const FIRST_CURVATURE: f64 = 10.0;

/// Factors of the weak conditions on a coefficient: on its value, and on its second derivatives.
#[derive(Debug, Clone, Copy)]
pub(super) struct Prior {
    pub(super) value: f64,
    pub(super) curvature: f64,
}

/// Factors of conditions of a problem with measured values.
#[derive(Debug, Clone, Default)]
pub(super) struct Weighting {
    /// Of the values of each set.
    pub(super) values: Vec<f64>,
    /// Of each unknown's weak conditions.
    pub(super) priors: Vec<Prior>,
    /// Standard deviation of each set's noise, as it is given or was estimated before.
    pub(super) noise: Vec<f64>,
    /// Standard deviation of the prior of second derivatives of each unknown that has one, in multiples of its size over the
    /// domain's sides squared.
    pub(super) curvatures: Vec<Option<f64>>,
    /// Size of each coefficient relative to the solutions, in which its changes count in the size of a row; else 1.
    pub(super) scales: Vec<f64>,
    /// Least size of each unknown: a part of that of its start.
    pub(super) floors: Vec<f64>,
    /// Standard deviation of the noise in conditions with these factors.
    pub(super) unit: f64,
}

impl Weighting {
    /// The factors before the first level.
    ///
    /// # Errors
    ///
    /// Those of a field's start.
    pub(super) fn first<const D: usize>(problem: &Problem, places: &[Place<D>]) -> Result<Self> {
        let noise = problem.measurements().iter().map(|of| of.noise.unwrap_or(FIRST_NOISE * size_of(problem, of)));
        let size = |(unknown, role): (usize, &Role)| match role {
            Role::Solution => Ok(1.0),
            Role::Parameter { start } => Ok(start.abs()),
            Role::Field { start, .. } => {
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
        let floors = problem.roles().iter().zip(&sizes).map(|(role, size)| match role {
            Role::Field { .. } => LEAST_SIZE * size,
            Role::Solution | Role::Parameter { .. } => role.least_size(),
        });
        let first = Self { curvatures, floors: floors.collect(), ..Self::default() };
        Ok(first.with(problem, noise.collect(), &sizes, LEAST_FIRST_WEIGHT))
    }

    /// The factors for the noise of each set of values and the size of each unknown, with a least weight of values.
    pub(super) fn with(&self, problem: &Problem, noise: Vec<f64>, sizes: &[f64], least_weight: f64) -> Self {
        let Self { curvatures, floors, .. } = self;
        let sizes: Vec<f64> =
            problem.roles().iter().zip(sizes).map(|(role, size)| size.max(role.least_size())).collect();
        let all = problem.measurements();
        let total = all.iter().map(|of| of.values.len()).sum::<usize>().max(1) as f64;
        let bounded: Vec<f64> = least(problem, &noise);
        let unit = |(of, &noise): (&Measurements, &f64)| {
            let weight = (EXACT * size_of(problem, of) / noise).min(1.0).max(least_weight);
            noise * weight / total.sqrt()
        };
        let unit = all.iter().zip(&bounded).map(unit).fold(f64::INFINITY, f64::min);
        let positive = |size: f64| if size > 0.0 && size.is_finite() { size } else { 1.0 };
        let prior = |(&size, curvature): (&f64, &Option<f64>)| {
            let size = positive(size);
            Prior { value: unit / (VALUES * size), curvature: curvature.map_or(0.0, |most| unit / (most * size)) }
        };
        let values = bounded.iter().map(|noise| unit / noise).collect();
        let unit_of_solutions = all.first().map_or(1.0, |of| size_of(problem, of));
        let scale = |(role, &size): (&Role, &f64)| match role {
            Role::Solution => 1.0,
            Role::Field { .. } | Role::Parameter { .. } => positive(size) / unit_of_solutions,
        };
        let scales = problem.roles().iter().zip(&sizes).map(scale).collect();
        let priors = sizes.iter().zip(curvatures).map(prior).collect();
        Self { values, priors, noise, curvatures: curvatures.clone(), scales, floors: floors.clone(), unit }
    }

    /// Returns `true` if the noise of a set is so large that its weight is lowered.
    pub(super) fn is_noisy(problem: &Problem, noise: &[f64]) -> bool {
        problem.measurements().iter().zip(noise).any(|(of, &noise)| noise > EXACT * size_of(problem, of))
    }
}

/// The noise of each set, at least a small part of its values, and a larger one beside sets that are noisy: none may weigh so
/// much that all others count for nothing.
pub(super) fn least(problem: &Problem, noise: &[f64]) -> Vec<f64> {
    let share = if Weighting::is_noisy(problem, noise) { EXACT } else { LEAST_NOISE };
    let all = problem.measurements().iter().zip(noise);
    all.map(|(of, noise)| noise.max(share * size_of(problem, of))).collect()
}

/// The root mean square of all values of the unknown of a set; 1 if they are 0.
pub(super) fn size_of(problem: &Problem, of: &Measurements) -> f64 {
    let same = problem.measurements().iter().filter(|other| other.unknown == of.unknown);
    let (squares, count) = same.fold((0.0, 0), |(squares, count), it| {
        (squares + it.values.iter().map(|value| value * value).sum::<f64>(), count + it.values.len())
    });
    if squares > 0.0 { (squares / count as f64).sqrt() } else { 1.0 }
}

/// The places of an unknown.
pub(super) fn own<const D: usize>(problem: &Problem, places: &[Place<D>], unknown: usize) -> Vec<Place<D>> {
    places.iter().filter(|place| place.block % problem.unknowns().len() == unknown).copied().collect()
}

impl Role {
    /// Least size of a number; 0 for functions.
    pub(super) fn least_size(&self) -> f64 {
        match self {
            Self::Parameter { start } => LEAST_SIZE * start.abs(),
            Self::Solution | Self::Field { .. } => 0.0,
        }
    }
}
