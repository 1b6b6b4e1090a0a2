//! Parameters, their defaults and their ranges.

use std::{fmt, str::FromStr};

use burn::config::Config;
use firebox_core::Error;
use serde::{Deserialize, Serialize};

use crate::types::{Metric, Variant};

/// Maximum number of target dimensions.
pub const MAX_DIMS: usize = 64;

/// Pairs of points from which there are no further runs by default. Of half as many there are four, of a third nine.
const RESTART_PAIRS: usize = 3_000_000;
/// Maximum number of further runs by default.
const MAX_RESTARTS: usize = 19;

/// Method of minimising the stress.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "command", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum Solver {
    /// Limited-memory BFGS, 10 pairs, Armijo: 13 to 25 evaluations to within 0.1 % of the optimum
    #[default]
    Lbfgs,
    /// Every point by α·F/Σw at once; with α = 1 unless a step is given, halved for good when the stress rises
    Jacobi,
    /// The paper's gradient descent, one step size for all points; auto is the Jacobi step with α = 1/2, which never
    /// raises the stress
    Gd,
}

/// The step of the solvers `gd` and `jacobi`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// α/Σ_j μ_j·w_ij a point: α = 1 for [`Solver::Jacobi`], ½ for [`Solver::Gd`].
    #[default]
    Auto,
    /// For [`Solver::Jacobi`] its α; for [`Solver::Gd`] the α of eq. (4), μ = 2α/Σ_{i≠j} δ_ij.
    Alpha(f64),
    /// μ of eq. (3), in the points' unit to the power p. With the paper's data about 1000/N; its printed 0.5 cannot be
    /// this factor.
    Mu(f64),
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Alpha(alpha) => write!(f, "alpha:{alpha}"),
            Self::Mu(mu) => write!(f, "mu:{mu}"),
        }
    }
}

impl FromStr for Step {
    type Err = String;

    /// Reads `auto`, `alpha:V` or `mu:V`.
    fn from_str(text: &str) -> Result<Self, String> {
        let step = match text.split_once(':') {
            None => (text == "auto").then_some(Self::Auto),
            Some(("alpha", value)) => value.parse().ok().map(Self::Alpha),
            Some(("mu", value)) => value.parse().ok().map(Self::Mu),
            Some(_) => None,
        };
        step.ok_or_else(|| format!("'{text}' is neither auto, alpha:V nor mu:V"))
    }
}

/// Initial embedding.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "command", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum Start {
    /// On the first principal components; of distances, by classical scaling.
    #[default]
    Pca,
    /// At random, from the seed.
    Random,
    /// On the first coordinates.
    First,
    /// At the coordinates of the input ([`SammonInput::starting_at`](crate::SammonInput::starting_at)).
    Given,
}

