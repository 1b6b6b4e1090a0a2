//! What a training is at between two cycles, and why it ends.

use firebox_core::{Communicator, Result, tensor::failed};
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

/// What the last solution for the weights tells.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Diagnosis {
    #[serde(with = "bits::maybe")]
    pub(crate) condition: Option<f64>,
    pub(crate) rank: Option<usize>,
    pub(crate) truncated: usize,
    /// Iterations of LSQR.
    pub(crate) iterations: Option<usize>,
}

/// Everything a training needs to go on, in the units of its frame; points are drawn by the number of the cycle.
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
    /// Phases of gradient steps in which I fell at the first try, with η as it was asked for.
    pub(crate) falls: usize,
    /// Phases of gradient steps in which I fell, with η halved where that was needed.
    pub(crate) accepted: usize,
    /// Phases in a row in which no η lowered I.
    pub(crate) idle: usize,
    /// η of the next phase.
    #[serde(with = "bits::one")]
    pub(crate) rate: f64,
    /// Of the last weights, if they told.
    pub(crate) diagnosis: Option<Diagnosis>,
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
            accepted: 0,
            idle: 0,
            rate,
            diagnosis: None,
            ended: None,
        }
    }

    /// What the first rank makes, on all; the others make nothing.
    pub(crate) fn of_first(ranks: &dyn Communicator, make: impl FnOnce() -> Result<Self>) -> Result<Self> {
        if ranks.size() == 1 {
            return make();
        }
        let lost = |error: serde_json::Error| failed("the host".into(), "telling all processes of a state", error);
        let told = ranks.from_first(|| serde_json::to_vec(&make()?).map_err(lost))?;
        serde_json::from_slice(&told).map_err(lost)
    }

    /// Whether this is of `neurons` in `dims` dimensions and of the configuration's method, and all its numbers are such
    /// as may be.
    pub(crate) fn fits(&self, dims: usize, neurons: usize, config: &RbfConfig) -> bool {
        let sizes = [self.widths.len(), self.weights.len()] == [neurons; 2] && self.centres.len() == dims * neurons;
        let history = [self.interior.len(), self.boundary.len()] == [self.cycles; 2];
        let lm = match &self.lm {
            Some(lm) => config.shape == ShapeSolver::Lm && lm.fits(dims, neurons),
            None => config.shape != ShapeSolver::Lm || self.cycles == 0,
        };
        let positive = self.widths.iter().chain([&self.rate, &self.ratio]).all(|a| *a > 0.0);
        sizes && history && lm && positive && self.is_finite()
    }

    /// Whether all its numbers are finite.
    pub(crate) fn is_finite(&self) -> bool {
        let network = self.centres.iter().chain(&self.widths).chain(&self.weights);
        let others = self.interior.iter().chain(&self.boundary).chain([&self.rate, &self.ratio]);
        network.chain(others).all(|value| value.is_finite())
    }

    /// Takes over what a network is.
    pub(crate) fn take(&mut self, network: &RbfNetwork) {
        self.centres = network.centres().to_vec();
        self.widths = network.widths().to_vec();
        self.weights = network.weights().to_vec();
    }
}
