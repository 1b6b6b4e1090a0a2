//! Nearest neighbours on the host, in f64: by a k-d tree in few dimensions, from all pairs above.
//!
//! Both searches give the same result: a distance is the sum over the columns in order, and ties are broken by the
//! smaller index. Results depend neither on the number of threads nor on the instruction set.

mod kd_tree;
mod search;

use firebox_backends::cpu::SimdLevel;
pub(crate) use kd_tree::TREE_DIMENSIONS;
pub(crate) use search::{Neighbours, Search};

use crate::{ops::ndarray, types::Metric};

impl Search<'_> {
    /// Runs the search, for all other points if there are fewer than k. Incomplete if the thread's
    /// [`Watch`](firebox_core::watch::Watch) cancels it.
    ///
    /// Time: O(n log n) up to [`TREE_DIMENSIONS`] with few ties, O(d·n²) above.
    pub(crate) fn run(mut self) -> Neighbours {
        let points = self.points.len().checked_div(self.d).unwrap_or(0);
        self.k = self.k.min(points.saturating_sub(usize::from(self.own.is_some())));
        if self.k == 0 || self.queries.is_empty() {
            return Neighbours { k: self.k, indices: Vec::new(), distances: Vec::new() };
        }
        let mut found = kd_tree::nearest(&self).unwrap_or_else(|| self.by_all_pairs());
        if self.metric == Metric::Euclidean {
            found.distances.iter_mut().for_each(|distance| *distance = distance.sqrt());
        }
        found
    }

    /// The neighbours from all pairs; Euclidean distances are squared.
    fn by_all_pairs(&self) -> Neighbours {
        let &Self { points, queries, d, k, metric, own } = self;
        let q = queries.len() / d;
        let (points, queries) = (columns(points, d), columns(queries, d));
        let found = ndarray::nearest::nearest(SimdLevel::best(), &points, &queries, q, k, metric, own);
        Neighbours { k, indices: found.indices, distances: found.distances }
    }
}

/// Transposes points to one row per dimension.
fn columns(points: &[f64], d: usize) -> Vec<f64> {
    (0..d).flat_map(|column| points.iter().skip(column).step_by(d).copied()).collect()
}

#[cfg(test)]
mod tests;