/// Storage of the source distances.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "command", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum Memory {
    /// Up to 100 000 points cached if they fit, else recomputed; beyond, sampled
    #[default]
    Auto,
    /// 1/δ kept, 4 bytes a pair of points (8 in f64)
    Cached,
    /// 1/δ kept in 2 bytes a pair, on GPUs: three digits of every distance
    CachedF16,
    /// Computed from the points each time: no memory of N²
    Recomputed,
    /// A block of points meets one other block an epoch: time and memory of N
    Sampled,
}

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// Configuration of a [`Sammon`](crate::Sammon) mapping.
///
/// ```
/// use firebox_sammon::{SammonConfig, Solver};
/// let sammon = SammonConfig::new(2).with_solver(Solver::Jacobi).with_iterations(50).init().unwrap();
/// assert_eq!(sammon.config().power, 1.0);
/// ```
#[derive(Config, Debug, PartialEq)]
#[cfg_attr(feature = "command", derive(clap::Args))]
pub struct SammonConfig {
    /// Dimensions m to map to, 1 to 64
    #[cfg_attr(feature = "command", arg(long, value_name = "M", default_value_t = 2))]
    pub dims: usize,
    /// Distance of points given by features
    #[config(default = "Metric::Euclidean")]
    #[cfg_attr(feature = "command", arg(skip = defaults().metric))]
    pub metric: Metric,
    /// p of the weights δ^(-p), 0 to 8: 0 is raw stress, 1 Sammon's, 2 elastic scaling's
    #[config(default = 1.0)]
    #[cfg_attr(
        feature = "command",
        arg(long, value_name = "P", default_value_t = defaults().power)
    )]
    pub power: f64,
    /// Solver that improves the embedding
    #[config(default = "Solver::Lbfgs")]
    #[cfg_attr(feature = "command", arg(long, value_enum, default_value_t = defaults().solver))]
    pub solver: Solver,
    /// Step of gd and jacobi: auto, alpha:V or mu:V. mu is the factor of the paper's eq. (3); with its data about
    /// 1000/N, which its printed 0.5 cannot be
    #[config(default = "Step::Auto")]
    #[cfg_attr(feature = "command", arg(long = "learning-rate", alias = "step", value_name = "STEP", default_value_t = defaults().step))]
    pub step: Step,
    /// Start of the embedding
    #[config(default = "Start::Pca")]
    #[cfg_attr(feature = "command", arg(skip = defaults().start))]
    pub start: Start,
    /// Scales the start by β* = Σ w·δ·d/Σ w·d², the factor of least stress.
    #[config(default = true)]
    #[cfg_attr(
        feature = "command",
        arg(
            long = "no-rescale",
            action = clap::ArgAction::SetFalse,
            help = "Do not scale the start by β* = Σ w·δ·d/Σ w·d², the factor of least stress"
        )
    )]
    pub rescale: bool,
    /// Further runs, from the best map so far, relaxed through one more dimension, and from random starts; the best of all
    /// is kept [default: up to 19 if lbfgs converges from pca and there are at most 1732
    /// points]
    #[config(default = "None")]
    #[cfg_attr(feature = "command", arg(long, value_name = "R"))]
    pub restarts: Option<usize>,
    /// Maximum number of iterations of a run
    #[config(default = 1000)]
    #[cfg_attr(feature = "command", arg(long = "max-iterations", alias = "iterations", value_name = "I", default_value_t = defaults().iterations))]
    pub iterations: usize,
    /// Stop when 10 iterations together lower the stress by less than this share; 0 never stops
    #[config(default = 3e-5)]
    #[cfg_attr(
        feature = "command",
        arg(long, value_name = "T", default_value_t = defaults().tolerance)
    )]
    pub tolerance: f64,
    /// Stop after this many seconds
    #[config(default = "None")]
    #[cfg_attr(feature = "command", arg(long, value_name = "S"))]
    pub time_limit: Option<f64>,
    /// Storage of the source distances
    #[config(default = "Memory::Auto")]
    #[cfg_attr(feature = "command", arg(long, value_enum, default_value_t = defaults().memory))]
    pub memory: Memory,
    /// Distribution of the work over GPU units; the triangle variants add by atomics and are not deterministic
    #[config(default = "Variant::Auto")]
    #[cfg_attr(feature = "command", arg(long, value_enum, default_value_t = defaults().variant))]
    pub variant: Variant,
    /// Units of a cube in the paper's variants, a power of two up to 1024; the paper tries 16, 32 and 64
    #[config(default = 64)]
    #[cfg_attr(feature = "command", arg(long, value_name = "U", default_value_t = defaults().units))]
    pub units: u32,
    /// Epochs of block sampling
    #[config(default = 300)]
    #[cfg_attr(feature = "command", arg(long, value_name = "E", default_value_t = defaults().epochs))]
    pub epochs: usize,
    /// Points of a sampled block; at most an eighth of all points
    #[config(default = 1024)]
    #[cfg_attr(feature = "command", arg(long, value_name = "N", default_value_t = defaults().block))]
    pub block: usize,
    /// Refuse equal points instead of merging them into one with a weight
    #[config(default = false)]
    #[cfg_attr(feature = "command", arg(long))]
    pub strict: bool,
    /// Measures trustworthiness and continuity.
    #[config(default = true)]
    #[cfg_attr(
        feature = "command",
        arg(
            long = "no-quality",
            action = clap::ArgAction::SetFalse,
            help = "Do not measure trustworthiness and continuity"
        )
    )]
    pub quality: bool,
    /// Take all pairs of points for the measures, in time of N², instead of random samples: for the stress after block
    /// sampling, and for trustworthiness and continuity of many points
    #[config(default = false)]
    #[cfg_attr(feature = "command", arg(long))]
    pub exact_quality: bool,
    /// Compute each point's part of the stress, from all pairs, and add it to the table
    #[config(default = false)]
    #[cfg_attr(feature = "command", arg(long))]
    pub point_stress: bool,
}

/// The defaults of the arguments.
#[cfg(feature = "command")]
fn defaults() -> SammonConfig {
    SammonConfig::new(2)
}

impl SammonConfig {
    /// Returns true if solver and step are the defaults, so that block sampling may replace them.
    pub(crate) fn is_plain(&self) -> bool {
        self.solver == Solver::Lbfgs && self.step == Step::Auto
    }

    /// Maximum number of further runs for n distinct points. By default, few enough for about half a second on two cores.
    pub(crate) fn further_runs(&self, n: usize) -> usize {
        let automatic = self.is_plain() && self.start == Start::Pca && self.memory != Memory::Sampled;
        self.restarts.unwrap_or(if automatic { (RESTART_PAIRS / n.pow(2).max(1)).pow(2).min(MAX_RESTARTS) } else { 0 })
    }

