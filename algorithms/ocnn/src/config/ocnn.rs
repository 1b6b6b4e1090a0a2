//! Parameters of automatic clustering, their defaults and their ranges.

use burn::config::Config;
use firebox_core::Error;
use serde::{Deserialize, Serialize};

use crate::types::WORD_STEPS;

/// The distance of two points.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "command", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum Distance {
    /// √Σ(a − b)².
    #[default]
    Euclidean,
    /// Σ|a − b|.
    Manhattan,
    /// 1 − cos(a, b).
    Cosine,
    /// Along the great circle, in kilometres; columns are latitude and longitude in degrees.
    Haversine,
}

/// Where the tree is cut.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cut {
    /// Where the contrast of its edges falls off; nowhere if it is not above chance.
    #[default]
    Auto,
    /// At the K − 1 edges of the strongest contrast.
    Clusters(usize),
    /// At every edge of an agreement of at most θ, in (0, 1).
    Threshold(f64),
}

/// Configuration of an [`Ocnn`](crate::Ocnn).
///
/// ```
/// use firebox_ocnn::{Cut, OcnnConfig};
/// let ocnn = OcnnConfig::new().with_cut(Cut::Clusters(3)).init()?;
/// assert_eq!(ocnn.config().transient, 64);
/// # Ok::<(), firebox_core::Error>(())
/// ```
#[derive(Config, Debug, PartialEq)]
#[cfg_attr(feature = "command", derive(clap::Args))]
pub struct OcnnConfig {
    /// The distance of two points; cosine for sparse rows, and without meaning for an input of distances.
    #[config(default = "Distance::Euclidean")]
    #[cfg_attr(feature = "command", arg(skip = defaults().distance))]
    pub distance: Distance,
    /// Neighbours k in the first graph, at least 1; the second has twice as many [default: 24 and 48; below 450 points
    /// on surfaces 16 and 24; 8·ln N and twice as many along lines]
    #[config(default = "None")]
    #[cfg_attr(feature = "command", arg(long, value_name = "K"))]
    pub neighbours: Option<usize>,
    /// T: steps that count, of 16 networks on each graph; a multiple of 2. By default 20 480/√N for N points,
    /// at least 64 and at most 512.
    #[config(default = "None")]
    #[cfg_attr(feature = "command", arg(skip))]
    pub steps: Option<usize>,
    /// Steps of the transient, before those that count.
    #[config(default = 64)]
    #[cfg_attr(feature = "command", arg(skip = defaults().transient))]
    pub transient: usize,
    /// Where the tree is cut.
    #[config(default = "Cut::Auto")]
    #[cfg_attr(feature = "command", arg(skip = defaults().cut))]
    pub cut: Cut,
    /// Smallest cluster, in points, unless `clusters` asks for more clusters [default: 1.4·√N, but at least 5; where
    /// hardly any edge joins the cluster to others, at most 0.5·√N, but at least 20 and at most 48]
    #[config(default = "None")]
    #[cfg_attr(feature = "command", arg(long, value_name = "M"))]
    pub min_size: Option<usize>,
    /// No noise: every point belongs to the cluster that it hangs on
    #[config(default = false)]
    #[cfg_attr(feature = "command", arg(long))]
    pub assign_all: bool,
    /// Runs from successive seeds, 1 to 1000; the first is kept, and its agreement with the others is the stability
    #[config(default = 1)]
    #[cfg_attr(feature = "command", arg(long, value_name = "S", default_value_t = defaults().seeds))]
    pub seeds: usize,
    /// Try larger graphs too, two and four times k, for clusters that overlap, and keep the clusters of the largest
    /// H·stability, H the entropy of their sizes
    #[config(default = false)]
    #[cfg_attr(feature = "command", arg(long))]
    pub sweep: bool,
}

/// The defaults of the arguments.
#[cfg(feature = "command")]
fn defaults() -> OcnnConfig {
    OcnnConfig::new()
}

impl OcnnConfig {
    /// Checks every parameter; each has an error of its own.
    pub fn validate(&self) -> firebox_core::Result<()> {
        let wrong = |field, value: String, reason: &str| Err(Error::Config { field, value, reason: reason.into() });
        if self.neighbours == Some(0) {
            return wrong("neighbours", "0".into(), "must be at least 1");
        }
        if self.min_size == Some(0) {
            return wrong("min_size", "0".into(), "must be at least 1");
        }
        // Counts of ones over both graphs stay within 31 bits.
        if let Some(steps) =
            self.steps.filter(|&steps| steps == 0 || steps > 1 << 20 || !steps.is_multiple_of(WORD_STEPS))
        {
            return wrong("steps", steps.to_string(), "must be a multiple of 2 between 2 and 1048576");
        }
        if self.transient > 1 << 24 {
            return wrong("transient", self.transient.to_string(), "must be at most 16777216");
        }
        if self.seeds == 0 || self.seeds > 1000 {
            return wrong("seeds", self.seeds.to_string(), "must lie between 1 and 1000");
        }
        if let (Cut::Threshold(_), Some(size)) = (self.cut, self.min_size) {
            let reason = "bounds the clusters that are chosen, and a threshold cuts at every edge";
            return wrong("min_size", size.to_string(), reason);
        }
        match self.cut {
            Cut::Clusters(0) => wrong("clusters", "0".into(), "must be at least 1"),
            Cut::Threshold(_) if self.sweep => {
                wrong("sweep", "true".into(), "compares plateaus, which a given threshold does not have")
            }
            Cut::Threshold(theta) if !(theta > 0.0 && theta < 1.0) => {
                wrong("threshold", theta.to_string(), "must lie between 0 and 1, both excluded")
            }
            _ => Ok(()),
        }
    }
}
