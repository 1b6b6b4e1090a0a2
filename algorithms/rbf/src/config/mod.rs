//! Parameters, their defaults and their ranges.

mod adaptive;

pub use adaptive::AdaptiveConfig;
pub(crate) use adaptive::LEAST_NEURONS;
use burn::config::Config;
use firebox_core::Error;

use crate::types::{Redraw, Sampling, ShapeSolver, Weights, Width};

/// Maximum number of neurons for which `auto` solves for the weights by QR.
const MAX_QR_NEURONS: usize = 4096;

/// Configuration of an [`RbfSolver`](crate::RbfSolver).
///
/// ```
/// use firebox_rbf::{RbfConfig, ShapeSolver, Weights};
/// let paper = RbfConfig::new().with_weights(Weights::Cg).with_shape(ShapeSolver::Gd).with_cycles(Some(200));
/// assert_eq!((paper.neurons, paper.penalty), (64, 100.0));
/// ```
#[derive(Config, Debug, PartialEq)]
#[cfg_attr(feature = "command", derive(clap::Args))]
pub struct RbfConfig {
    /// Approximate number m of neurons, 1 to 2²⁴; their centres lie on a grid over the domain. With --mode auto, if given,
    /// the network grows to the largest level of at most that many, 150 to 65536, whatever the estimate of its error
    #[config(default = 64)]
    #[cfg_attr(feature = "command", arg(long, value_name = "M", default_value_t = defaults().neurons))]
    pub neurons: usize,
    /// Number N of control points inside, 1 to 2³⁰ [default: 7 per neuron]
    #[config(default = "None")]
    #[cfg_attr(feature = "command", arg(long, value_name = "N"))]
    pub points: Option<usize>,
    /// Number K of control points on the boundary, 1 to 2³⁰ [default: 9.5·√m, in three dimensions 14.25·m^⅔]
    #[config(default = "None")]
    #[cfg_attr(feature = "command", arg(long, value_name = "K"))]
    pub boundary_points: Option<usize>,
    /// Weight λ of the boundary conditions, above 0
    #[config(default = 100.0)]
    #[cfg_attr(
        feature = "command",
        arg(long, value_name = "L", default_value_t = defaults().penalty)
    )]
    pub penalty: f64,
    /// Solver for the weights; qr works in f64 on the host whatever --precision says
    #[config(default = "Weights::Auto")]
    #[cfg_attr(feature = "command", arg(long, value_enum, default_value_t = defaults().weights))]
    pub weights: Weights,
    /// Training of centres and widths
    #[config(default = "ShapeSolver::None")]
    #[cfg_attr(feature = "command", arg(long, value_enum, default_value_t = defaults().shape))]
    pub shape: ShapeSolver,
    /// Width a of all neurons at the start in spacings of their centres, above 0, or auto: the one with the least
    /// residual at points held out. With --mode auto the width in sides of a cell, up to 100 [default: 0.7 for --shape
    /// lm, 3 for cg, else 8; with --mode auto auto]
    #[config(default = "Width::Default")]
    #[cfg_attr(
        feature = "command",
        arg(
            long,
            value_name = "A|auto",
            default_value_t = defaults().width,
            hide_default_value = true
        )
    )]
    pub width: Width,
    /// Spacings that the grid of centres reaches outside the domain, 0 to 1000 [default: 0.35 for qr and lsqr, 0 for cg
    /// and --shape lm]
    #[config(default = "None")]
    #[cfg_attr(feature = "command", arg(long, value_name = "R"))]
    pub reach: Option<f64>,
    /// Distribution of control points
    #[config(default = "Sampling::Uniform")]
    #[cfg_attr(feature = "command", arg(long, value_enum, default_value_t = defaults().sampling))]
    pub sampling: Sampling,
    /// When control points are drawn
    #[config(default = "Redraw::Auto")]
    #[cfg_attr(feature = "command", arg(long, value_enum, default_value_t = defaults().redraw))]
    pub redraw: Redraw,
    /// Maximum number of cycles, 1 to 10⁹ [default: 1 for qr and lsqr with --shape none, where a second would change
    /// nothing, 100 for --shape lm, else 200]
    #[config(default = "None")]
    #[cfg_attr(feature = "command", arg(long, value_name = "C"))]
    pub cycles: Option<usize>,
    /// Gradient steps per cycle (--shape gd), 1 to 10⁶ [default: 2]
    #[config(default = "None")]
    #[cfg_attr(feature = "command", arg(long, value_name = "S"))]
    pub steps: Option<usize>,
    /// Maximum rate η of gradient steps, above 0 and up to 10⁶: steps that together raise the objective are taken again
    /// with half of it, and it comes back slowly [default: 0.01]
    #[config(default = "None")]
    #[cfg_attr(feature = "command", arg(long = "learning-rate", alias = "rate", value_name = "ETA"))]
    pub rate: Option<f64>,
    /// Take --learning-rate as it is in every cycle, even where that raises the objective: as the weights grow, 0.01 becomes too
    /// large
    #[config(default = false)]
    #[cfg_attr(feature = "command", arg(long))]
    pub fixed_rate: bool,
    /// Iterations of cg per cycle, or at most of lsqr, 1 to 10⁶ [default: 30 for cg, 1000 for lsqr]
    #[config(default = "None")]
    #[cfg_attr(feature = "command", arg(long = "max-iterations", alias = "iterations", value_name = "I"))]
    pub iterations: Option<usize>,
    /// Stop once the residual norm √(2I) at the control points is at most this; 0 never stops
    #[config(default = 0.0)]
    #[cfg_attr(
        feature = "command",
        arg(long, value_name = "T", default_value_t = defaults().tolerance)
    )]
    pub tolerance: f64,
    /// Stop after this many seconds, counted from the start of the run, with the solution of the last complete cycle or,
    /// of cg and lsqr, with that of the iterations done in the first; an error if there is no solution by then
    #[config(default = "None")]
    #[cfg_attr(feature = "command", arg(long, value_name = "S"))]
    pub time_limit: Option<f64>,
    /// Leave out singular values below this share of the largest, between 0 and 1, both excluded (qr)
    #[config(default = "None")]
    #[cfg_attr(feature = "command", arg(long, value_name = "SHARE"))]
    pub truncation: Option<f64>,
}

