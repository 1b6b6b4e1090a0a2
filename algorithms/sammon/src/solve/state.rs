//! State and result of a run.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{block_sampling::SamplingState, descent::Descent, lbfgs::Lbfgs};
use crate::config::Step;

/// Stopping criterion of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "command", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Stop {
    /// The relative decrease of the stress fell below the tolerance.
    Tolerance,
    /// No step decreases the stress in this precision.
    Precision,
    /// The stress increased: the step is too large.
    Diverged,
    /// Maximum number of iterations.
    Iterations,
    /// Time limit.
    Time,
    /// All epochs of block sampling are done.
    Epochs,
    /// At most two distinct points, whose map is exact.
    Exact,
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// Step of a run, `step` in the report.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum AppliedStep {
    /// At most two distinct points need no steps.
    None,
    /// Line search of L-BFGS.
    Lbfgs {
        /// The start was scaled by β* of eq. (6).
        rescaled: bool,
    },
    /// Eq. (3).
    Gradient {
        /// Configured step.
        step: Step,
        /// μ in the unit of the input to the power p; of a run before the one resumed, to 7 digits.
        mu: f64,
    },
    /// Eq. (5).
    Jacobi {
        /// α of the last step.
        alpha: f64,
    },
    /// Eq. (5) between blocks of points, α decreasing from 1 to 0.02.
    BlockSampled {
        /// Number of epochs.
        epochs: usize,
    },
}

impl fmt::Display for AppliedStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Lbfgs { rescaled: true } => f.write_str("lbfgs, rescaled start"),
            Self::Lbfgs { rescaled: false } => f.write_str("lbfgs, start as it is"),
            Self::Gradient { step: step @ Step::Mu(_), .. } => write!(f, "gd, {step}"),
            Self::Gradient { step, mu } => write!(f, "gd, {step}, which is mu:{mu:.6e}"),
            Self::Jacobi { alpha } => write!(f, "jacobi, alpha:{alpha}"),
            Self::BlockSampled { epochs } => write!(f, "block-sampled, alpha:1 to 0.02 over {epochs} epochs"),
        }
    }
}

/// Result of a run from one start.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RunResult {
    pub(crate) x: Vec<f64>,
    pub(crate) stress: f64,
    pub(crate) stress_start: f64,
    /// E before the first iteration and after each (block sampling: every ten epochs, of a sample).
    pub(crate) history: Vec<f64>,
    pub(crate) iterations: usize,
    pub(crate) evaluations: usize,
    pub(crate) stop: Stop,
    pub(crate) step: AppliedStep,
}

/// Optimization method with its state.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Method {
    Lbfgs(Lbfgs),
    Descent(Descent),
    Sampled(SamplingState),
}

/// Everything needed to resume a run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct State {
    /// Index of the run: 0 from the configured start, then restarts.
    pub(crate) run: usize,
    pub(crate) method: Method,
    pub(crate) history: Vec<f64>,
    pub(crate) stress_start: f64,
    pub(crate) iterations: usize,
    pub(crate) best: Option<RunResult>,
    /// Set if the method has terminated and must not be resumed.
    pub(crate) stop: Option<Stop>,
}

impl State {
    /// Applies `make` to every distributed vector.
    pub(crate) fn map(&self, make: impl Fn(&[f64]) -> Vec<f64>) -> Self {
        let method = match &self.method {
            Method::Lbfgs(lbfgs) => Method::Lbfgs(lbfgs.map(make)),
            replicated @ (Method::Descent(_) | Method::Sampled(_)) => replicated.clone(),
        };
        Self { method, history: self.history.clone(), best: self.best.clone(), ..*self }
    }

    /// Position of the run, for notices.
    pub(crate) fn position(&self) -> String {
        let unit = if matches!(self.method, Method::Sampled(_)) { "epoch" } else { "iteration" };
        let restart = if self.run > 0 { format!(" of restart {}", self.run) } else { String::new() };
        format!("{unit} {}{restart}", self.iterations)
    }
}
