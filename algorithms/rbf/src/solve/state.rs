//! The state of a training between two cycles, and its stopping criteria.

use firebox_core::{
    Result,
    checkpoint::{MAX_COUNT, number, require},
};
use serde::{Deserialize, Serialize};

use super::{levenberg_marquardt::Lm, network::RbfNetwork, qr::Fit};
use crate::{config::RbfConfig, types::ShapeSolver};

/// The stopping criterion that ended a training.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "command", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Stop {
    /// The residual norm is within the tolerance.
    Tolerance,
    /// All cycles have run.
    Cycles,
    /// The time limit expired.
    Time,
    /// The objective is at a minimum or at rounding level.
    Minimum,
    /// No step lowers the objective in this precision.
    Precision,
}

impl std::fmt::Display for Stop {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.serialize(f)
    }
}

/// Diagnosis of the last solution for the weights.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Diagnosis {
    #[serde(with = "number::option")]
    pub(crate) condition: Option<f64>,
    pub(crate) rank: Option<usize>,
    pub(crate) truncated: usize,
    /// Iterations of LSQR.
    pub(crate) iterations: Option<usize>,
}

impl Diagnosis {
    /// The diagnosis of a least-squares solution.
    pub(crate) fn of(fit: &Fit) -> Self {
        Self { condition: Some(fit.condition), rank: Some(fit.rank), truncated: fit.truncated, iterations: None }
    }
}

/// Everything that a training resumes from, in nondimensional units; control points follow from the number of the
/// cycle. Arrays are stored as tensors, the rest as JSON.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct State {
    pub(crate) cycles: usize,
    /// Initial width in spacings.
    #[serde(with = "number")]
    pub(crate) ratio: f64,
    /// η of the next phase.
    #[serde(with = "number")]
    pub(crate) rate: f64,
    /// Phases of gradient steps in which I fell at the first try with the configured η.
    pub(crate) falls: usize,
    /// Phases of gradient steps in which I fell, with η halved where necessary.
    pub(crate) accepted: usize,
    /// Consecutive phases in which no η lowered I.
    pub(crate) idle: usize,
    pub(crate) lm: Option<Lm>,
    /// Diagnosis of the last weights, if known.
    pub(crate) diagnosis: Option<Diagnosis>,
    /// The criterion after which further cycles change nothing.
    pub(crate) ended: Option<Stop>,
    /// Row-major m × dims.
    #[serde(skip)]
    pub(crate) centres: Vec<f64>,
    #[serde(skip)]
    pub(crate) widths: Vec<f64>,
    #[serde(skip)]
    pub(crate) weights: Vec<f64>,
    /// √(Σr1²/N) after each cycle.
    #[serde(skip)]
    pub(crate) interior: Vec<f64>,
    /// √(Σr2²/K) after each cycle.
    #[serde(skip)]
    pub(crate) boundary: Vec<f64>,
}

impl State {
    /// The initial state: neurons at `centres`, row-major m × `dims`, of one width, weights 0.
    pub(crate) fn new(centres: Vec<f64>, dims: usize, width: f64, ratio: f64, rate: f64) -> Self {
        let m = centres.len() / dims;
        Self { centres, widths: vec![width; m], weights: vec![0.0; m], ratio, rate, ..Self::default() }
    }

    /// Counts a cycle, which ended with these root mean squares of the residuals inside and on the boundary.
    pub(crate) fn record(&mut self, interior: f64, boundary: f64) {
        self.interior.push(interior);
        self.boundary.push(boundary);
        self.cycles += 1;
    }

    /// Fails unless this can be the state of a training of `neurons` in `dims` dimensions by `config`.
    pub(crate) fn check(&self, dims: usize, neurons: usize, config: &RbfConfig) -> Result<()> {
        let sizes = [self.widths.len(), self.weights.len()] == [neurons; 2] && self.centres.len() == dims * neurons;
        let lm = match &self.lm {
            Some(lm) => config.shape == ShapeSolver::Lm && self.cycles > 0 && lm.fits(dims, neurons),
            None => config.shape != ShapeSolver::Lm || self.cycles == 0,
        };
        let positive = self.widths.iter().chain([&self.rate, &self.ratio]).all(|a| *a > 0.0);
        let residuals = self.interior.iter().chain(&self.boundary).all(|residual| *residual >= 0.0);
        let gd = config.shape == ShapeSolver::Gd;
        let phases =
            [self.falls, self.accepted, self.idle].iter().all(|&count| count <= if gd { self.cycles } else { 0 });
        let diagnosis = self.diagnosis.unwrap_or_default();
        let solved = diagnosis.condition.is_none_or(|it| it > 0.0)
            && diagnosis.rank.is_none_or(|rank| rank <= neurons)
            && diagnosis.truncated <= neurons
            && diagnosis.iterations.is_none_or(|count| count <= MAX_COUNT);
        let ended = match self.ended {
            None => true,
            Some(Stop::Minimum | Stop::Precision) => self.cycles > 0,
            Some(Stop::Tolerance | Stop::Cycles | Stop::Time) => false,
        };
        let checks = [
            (sizes, "its network has another size than its parameters"),
            ([self.interior.len(), self.boundary.len()] == [self.cycles; 2], "its history has not one entry per cycle"),
            (self.is_finite(), "it has numbers that are not finite"),
            (positive && residuals, "it has numbers below their range"),
            (lm, "its minimisation is not that of its parameters"),
            (phases, "it counts more gradient steps than cycles"),
            (solved, "the solution for its weights cannot have these properties"),
            (ended, "its reason to end is not one of a state"),
        ];
        checks.into_iter().try_for_each(|(holds, what)| require(holds, what))
    }

    /// Returns `true` if all numbers are finite.
    pub(crate) fn is_finite(&self) -> bool {
        let network = self.centres.iter().chain(&self.widths).chain(&self.weights);
        let others = self.interior.iter().chain(&self.boundary).chain([&self.rate, &self.ratio]);
        network.chain(others).all(|value| value.is_finite())
    }

    /// Copies centres, widths and weights of a network.
    pub(crate) fn take(&mut self, network: &RbfNetwork) {
        self.centres = network.centres().to_vec();
        self.widths = network.widths().to_vec();
        self.weights = network.weights().to_vec();
    }
}
