//! Lists of nearest neighbours of any lengths.

use std::ops::Range;

use rayon::prelude::*;

/// A neighbour and its distance.
pub(super) type Neighbour = (u32, f64);

/// Neighbours of each neuron, nearest first: those of neuron i are at `starts[i]..starts[i + 1]`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct NeighbourLists {
    pub(crate) starts: Vec<usize>,
    pub(crate) indices: Vec<u32>,
    pub(crate) distances: Vec<f64>,
}

impl NeighbourLists {
    pub(crate) fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Positions of the k nearest of neuron i, or of all if there are fewer.
    pub(super) fn first(&self, i: usize, k: usize) -> Range<usize> {
        let (start, end) = (self.starts[i], self.starts[i + 1]);
        start..end.min(start + k)
    }

    /// Mean distance to the k nearest, over all neurons.
    pub(crate) fn mean(&self, k: usize) -> f64 {
        let row = |i: usize| {
            let row = &self.distances[self.first(i, k)];
            (row.iter().sum::<f64>(), row.len())
        };
        // Added in a fixed order, for the same bits on any number of threads.
        let rows: Vec<(f64, usize)> = (0..self.len()).into_par_iter().map(row).collect();
        let (sum, count) = rows.into_iter().fold((0.0, 0), |(sum, count), row| (sum + row.0, count + row.1));
        sum / count.max(1) as f64
    }

    /// The largest distance to a k-th (or last) neighbour.
    pub(crate) fn reach(&self, k: usize) -> f64 {
        let last = |i: usize| self.distances[self.first(i, k)].last().copied().unwrap_or(0.0);
        (0..self.len()).into_par_iter().map(last).reduce(|| 0.0, f64::max)
    }

    /// A label for each list: that of the nearest neighbour at distance 0; −1 if the nearest is beyond `reach`; else
    /// the label of largest weight Σ m·exp(−d²/2a²), a the list's mean distance, the smaller label among equals.
    pub(crate) fn votes(&self, labels: &[i64], counts: &[u32], reach: f64) -> Vec<i64> {
        let vote = |row: Range<usize>| {
            let distances = &self.distances[row.clone()];
            match distances.first() {
                Some(0.0) => return labels[self.indices[row.start] as usize],
                Some(&nearest) if nearest <= reach => {}
                _ => return -1,
            }
            let a = (distances.iter().sum::<f64>() / distances.len().max(1) as f64).max(f64::MIN_POSITIVE);
            let mut weights: Vec<(i64, f64)> = Vec::new();
            for (&j, &distance) in self.indices[row].iter().zip(distances) {
                let weight = f64::from(counts[j as usize]) * (-0.5 * (distance / a).powi(2)).exp();
                match weights.iter_mut().find(|(label, _)| *label == labels[j as usize]) {
                    Some((_, sum)) => *sum += weight,
                    None => weights.push((labels[j as usize], weight)),
                }
            }
            weights.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            weights.first().map_or(-1, |(label, _)| *label)
        };
        self.starts.par_windows(2).map(|row| vote(row[0]..row[1])).collect()
    }
}