    /// Checks every parameter.
    ///
    /// # Errors
    /// [`Error::Config`] with the first field that is out of range.
    pub fn validate(&self) -> firebox_core::Result<()> {
        let check = |field, value: &dyn fmt::Display, allowed: bool, reason: &str| {
            let error = || Error::Config { field, value: value.to_string(), reason: reason.into() };
            if allowed { Ok(()) } else { Err(error()) }
        };
        check("dims", &self.dims, (1..=MAX_DIMS).contains(&self.dims), "must lie between 1 and 64")?;
        check("power", &self.power, (0.0..=8.0).contains(&self.power), "must lie between 0 and 8")?;
        if let Step::Alpha(size) | Step::Mu(size) = self.step {
            check("step", &self.step, size > 0.0 && size.is_finite(), "must be a number above 0")?;
            let mu_of_jacobi = self.solver == Solver::Jacobi && matches!(self.step, Step::Mu(_));
            check("step", &self.step, !mu_of_jacobi, "is for the solver gd; jacobi has alpha:V")?;
            let fixed = self.solver != Solver::Lbfgs;
            check("step", &self.step, fixed, "lbfgs finds its own; choose the solver gd or jacobi")?;
        }
        let restarts = self.restarts.unwrap_or(0);
        check("restarts", &restarts, restarts <= 10_000, "must lie between 0 and 10000")?;
        let iterations = (1..=10_000_000).contains(&self.iterations);
        check("iterations", &self.iterations, iterations, "must lie between 1 and 10000000")?;
        let tolerance = (0.0..1.0).contains(&self.tolerance);
        check("tolerance", &self.tolerance, tolerance, "must lie between 0 and 1, 1 excluded")?;
        if let Some(limit) = self.time_limit {
            check("time_limit", &limit, limit > 0.0 && limit.is_finite(), "must be a number of seconds above 0")?;
        }
        check("epochs", &self.epochs, (1..=1_000_000).contains(&self.epochs), "must lie between 1 and 1000000")?;
        check("block", &self.block, (1..=1 << 20).contains(&self.block), "must lie between 1 and 1048576")?;
        let units = self.units.is_power_of_two() && self.units <= 1024;
        check("units", &self.units, units, "must be a power of two from 1 to 1024")?;
        let (auto, sampled) = (self.variant == Variant::Auto, self.memory == Memory::Sampled);
        check("variant", &self.variant, auto || !sampled, "block sampling has its own; leave it at auto")?;
        let readable = auto || self.memory != Memory::CachedF16;
        check("variant", &self.variant, readable, "the paper's kernels read no f16; leave it at auto")?;
        let given = format!("{:?} with step {}", self.solver, self.step).to_lowercase();
        let reason = "block sampling has steps of its own; leave solver and step as they are";
        check("solver", &given, self.is_plain() || !sampled, reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_configuration_survives_json() {
        let config = SammonConfig::new(3).with_step(Step::Mu(0.01)).with_solver(Solver::Gd).with_time_limit(Some(2.5));
        let text = serde_json::to_string(&config).unwrap();
        assert_eq!(serde_json::from_str::<SammonConfig>(&text).unwrap(), config);
    }

    #[test]
    fn further_runs_take_bounded_time() {
        let config = SammonConfig::new(2);
        let runs = [1, 600, 774, 775, 1000, 1224, 1225, 1732, 1733, 100_000].map(|n| config.further_runs(n));
        assert_eq!(runs, [19, 19, 19, 16, 9, 4, 1, 1, 0, 0]);
        for other in [config.clone().with_start(Start::Random), config.clone().with_solver(Solver::Gd)] {
            assert_eq!(other.further_runs(100), 0);
        }
        assert_eq!(config.with_restarts(Some(4)).further_runs(100_000), 4);
    }

    #[test]
    fn steps_are_read_as_they_are_written() {
        for step in [Step::Auto, Step::Alpha(0.5), Step::Mu(1e-3)] {
            assert_eq!(step.to_string().parse::<Step>().unwrap(), step);
        }
        assert!("alpha".parse::<Step>().is_err() && "mu:x".parse::<Step>().is_err());
    }

    #[test]
    fn every_field_out_of_its_range_is_named() {
        let base = SammonConfig::new(2);
        for (field, config) in [
            ("dims", SammonConfig::new(0)),
            ("power", base.clone().with_power(f64::NAN)),
            ("step", base.clone().with_step(Step::Mu(1.0))),
            ("step", base.clone().with_solver(Solver::Gd).with_step(Step::Alpha(-1.0))),
            ("iterations", base.clone().with_iterations(0)),
            ("tolerance", base.clone().with_tolerance(1.0)),
            ("time_limit", base.clone().with_time_limit(Some(0.0))),
            ("epochs", base.clone().with_epochs(0)),
            ("block", base.clone().with_block(0)),
            ("restarts", base.clone().with_restarts(Some(1 << 20))),
            ("variant", base.clone().with_memory(Memory::Sampled).with_variant(Variant::RowsFull)),
            ("variant", base.clone().with_memory(Memory::CachedF16).with_variant(Variant::RowsFull)),
            ("solver", base.clone().with_memory(Memory::Sampled).with_solver(Solver::Gd)),
            ("units", base.with_units(48)),
        ] {
            let error = config.init().unwrap_err();
            assert!(matches!(error, Error::Config { field: name, .. } if name == field), "{field}: {error}");
        }
    }
}
