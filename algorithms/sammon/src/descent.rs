//! Gradient descent and the Jacobi step, a period of steps at a time.

use firebox_core::{
    Result,
    checkpoint::{MAX_COUNT, Tensors, number, require},
};
use serde::{Deserialize, Serialize};

use crate::{
    SammonOps,
    config::{Solver, Step},
    lbfgs::Moved,
    work::Work,
};

/// Steps of one call, fewer if they are of more pairs together.
const PERIOD: usize = 16;
const MOST: usize = 1_000_000_000;

/// How far a force moves a point.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
enum Rate {
    /// μ for all, in the solver's units.
    Mu(f64),
    /// α/Σ_j μ_j·w_ij; a period of steps that raises the stress is taken back, and α is ½ from there on.
    Safe(f64),
    /// α/Σ_j μ_j·w_ij as it is.
    Plain(f64),
}

/// A descent under way.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Descent {
    rate: Rate,
    x: Vec<f64>,
    best: Vec<f64>,
    least: f64,
    /// Before the last step.
    last: f64,
    pub(crate) evaluations: usize,
}

/// The part of a descent's state that is not an array.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Scalars {
    rate: Rate,
    #[serde(with = "number")]
    least: f64,
    #[serde(with = "number")]
    last: f64,
    evaluations: usize,
}

impl Descent {
    /// From `x` by the configuration's solver and step; `unit` is the solver's length in the points' unit, `power` the
    /// weights'.
    pub(crate) fn new<B: SammonOps>(
        solver: Solver,
        step: Step,
        x: Vec<f64>,
        work: &Work<B>,
        unit: f64,
        power: f64,
    ) -> Self {
        let rate = match (solver, step) {
            (Solver::Jacobi, Step::Alpha(alpha)) => Rate::Plain(alpha),
            (Solver::Jacobi, _) => Rate::Safe(1.0),
            // F goes with length^(1 − p): μ, which turns it into a length, with length^p.
            (_, Step::Mu(mu)) => Rate::Mu(mu / unit.powf(power)),
            // Eq. (4), whose sum over i ≠ j is twice c for p = 1. The formula is meant in the points' unit.
            (_, Step::Alpha(alpha)) => Rate::Mu(alpha / (work.scale * unit.powf(2.0 - power)) / unit.powf(power)),
            (_, Step::Auto) => Rate::Safe(0.5),
        };
        Self { rate, best: x.clone(), x, least: f64::INFINITY, last: f64::INFINITY, evaluations: 0 }
    }

    /// Adds its places `[m, n]` to a state's tensors; returns the rest of the state.
    pub(crate) fn save(&self, shape: [usize; 2], tensors: &mut Tensors) -> Scalars {
        tensors.put("x", &shape, &self.x[..]);
        tensors.put("least.x", &shape, &self.best[..]);
        Scalars { rate: self.rate, least: self.least, last: self.last, evaluations: self.evaluations }
    }

    /// Reads what [`save`](Self::save) wrote; fails if it is not the state of a descent by this solver and step.
    pub(crate) fn restore(
        scalars: &Scalars,
        (solver, step): (Solver, Step),
        shape: [usize; 2],
        tensors: &mut Tensors,
    ) -> Result<Self> {
        let &Scalars { rate, least, last, evaluations } = scalars;
        let asked = match (rate, solver, step) {
            (Rate::Plain(alpha), Solver::Jacobi, Step::Alpha(asked)) => alpha == asked,
            (Rate::Mu(mu), Solver::Gd, Step::Mu(_) | Step::Alpha(_)) => mu > 0.0 && mu.is_finite(),
            (Rate::Safe(alpha), Solver::Jacobi | Solver::Gd, Step::Auto) => alpha == 1.0 || alpha == 0.5,
            _ => false,
        };
        require(asked, "its step is not that of its parameters")?;
        // Infinite before the first measurement.
        require(least >= 0.0 && last >= 0.0, "a stress is not a number from 0")?;
        require(evaluations <= MAX_COUNT, "a count of the descent is too large")?;
        let (x, best) = (tensors.take("x", &shape)?, tensors.take("least.x", &shape)?);
        Ok(Self { rate, x, best, least, last, evaluations })
    }

    /// The step in words.
    pub(crate) fn describe(&self, asked: Step, unit: f64, power: f64) -> String {
        match self.rate {
            Rate::Mu(_) if matches!(asked, Step::Mu(_)) => format!("gd, {asked}"),
            Rate::Mu(mu) => format!("gd, {asked}, which is mu:{:.6e}", mu * unit.powf(power)),
            Rate::Safe(alpha) | Rate::Plain(alpha) => format!("jacobi, alpha:{alpha}"),
        }
    }

    /// The best place that was measured; [`Descent::finish`] has measured the last.
    pub(crate) fn best(&self) -> &[f64] {
        &self.best
    }

    /// The stress there.
    pub(crate) fn value(&self) -> f64 {
        self.least
    }

    /// At most `most` steps; the stress before each. Stuck where a number is none any more.
    pub(crate) fn advance<B: SammonOps>(&mut self, work: &Work<B>, most: usize) -> Result<(Moved, Vec<f64>)> {
        let steps = (MOST / work.n.pow(2).max(1)).clamp(1, PERIOD).min(most);
        loop {
            let (x, stresses) = work.steps(&self.x, &self.rates(work), steps)?;
            self.evaluations += steps;
            let rose = |before: f64, after: f64| after.is_nan() || after > before * (1.0 + Work::<B>::noise());
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
                return Ok((Moved::Stuck, stresses));
            }
            self.last = stresses.last().copied().unwrap_or(self.last);
            if first < self.least {
                self.least = first;
                self.best = std::mem::replace(&mut self.x, x);
            } else {
                self.x = x;
            }
            return Ok((Moved::Down, stresses));
        }
    }

    /// Measures where the last step led.
    pub(crate) fn finish<B: SammonOps>(&mut self, work: &Work<B>) -> Result<()> {
        let value = work.stress(&work.forces(&self.x)?.1);
        self.evaluations += 1;
        if value < self.least {
            (self.least, self.best) = (value, self.x.clone());
        }
        Ok(())
    }

    fn rates<B: SammonOps>(&self, work: &Work<B>) -> Vec<f64> {
        match self.rate {
            Rate::Mu(mu) => vec![mu; work.n],
            Rate::Safe(alpha) | Rate::Plain(alpha) => {
                work.weights.iter().map(|w| if *w > 0.0 { alpha / w } else { 0.0 }).collect()
            }
        }
    }
}