/// The defaults of the arguments.
#[cfg(feature = "command")]
fn defaults() -> RbfConfig {
    RbfConfig::new()
}

/// A configuration with all defaults resolved, for a number of dimensions and a precision.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Settings {
    pub(crate) points: usize,
    pub(crate) boundary_points: usize,
    /// Never [`Weights::Auto`].
    pub(crate) weights: Weights,
    pub(crate) reach: f64,
    /// `None` if it is to be searched.
    pub(crate) width: Option<f64>,
    pub(crate) redraw: bool,
    pub(crate) cycles: usize,
    pub(crate) iterations: usize,
    pub(crate) steps: usize,
    pub(crate) rate: f64,
}

impl RbfConfig {
    /// Settings for `dims` dimensions on a device that computes in f64 (`wide`) or f32; fails if a given parameter has
    /// no effect there.
    pub(crate) fn settings(&self, dims: usize, wide: bool) -> firebox_core::Result<Settings> {
        let settings = self.resolved(dims, wide);
        let weights = settings.weights;
        if let Some(share) = self.truncation.filter(|_| weights != Weights::Qr) {
            let reason = format!("is for `weights = qr`; here {weights} runs, which has no singular values");
            return refused("truncation", share, &reason);
        }
        if let Some(count) = self.iterations.filter(|_| weights == Weights::Qr) {
            return refused("iterations", count, "qr has none; leave it out, or take `weights = cg` or lsqr");
        }
        if self.redraw == Redraw::Cycle && settings.cycles == 1 {
            return refused("redraw", "cycle", "there is one cycle only; give `cycles`");
        }
        Ok(settings)
    }

    fn resolved(&self, dims: usize, wide: bool) -> Settings {
        let m = self.neurons as f64;
        let weights = match self.weights {
            Weights::Auto if self.neurons <= MAX_QR_NEURONS || self.shape == ShapeSolver::Lm => Weights::Qr,
            Weights::Auto if wide => Weights::Lsqr,
            Weights::Auto => Weights::Cg,
            given => given,
        };
        let (cg, lm) = (weights == Weights::Cg, self.shape == ShapeSolver::Lm);
        let redraw = match self.redraw {
            Redraw::Auto => cg,
            Redraw::Cycle => true,
            Redraw::Never => false,
        };
        let around = if dims == 2 { 9.5 * m.sqrt() } else { 14.25 * m.powf(2.0 / 3.0) };
        let cycles = match self.shape {
            ShapeSolver::Lm => 100,
            ShapeSolver::None if !cg => 1,
            _ => 200,
        };
        Settings {
            points: self.points.unwrap_or(7 * self.neurons),
            boundary_points: self.boundary_points.unwrap_or(around.ceil() as usize),
            weights,
            reach: self.reach.unwrap_or(if cg || lm { 0.0 } else { 0.35 }),
            width: match self.width {
                Width::Default if lm => Some(0.7),
                Width::Default if cg => Some(3.0),
                Width::Default => Some(8.0),
                Width::Auto => None,
                Width::Spacings(ratio) => Some(ratio),
            },
            redraw,
            cycles: self.cycles.unwrap_or(cycles),
            iterations: self.iterations.unwrap_or(if cg { 30 } else { 1000 }),
            steps: self.steps.unwrap_or(2),
            rate: self.rate.unwrap_or(1e-2),
        }
    }

