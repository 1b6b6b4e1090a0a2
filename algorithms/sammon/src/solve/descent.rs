//! Gradient descent and the Jacobi method, in batches of steps.

use firebox_core::Result;
use serde::{Deserialize, Serialize};

use super::{lbfgs::IterationOutcome, objective::Objective};
use crate::{
    config::{Solver, Step},
    ops::SammonOps,
};

/// Maximum steps per call.
const BATCH: usize = 16;
/// Maximum pairs per call, of which one step may have more.
const BATCH_PAIRS: usize = 1_000_000_000;

/// Step size: displacement of a point per force.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) enum Rate {
    /// μ for all points, nondimensional.
    Mu(f64),
    /// α/Σ_j μ_j·w_ij; a batch that increases the stress is repeated with α = ½, which is kept.
    Safe(f64),
    /// α/Σ_j μ_j·w_ij with fixed α.
    Plain(f64),
}

/// State of a descent.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Descent {
    pub(crate) rate: Rate,
    pub(crate) x: Vec<f64>,
    /// Best embedding so far; includes the last one after [`finish`](Self::finish).
    pub(crate) best: Vec<f64>,
    /// Stress of the best embedding.
    pub(crate) least: f64,
    /// Stress before the last step.
    pub(crate) last: f64,
    pub(crate) evaluations: usize,
}

impl Descent {
    /// Starts at `x` with the configured solver and step. `unit` is the length unit in that of the input, `power` the
    /// exponent of the weights.
    pub(crate) fn new<B: SammonOps>(
        solver: Solver,
        step: Step,
        x: Vec<f64>,
        objective: &Objective<B>,
        unit: f64,
        power: f64,
    ) -> Self {
        let rate = match (solver, step) {
            (Solver::Jacobi, Step::Alpha(alpha)) => Rate::Plain(alpha),
            (Solver::Jacobi, _) => Rate::Safe(1.0),
            // F scales as length^(1 − p), so μ, the ratio of a length to F, scales as length^p.
            (_, Step::Mu(mu)) => Rate::Mu(mu / unit.powf(power)),
            // Eq. (4) in the unit of the input; its sum over i ≠ j is 2c for p = 1.
            (_, Step::Alpha(alpha)) => Rate::Mu(alpha / (objective.scale * unit.powf(2.0 - power)) / unit.powf(power)),
            (_, Step::Auto) => Rate::Safe(0.5),
        };
        Self { rate, best: x.clone(), x, least: f64::INFINITY, last: f64::INFINITY, evaluations: 0 }
    }

    /// Takes a batch of at most `most` steps; returns the stress before each. [`IterationOutcome::Stalled`] if a value
    /// is not finite.
    pub(crate) fn advance<B: SammonOps>(
        &mut self,
        objective: &Objective<B>,
        most: usize,
    ) -> Result<(IterationOutcome, Vec<f64>)> {
        let steps = (BATCH_PAIRS / objective.n.pow(2).max(1)).clamp(1, BATCH).min(most);
        loop {
            let (x, stresses) = objective.steps(&self.x, &self.rates(objective), steps)?;
            self.evaluations += steps;
            let rose =
                |before: f64, after: f64| after.is_nan() || after > before * (1.0 + Objective::<B>::rounding_noise());
            let rises = stresses.windows(2).any(|pair| rose(pair[0], pair[1]))
                || stresses.first().is_some_and(|first| rose(self.last, *first));
            if let Rate::Safe(alpha) = self.rate
                && rises
                && alpha > 0.5
            {
                self.rate = Rate::Safe(0.5);
                continue;
            }
            let first = stresses.first().copied().unwrap_or(f64::INFINITY);
            if !(first.is_finite() && x.iter().all(|x| x.is_finite())) {
                return Ok((IterationOutcome::Stalled, stresses));
            }
            self.last = stresses.last().copied().unwrap_or(self.last);
            if first < self.least {
                self.least = first;
                self.best = std::mem::replace(&mut self.x, x);
            } else {
                self.x = x;
            }
            return Ok((IterationOutcome::Decreased, stresses));
        }
    }

    /// Evaluates the stress after the last step.
    pub(crate) fn finish<B: SammonOps>(&mut self, objective: &Objective<B>) -> Result<()> {
        let value = objective.stress(&objective.forces(&self.x)?.1);
        self.evaluations += 1;
        if value < self.least {
            (self.least, self.best) = (value, self.x.clone());
        }
        Ok(())
    }

    fn rates<B: SammonOps>(&self, objective: &Objective<B>) -> Vec<f64> {
        match self.rate {
            Rate::Mu(mu) => vec![mu; objective.n],
            Rate::Safe(alpha) | Rate::Plain(alpha) => {
                objective.weights.iter().map(|w| if *w > 0.0 { alpha / w } else { 0.0 }).collect()
            }
        }
    }
}
