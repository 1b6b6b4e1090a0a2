//! Parameters of the network of all pairs, their defaults and their ranges.

use std::{fmt, str::FromStr};

use burn::config::Config;
use firebox_core::Error;
use serde::{Deserialize, Serialize};

use crate::types::Matvec;

/// When two neurons are in step.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "command", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum Sync {
    /// Both outputs rose, or both did not.
    #[default]
    Phase,
    /// The outputs are closer than ε.
    Fragmentary,
}

/// Source of the weights J in every step.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "command", derive(clap::ValueEnum))]
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

/// Method that finds components among the links.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "command", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum Linking {
    /// Links join trees where they are found, on the device.
    #[default]
    UnionFind,
    /// Searched from the host, links asked for row by row.
    BreadthFirst,
}

/// Method that determines the scale a.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// Mean distance to the Delaunay neighbours; above 5 dimensions, or for points on a line or plane, to the 20 nearest
    /// neighbours instead.
    #[default]
    Delaunay,
    /// Mean distance to the k nearest neighbours.
    Nearest {
        /// Number of neighbours, at least 1; n − 1 where there are fewer.
        k: usize,
    },
    /// This value, in the unit of the coordinates: finite and above 0.
    Fixed(f64),
}

impl fmt::Display for Scale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Delaunay => f.write_str("delaunay"),
            Self::Nearest { k } => write!(f, "nearest:{k}"),
            Self::Fixed(a) => write!(f, "{a}"),
        }
    }
}

impl FromStr for Scale {
    type Err = String;

    /// Reads `delaunay`, `nearest`, `nearest:K` or a length.
    fn from_str(text: &str) -> Result<Self, String> {
        let unknown = || format!("'{text}' is neither delaunay, nearest, nearest:K nor a length");
        match text.split_once(':') {
            Some(("nearest", k)) => k.parse().map(|k| Self::Nearest { k }).map_err(|_| unknown()),
            None if text == "delaunay" => Ok(Self::Delaunay),
            None if text == "nearest" => Ok(Self::Nearest { k: 20 }),
            _ => text.parse().map(Self::Fixed).map_err(|_| unknown()),
        }
    }
}

/// Configuration of a [`PaperOcnn`](crate::PaperOcnn).
///
/// ```
/// use firebox_ocnn::{PaperConfig, Sync};
/// let ocnn = PaperConfig::new(0.7).with_sync(Sync::Fragmentary).with_epsilon(Some(0.35)).init()?;
/// assert_eq!(ocnn.config().steps, 1000);
/// # Ok::<(), firebox_core::Error>(())
/// ```
#[derive(Config, Debug, PartialEq)]
#[cfg_attr(feature = "command", derive(clap::Args))]
pub struct PaperConfig {
    /// θ in (0, 1): neurons are linked if in step at more than θ·T steps. No value suits all data.
    #[cfg_attr(feature = "command", arg(skip = defaults().threshold))]
    pub threshold: f64,
    /// When two neurons are in step
    #[config(default = "Sync::Phase")]
    #[cfg_attr(feature = "command", arg(long, value_enum, default_value_t = defaults().sync))]
    pub sync: Sync,
    /// Distance above 0 below which outputs, which lie between -1 and 1, are in step; fragmentary synchronisation needs it
    #[config(default = "None")]
    #[cfg_attr(feature = "command", arg(long, value_name = "E"))]
    pub epsilon: Option<f64>,
    /// T ≥ 1: steps that count.
    #[config(default = 1000)]
    #[cfg_attr(feature = "command", arg(skip = defaults().steps))]
    pub steps: usize,
    /// Steps of the transient, before those that count.
    #[config(default = 0)]
    #[cfg_attr(feature = "command", arg(skip = defaults().transient))]
    pub transient: usize,
    /// Steps buffered before they are counted, 1 to 65536
    #[config(default = 64)]
    #[cfg_attr(feature = "command", arg(long, value_name = "P", default_value_t = defaults().period))]
    pub period: usize,
    /// The scale of the weights: delaunay, nearest, nearest:K or a length in the points' unit
    #[config(default = "Scale::Delaunay")]
    #[cfg_attr(
        feature = "command",
        arg(long, value_name = "SCALE", default_value_t = defaults().scale)
    )]
    pub scale: Scale,
    /// Couple every neuron with itself: J_ii = 1, as in the paper's formula, instead of 0, as in its authors' code
    #[config(default = false)]
    #[cfg_attr(feature = "command", arg(long))]
    pub self_coupling: bool,
    /// Source of the weights in every step
    #[config(default = "Weights::Auto")]
    #[cfg_attr(feature = "command", arg(long, value_enum, default_value_t = defaults().weights))]
    pub weights: Weights,
    /// Distribution of a step's work over GPU units; y-threads is not deterministic
    #[config(default = "Matvec::Auto")]
    #[cfg_attr(feature = "command", arg(long, value_enum, default_value_t = defaults().matvec))]
    pub matvec: Matvec,
    /// How clusters are found among the links
    #[config(default = "Linking::UnionFind")]
    #[cfg_attr(feature = "command", arg(long, value_enum, default_value_t = defaults().linking))]
    pub linking: Linking,
    /// Keep the synchronisation matrix S `[N, N]`; without it no memory of N² is used for synchronisation.
    #[config(default = false)]
    #[cfg_attr(feature = "command", arg(skip = defaults().keep_sync))]
    pub keep_sync: bool,
}

/// The defaults of the arguments. The command sets the threshold, which has none.
#[cfg(feature = "command")]
fn defaults() -> PaperConfig {
    PaperConfig::new(f64::NAN)
}

impl PaperConfig {
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
            Scale::Nearest { k: 0 } => wrong("scale", self.scale.to_string(), "needs at least one neighbour"),
            Scale::Fixed(a) if !(a > 0.0 && a.is_finite()) => {
                wrong("scale", self.scale.to_string(), "must be a length above 0")
            }
            _ => Ok(()),
        }
    }

    /// Largest synchronisation that does not link: S > θ·T is S > limit for integer S.
    pub(crate) fn limit(&self) -> usize {
        let product = self.threshold * self.steps as f64;
        let nearest = product.round();
        // θ is a decimal number: 0.57 · 100 is 57, not 56.99999999999999.
        let limit = if (product - nearest).abs() < 1e-9 * nearest.max(1.0) { nearest } else { product.floor() };
        limit as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_threshold_is_a_decimal_number() {
        let limit = |theta, steps| PaperConfig::new(theta).with_steps(steps).limit();
        assert_eq!(limit(0.57, 100), 57);
        assert_eq!(limit(0.67, 1000), 670);
        assert_eq!(limit(0.5, 3), 1);
        assert_eq!(limit(0.999, 1), 0);
    }

    #[test]
    fn scales_are_read_as_they_are_written() {
        for scale in [Scale::Delaunay, Scale::Nearest { k: 7 }, Scale::Fixed(0.25)] {
            assert_eq!(scale.to_string().parse::<Scale>(), Ok(scale));
        }
        assert_eq!("nearest".parse::<Scale>(), Ok(Scale::Nearest { k: 20 }));
        assert!("far".parse::<Scale>().is_err() && "nearest:-1".parse::<Scale>().is_err());
    }

    #[test]
    fn the_configuration_survives_json() {
        let config = PaperConfig::new(0.65).with_scale(Scale::Nearest { k: 7 }).with_sync(Sync::Fragmentary);
        let text = serde_json::to_string(&config).unwrap();
        assert_eq!(serde_json::from_str::<PaperConfig>(&text).unwrap(), config);
    }
}