    /// This configuration with the defaults that `settings` resolved, and the initial width in spacings.
    pub(crate) fn completed(&self, settings: &Settings, ratio: f64) -> Self {
        let (qr, gd) = (settings.weights == Weights::Qr, self.shape == ShapeSolver::Gd);
        Self {
            points: Some(settings.points),
            boundary_points: Some(settings.boundary_points),
            weights: settings.weights,
            width: Width::Spacings(ratio),
            reach: Some(settings.reach),
            cycles: Some(settings.cycles),
            iterations: (!qr).then_some(settings.iterations),
            steps: gd.then_some(settings.steps),
            rate: gd.then_some(settings.rate),
            ..self.clone()
        }
    }

    /// Checks every parameter; fails with the name of the first that is out of range.
    pub fn validate(&self) -> firebox_core::Result<()> {
        let counts = [
            ("neurons", Some(self.neurons), 1 << 24),
            ("points", self.points, 1 << 30),
            ("boundary_points", self.boundary_points, 1 << 30),
            ("cycles", self.cycles, 1_000_000_000),
            ("steps", self.steps, 1_000_000),
            ("iterations", self.iterations, 1_000_000),
        ];
        for (field, count, most) in counts {
            if let Some(count) = count.filter(|&count| count == 0 || count > most) {
                return refused(field, count, &format!("must lie between 1 and {most}"));
            }
        }
        let positive = |value: f64| value > 0.0 && value.is_finite();
        let width = if let Width::Spacings(ratio) = self.width { Some(ratio) } else { None };
        type Range = fn(f64) -> bool;
        let numbers: [(_, _, Range, _); 4] = [
            ("penalty", Some(self.penalty), positive, "must be a number above 0"),
            ("width", width, positive, "must be a number of spacings above 0, or auto"),
            ("reach", self.reach, |reach| (0.0..=1e3).contains(&reach), "must lie between 0 and 1000 spacings"),
            ("rate", self.rate, |rate| rate > 0.0 && rate <= 1e6, "must be a number above 0, at most 1000000"),
        ];
        for (field, value, holds, reason) in numbers {
            if let Some(value) = value.filter(|&value| !holds(value)) {
                return refused(field, value, reason);
            }
        }
        let given = [
            ("steps", self.steps.map(|steps| steps.to_string())),
            ("rate", self.rate.map(|rate| rate.to_string())),
            ("fixed_rate", self.fixed_rate.then(|| "true".into())),
        ];
        if let Some((field, value)) = given.into_iter().find_map(|(field, value)| Some((field, value?)))
            && self.shape != ShapeSolver::Gd
        {
            return refused(field, value, "is for `shape = gd`, which alone takes gradient steps");
        }
        if !(self.tolerance >= 0.0 && self.tolerance.is_finite()) {
            return refused("tolerance", self.tolerance, "must be a number, 0 or more");
        }
        if let Some(limit) = self.time_limit.filter(|&limit| !positive(limit)) {
            return refused("time_limit", limit, "must be a number of seconds above 0");
        }
        let (qr, lm) = (matches!(self.weights, Weights::Auto | Weights::Qr), self.shape == ShapeSolver::Lm);
        if let Some(share) = self.truncation {
            if !(share > 0.0 && share < 1.0) {
                return refused("truncation", share, "must lie between 0 and 1, both excluded");
            }
            if !qr {
                return refused("truncation", share, "is for `weights = qr`, which alone has singular values");
            }
            if lm {
                return refused("truncation", share, "lm has its own; leave it out, or take `shape = none`");
            }
        }
        if lm && !qr {
            let reason = "eliminates the weights by QR; give `weights = qr`, or another shape solver";
            return refused("shape", "lm", reason);
        }
        Ok(())
    }
}

