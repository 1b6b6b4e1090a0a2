//! Random samples of the points, for quantities that are too costly over all of them.

use firebox_core::random::Random;

use super::nondimensional::Prepared;

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
        prepared.subset(&self.chosen)
    }
}
