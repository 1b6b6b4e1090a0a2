//! State and result of a run.

use serde::{Deserialize, Serialize};

use super::{block_sampling::SamplingState, descent::Descent, lbfgs::Lbfgs};

/// Stopping criterion of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
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

impl std::fmt::Display for Stop {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Tolerance => "tolerance",
            Self::Precision => "precision",
            Self::Diverged => "diverged",
            Self::Iterations => "iterations",
            Self::Time => "time",
            Self::Epochs => "epochs",
            Self::Exact => "exact",
        })
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
    pub(crate) step: String,
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
    /// Index of the run: 0 from the configured start, then restarts from random ones.
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
