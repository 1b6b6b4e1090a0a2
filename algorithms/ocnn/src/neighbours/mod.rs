//! The nearest neighbours of points on the host, in f64: by a k-d tree in few dimensions, from all pairs above.
//!
//! Both find the same: a distance is the sum over the columns in their order, and of equally near points the one of smaller
//! index comes first. Neither the number of threads nor the instruction set changes a bit.

mod pairs;
mod tree;

use crate::ops::Metric;

/// Above this many dimensions a k-d tree looks at most leaves anyway.
pub const TREE_DIMENSIONS: usize = 8;

/// Neighbours, the same number of each point, nearest first.
#[derive(Debug, Clone, PartialEq)]
pub struct Neighbours {
    /// How many each point has.
    pub k: usize,
    /// Who they are, row-major with k columns.
    pub indices: Vec<u32>,
    /// How far they are, row-major with k columns, in the unit of the coordinates.
    pub distances: Vec<f64>,
}

/// The k nearest other points of each point; all others where there are not so many.
///
/// `points`: row-major with d columns, finite, in a range whose squares neither overflow nor matter when they underflow.
///
/// Time: O(n log n) up to [`TREE_DIMENSIONS`] while no more than some points are equally near, O(d·n²) above.
pub fn nearest(points: &[f64], d: usize, k: usize, metric: Metric) -> Neighbours {
    find(points, points, d, k, metric, Some(0))
}

/// The k nearest points to each of `queries`, which are other points; all if there are fewer than k. As [`nearest`],
/// and incomplete if the thread's [`Watch`](firebox_core::watch::Watch) stops it.
pub fn nearest_to(points: &[f64], queries: &[f64], d: usize, k: usize, metric: Metric) -> Neighbours {
    find(points, queries, d, k, metric, None)
}

/// The same of queries that are points themselves from that of number `own` on, if there is one: none is its own neighbour.
pub(crate) fn find(
    points: &[f64],
    queries: &[f64],
    d: usize,
    k: usize,
    metric: Metric,
    own: Option<usize>,
) -> Neighbours {
    let there = points.len().checked_div(d).unwrap_or(0).saturating_sub(usize::from(own.is_some()));
    let k = k.min(there);
    if k == 0 || queries.is_empty() {
        return Neighbours { k, indices: Vec::new(), distances: Vec::new() };
    }
    let mut found = tree::nearest(points, queries, d, k, metric, own)
        .unwrap_or_else(|| pairs::nearest(points, queries, d, k, metric, own));
    if metric == Metric::Euclidean {
        found.distances.iter_mut().for_each(|distance| *distance = distance.sqrt());
    }
    found
}

#[cfg(test)]
mod tests;
