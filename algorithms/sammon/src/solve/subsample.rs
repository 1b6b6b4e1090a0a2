//! Random samples of the points, for quantities that are too costly over all of them.

use firebox_core::random::Random;

use super::nondimensional::{Prepared, PreparedSource};

/// The stream of [`Random`] that samples are drawn from.
const SAMPLE: u64 = u64::from_be_bytes(*b"sam-samp");

/// A sample of the points; independent of the run's seed.
pub(crate) struct Subsample {
    /// Indices of the sampled points, ascending.
    pub(crate) chosen: Vec<usize>,
    n: usize,
}

impl Subsample {
    /// Draws at most `most` of n points.
    pub(crate) fn new(n: usize, most: usize) -> Self {
        let mut all: Vec<usize> = (0..n).collect();
        if n > most {
            Random::new(0, SAMPLE).shuffle(&mut all);
            all.truncate(most);
            all.sort_unstable();
        }
        Self { chosen: all, n }
    }

    /// Number of all points n.
    pub(crate) fn population(&self) -> usize {
        self.n
    }

    /// Columns of the sample, from an embedding `[m, n]` of all points.
    pub(crate) fn embedding(&self, x: &[f64]) -> Vec<f64> {
        x.chunks(self.n).flat_map(|row| self.chosen.iter().map(|&i| row[i])).collect()
    }

    /// Restricts prepared points to the sample.
    pub(crate) fn points(&self, prepared: &Prepared) -> Prepared {
        let source = match &prepared.source {
            PreparedSource::Features { values, d, metric, scaling } => PreparedSource::Features {
                values: self.chosen.iter().flat_map(|&i| values[i * d..(i + 1) * d].iter().copied()).collect(),
                d: *d,
                metric: *metric,
                scaling: scaling.clone(),
            },
            PreparedSource::Distances(values) => PreparedSource::Distances(
                self.chosen.iter().flat_map(|&i| self.chosen.iter().map(move |&j| values[i * self.n + j])).collect(),
            ),
        };
        let counts = self.chosen.iter().map(|&i| prepared.counts[i]).collect();
        Prepared { source, counts, index: Vec::new(), unit: prepared.unit, zero_pairs: 0 }
    }
}
