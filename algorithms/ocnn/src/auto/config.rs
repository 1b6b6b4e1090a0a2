//! Parameters of automatic clustering, their defaults and their ranges.

use burn::config::Config;
use clap::ValueEnum;
use firebox_core::Error;
use serde::{Deserialize, Serialize};

use super::{
    Auto,
    graph::Dimensions,
    select::{FEW, SOLID},
};

/// Neighbours of points along lines, of the first graph, for each factor e in their number.
const THIN_NEIGHBOURS: f64 = 8.0;

/// The distance of two points.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
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

/// Configuration of an [`Auto`].
///
/// ```
/// use firebox_ocnn::{AutoConfig, auto::Cut};
/// let auto = AutoConfig::new().with_cut(Cut::Clusters(3)).init().unwrap();
/// assert_eq!(auto.config().steps, 512);
/// ```
#[derive(Config, Debug, PartialEq)]
pub struct AutoConfig {
    /// The distance of two points; without meaning for an input of distances.
    #[config(default = "Distance::Euclidean")]
    pub distance: Distance,
    /// k of the first graph; the second has twice as many. By default 24 and 48; below 450 points 16 and 24, or 24 and 56
    /// if they fill more than a surface; 8·ln N and twice as many along lines.
    #[config(default = "None")]
    pub neighbours: Option<usize>,
    /// T: steps that count, of 8 networks on each graph; a multiple of 4.
    #[config(default = 512)]
    pub steps: usize,
    /// Steps before those, which do not count.
    #[config(default = 64)]
    pub transient: usize,
    /// Where the tree is cut.
    #[config(default = "Cut::Auto")]
    pub cut: Cut,
    /// No noise: every point belongs to the cluster that it hangs on.
    #[config(default = false)]
    pub assign_all: bool,
    /// S ≥ 1: runs from other states whose clusters are compared with those of the first.
    #[config(default = 1)]
    pub seeds: usize,
    /// Tries larger graphs too, two and four times k, and takes the clusters that tell most and that other runs find
    /// again: the largest H·stability, H the entropy of their sizes.
    #[config(default = false)]
    pub sweep: bool,
}

impl AutoConfig {
    /// A clustering with these parameters, or the error that names the first one out of its range.
    pub fn init(&self) -> firebox_core::Result<Auto> {
        self.validate()?;
        Ok(Auto::new(self.clone()))
    }

    /// Checks every parameter; each has an error of its own.
    pub fn validate(&self) -> firebox_core::Result<()> {
        let wrong = |field, value: String, reason: &str| Err(Error::Config { field, value, reason: reason.into() });
        if self.neighbours == Some(0) {
            return wrong("neighbours", "0".into(), "must be at least 1");
        }
        // Counts of ones over both graphs stay within 31 bits.
        if self.steps == 0 || self.steps > 1 << 20 || !self.steps.is_multiple_of(4) {
            return wrong("steps", self.steps.to_string(), "must be a multiple of 4 between 4 and 1048576");
        }
        if self.transient > 1 << 24 {
            return wrong("transient", self.transient.to_string(), "must be at most 16777216");
        }
        if self.seeds == 0 || self.seeds > 1000 {
            return wrong("seeds", self.seeds.to_string(), "must lie between 1 and 1000");
        }
        match self.cut {
            Cut::Clusters(0) => wrong("clusters", "0".into(), "must be at least 1"),
            Cut::Threshold(_) if self.sweep => {
                wrong("sweep", "true".into(), "chooses by plateaus, which a given threshold has none of")
            }
            Cut::Threshold(theta) if !(theta > 0.0 && theta < 1.0) => {
                wrong("threshold", theta.to_string(), "must lie between 0 and 1, both excluded")
            }
            _ => Ok(()),
        }
    }

    /// Both k for `points` points of these dimensions, `factor` times as large as by default; at most `most`.
    pub(crate) fn graphs(&self, points: usize, dimensions: Dimensions, factor: usize, most: usize) -> [usize; 2] {
        let both = match self.neighbours {
            Some(k) => [k, k.saturating_mul(2)],
            // A gap along a line is as wide as ln N spacings by chance, and nothing leads round it.
            None if dimensions.thin(points) => {
                let k = (THIN_NEIGHBOURS * (points as f64).ln()) as usize;
                [k, 2 * k]
            }
            None if points >= FEW => [24, 48],
            // A graph's neighbours must be far fewer than a cluster's points, but enough to surround one.
            None if dimensions.near > SOLID => [24, 56],
            None => [16, 24],
        };
        both.map(|k| k.saturating_mul(factor).min(most))
    }

    /// Neighbours from which the dimensions are told, and more, so that they mostly do for the graphs too.
    pub(crate) fn first_look(&self, most: usize) -> usize {
        self.neighbours.map_or(56, |k| k.saturating_mul(2).max(super::CANDIDATES)).min(most)
    }

    /// No graph of so many points has more neighbours.
    pub(crate) fn most(&self, points: usize, factor: usize) -> usize {
        let thin = 2.0 * THIN_NEIGHBOURS * (points.max(1) as f64).ln();
        self.neighbours
            .map_or(56.max(thin as usize), |k| k.saturating_mul(2))
            .saturating_mul(factor)
            .max(super::CANDIDATES)
    }
}
