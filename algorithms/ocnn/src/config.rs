//! Parameters, their defaults and their ranges.

use burn::config::Config;
use clap::ValueEnum;
use firebox_core::Error;
use serde::{Deserialize, Serialize};

use crate::{Ocnn, Scale, ops::Matvec};

/// When two neurons are in step.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Sync {
    /// Both outputs rose, or both did not.
    #[default]
    Phase,
    /// The outputs are closer than ε.
    Fragmentary,
}

/// Where the weights J come from in every step.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Weights {
    /// Recomputed up to 8 dimensions, where that is faster than reading; beyond, stored if they fit.
    #[default]
    Auto,
    /// Kept as a matrix of N².
    Stored,
    /// Recomputed from the points: no memory of N².
    OnTheFly,
}

/// How components are found among the links.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Linking {
    /// Links join trees where they are found, on the device.
    #[default]
    UnionFind,
    /// Searched from the host, links asked for row by row.
    BreadthFirst,
}

/// Configuration of an [`Ocnn`].
///
/// ```
/// use firebox_ocnn::{OcnnConfig, Sync};
/// let ocnn = OcnnConfig::new(0.7).with_sync(Sync::Fragmentary).with_epsilon(Some(0.35)).init().unwrap();
/// assert_eq!(ocnn.config().steps, 1000);
/// ```
#[derive(Config, Debug, PartialEq)]
pub struct OcnnConfig {
    /// θ in (0, 1): neurons are linked if in step at more than θ·T steps. No value suits all data.
    pub threshold: f64,
    /// When two neurons are in step.
    #[config(default = "Sync::Phase")]
    pub sync: Sync,
    /// ε > 0, which fragmentary synchronisation needs. Outputs lie in [−1, 1].
    #[config(default = "None")]
    pub epsilon: Option<f64>,
    /// T ≥ 1: steps that count.
    #[config(default = 1000)]
    pub steps: usize,
    /// Steps before those, which do not count.
    #[config(default = 0)]
    pub transient: usize,
    /// P ≥ 1: steps buffered before S takes them in.
    #[config(default = 64)]
    pub period: usize,
    /// How the scale a of the weights is found.
    #[config(default = "Scale::Delaunay")]
    pub scale: Scale,
    /// J_ii = 1, as in the paper's formula, instead of 0, as in its authors' code.
    #[config(default = false)]
    pub self_coupling: bool,
    /// Where the weights come from in every step.
    #[config(default = "Weights::Auto")]
    pub weights: Weights,
    /// How units share the work of a step on a GPU.
    #[config(default = "Matvec::Auto")]
    pub matvec: Matvec,
    /// How components are found.
    #[config(default = "Linking::UnionFind")]
    pub linking: Linking,
    /// Keep the synchronisation matrix S `[N, N]`; without it no memory of N² is used for synchronisation.
    #[config(default = false)]
    pub keep_sync: bool,
}

impl OcnnConfig {
    /// A network with these parameters, or the error that names the first one out of its range.
    pub fn init(&self) -> firebox_core::Result<Ocnn> {
        self.validate()?;
        Ok(Ocnn::new(self.clone()))
    }

    /// Checks every parameter; each has an error of its own.
    pub fn validate(&self) -> firebox_core::Result<()> {
        let wrong = |field, value: String, reason: &str| Err(Error::Config { field, value, reason: reason.into() });
        if !(self.threshold > 0.0 && self.threshold < 1.0) {
            return wrong("threshold", self.threshold.to_string(), "must lie between 0 and 1, both excluded");
        }
        match (self.sync, self.epsilon) {
            (Sync::Fragmentary, None) => {
                return wrong("epsilon", String::new(), "fragmentary synchronisation needs it; try 0.35");
            }
            (_, Some(e)) if !(e > 0.0 && e.is_finite()) => {
                return wrong("epsilon", e.to_string(), "must be a number above 0");
            }
            (Sync::Phase, Some(e)) => {
                return wrong("epsilon", e.to_string(), "has no meaning in phase synchronisation; leave it out");
            }
            _ => {}
        }
        // Counts go up to T in 32-bit integers, and in f32 on backends without kernels.
        if self.steps == 0 || self.steps > 1 << 24 {
            return wrong("steps", self.steps.to_string(), "must lie between 1 and 16777216");
        }
        if self.transient > u32::MAX as usize {
            return wrong("transient", self.transient.to_string(), "must be below 4294967296");
        }
        if self.period == 0 || self.period > 1 << 16 {
            return wrong("period", self.period.to_string(), "must lie between 1 and 65536");
        }
        match self.scale {
            Scale::Nearest { k: 0 } => wrong("scale", "nearest:0".into(), "needs at least one neighbour"),
            Scale::Fixed(a) if !(a > 0.0 && a.is_finite()) => wrong("scale", a.to_string(), "must be a length above 0"),
            _ => Ok(()),
        }
    }

    /// Steps in common that do not yet link: S > θ·T is S > limit for whole S.
    pub(crate) fn limit(&self) -> usize {
        let product = self.threshold * self.steps as f64;
        let nearest = product.round();
        // θ is meant in decimals: 0.57 · 100 is 57, not 56.99999999999999.
        let meant = if (product - nearest).abs() < 1e-9 * nearest.max(1.0) { nearest } else { product.floor() };
        meant as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_threshold_is_meant_in_decimals() {
        let limit = |theta, steps| OcnnConfig::new(theta).with_steps(steps).limit();
        assert_eq!(limit(0.57, 100), 57);
        assert_eq!(limit(0.67, 1000), 670);
        assert_eq!(limit(0.5, 3), 1);
        assert_eq!(limit(0.999, 1), 0);
    }

    #[test]
    fn the_configuration_survives_json() {
        let config = OcnnConfig::new(0.65).with_scale(Scale::Nearest { k: 7 }).with_sync(Sync::Fragmentary);
        let text = serde_json::to_string(&config).unwrap();
        assert_eq!(serde_json::from_str::<OcnnConfig>(&text).unwrap(), config);
    }
}