fn refused<T>(field: &'static str, value: impl ToString, reason: &str) -> firebox_core::Result<T> {
    Err(Error::Config { field, value: value.to_string(), reason: reason.into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_configuration_survives_json() {
        let config = RbfConfig::new().with_neurons(25).with_width(Width::Spacings(0.7)).with_truncation(Some(1e-12));
        let text = serde_json::to_string(&config).unwrap();
        assert_eq!(serde_json::from_str::<RbfConfig>(&text).unwrap(), config);
    }

    #[test]
    fn defaults_are_those_of_the_solver() {
        let base = RbfConfig::new();
        let of = |config: &RbfConfig| config.settings(2, false).unwrap();
        let qr = of(&base);
        assert_eq!((qr.weights, qr.points, qr.boundary_points), (Weights::Qr, 448, 76));
        assert_eq!((qr.width, qr.reach, qr.cycles, qr.redraw), (Some(8.0), 0.35, 1, false));
        let cg = of(&base.clone().with_weights(Weights::Cg));
        assert_eq!((cg.width, cg.reach, cg.cycles, cg.redraw, cg.iterations), (Some(3.0), 0.0, 200, true, 30));
        let lm = of(&base.clone().with_shape(ShapeSolver::Lm));
        assert_eq!((lm.weights, lm.width, lm.reach, lm.cycles, lm.redraw), (Weights::Qr, Some(0.7), 0.0, 100, false));
        let many = RbfConfig::new().with_neurons(5000);
        assert_eq!((of(&many).weights, many.settings(2, true).unwrap().weights), (Weights::Cg, Weights::Lsqr));
        assert_eq!(of(&base.with_width(Width::Auto)).width, None);
    }

    #[test]
    fn parameters_without_effect_are_refused() {
        for (field, config) in [
            ("truncation", RbfConfig::new().with_neurons(5000).with_truncation(Some(1e-9))),
            ("iterations", RbfConfig::new().with_iterations(Some(30))),
            ("iterations", RbfConfig::new().with_shape(ShapeSolver::Lm).with_iterations(Some(30))),
            ("redraw", RbfConfig::new().with_redraw(Redraw::Cycle)),
        ] {
            for wide in [false, true] {
                let error = config.settings(2, wide).unwrap_err();
                assert!(matches!(error, Error::Config { field: name, .. } if name == field), "{field}: {error}");
            }
        }
        assert!(RbfConfig::new().with_redraw(Redraw::Cycle).with_cycles(Some(3)).settings(2, true).is_ok());
    }

    #[test]
    fn every_field_out_of_its_range_is_named() {
        let base = RbfConfig::new();
        for (field, config) in [
            ("neurons", RbfConfig::new().with_neurons(0)),
            ("points", base.clone().with_points(Some(0))),
            ("boundary_points", base.clone().with_boundary_points(Some(0))),
            ("penalty", base.clone().with_penalty(-1.0)),
            ("penalty", base.clone().with_penalty(f64::NAN)),
            ("width", base.clone().with_width(Width::Spacings(-1.0))),
            ("reach", base.clone().with_reach(Some(-0.1))),
            ("cycles", base.clone().with_cycles(Some(0))),
            ("steps", base.clone().with_shape(ShapeSolver::Gd).with_steps(Some(0))),
            ("steps", base.clone().with_steps(Some(2))),
            ("rate", base.clone().with_shape(ShapeSolver::Gd).with_rate(Some(0.0))),
            ("rate", base.clone().with_shape(ShapeSolver::Gd).with_rate(Some(1e7))),
            ("rate", base.clone().with_rate(Some(0.1))),
            ("fixed_rate", base.clone().with_fixed_rate(true)),
            ("iterations", base.clone().with_iterations(Some(0))),
            ("tolerance", base.clone().with_tolerance(-1.0)),
            ("time_limit", base.clone().with_time_limit(Some(0.0))),
            ("truncation", base.clone().with_truncation(Some(2.0))),
            ("truncation", base.clone().with_weights(Weights::Cg).with_truncation(Some(1e-9))),
            ("shape", base.with_weights(Weights::Cg).with_shape(ShapeSolver::Lm)),
        ] {
            let error = config.validate().unwrap_err();
            assert!(matches!(error, Error::Config { field: name, .. } if name == field), "{field}: {error}");
        }
    }
}
