//! What a training is at between two cycles, and why it ends.

use serde::{Deserialize, Serialize};

use crate::{Lm, RbfConfig, RbfNetwork, ShapeSolver, bits};

/// Why a training ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stop {
    /// The residual norm is within the tolerance.
    Tolerance,
    /// The cycles were used up.
    Cycles,
    /// The time was used up.
    Time,
    /// The objective is at a minimum, or at the rounding.
    Minimum,
    /// No step lowers the objective in the precision there is.
    Precision,
}

impl std::fmt::Display for Stop {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Tolerance => "tolerance",
            Self::Cycles => "cycles",
            Self::Time => "time",
            Self::Minimum => "minimum",
            Self::Precision => "precision",
        })
    }
}

/// Everything a training needs to go on; points are drawn by the number of the cycle.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct State {
    pub(crate) cycles: usize,
    /// Width over spacing at the start.
    #[serde(with = "bits::one")]
    pub(crate) ratio: f64,
    /// Row-major m × dims.
    #[serde(with = "bits")]
    pub(crate) centres: Vec<f64>,
    #[serde(with = "bits")]
    pub(crate) widths: Vec<f64>,
    #[serde(with = "bits")]
    pub(crate) weights: Vec<f64>,
    pub(crate) lm: Option<Lm>,
    /// √(Σr1²/N) after each cycle.
    #[serde(with = "bits")]
    pub(crate) interior: Vec<f64>,
    /// √(Σr2²/K) after each cycle.
    #[serde(with = "bits")]
    pub(crate) boundary: Vec<f64>,
    /// Phases of gradient steps in which I fell; with a fixed η, from the first step to the last.
    pub(crate) falls: usize,
    /// η of the next phase.
    #[serde(with = "bits::one")]
    pub(crate) rate: f64,
    /// Set where the training ended for good.
    pub(crate) ended: Option<Stop>,
}

impl State {
    /// Neurons at `centres`, row-major m × `dims`, of one width and without weight.
    pub(crate) fn new(centres: Vec<f64>, dims: usize, width: f64, ratio: f64, rate: f64) -> Self {
        let m = centres.len() / dims;
        Self {
            cycles: 0,
            ratio,
            centres,
            widths: vec![width; m],
            weights: vec![0.0; m],
            lm: None,
            interior: Vec::new(),
            boundary: Vec::new(),
            falls: 0,
            rate,
            ended: None,
        }
    }

    /// Whether this is of `neurons` in `dims` dimensions and of the configuration's method.
    pub(crate) fn fits(&self, dims: usize, neurons: usize, config: &RbfConfig) -> bool {
        let sizes = [self.widths.len(), self.weights.len()] == [neurons; 2] && self.centres.len() == dims * neurons;
        let history = [self.interior.len(), self.boundary.len()] == [self.cycles; 2];
        let lm = match &self.lm {
            Some(lm) => config.shape == ShapeSolver::Lm && lm.has_size(dims, neurons),
            None => config.shape != ShapeSolver::Lm || self.cycles == 0,
        };
        sizes && history && lm && self.widths.iter().all(|a| *a > 0.0)
    }

    /// Takes over what a network is.
    pub(crate) fn take(&mut self, network: &RbfNetwork) {
        self.centres = network.centres().to_vec();
        self.widths = network.widths().to_vec();
        self.weights = network.weights().to_vec();
    }
}
