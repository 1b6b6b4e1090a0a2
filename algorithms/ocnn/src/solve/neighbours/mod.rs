//! Nearest neighbours on the host, in f64: by a k-d tree in few dimensions, from all pairs above.
//!
//! Both searches give the same result: a distance is the sum over the columns in order, and ties are broken by the
//! smaller index. Results depend neither on the number of threads nor on the instruction set.

mod all_pairs;
mod kd_tree;
mod lists;

pub use kd_tree::TREE_DIMENSIONS;
pub use lists::Neighbours;

use crate::types::Metric;

/// The k nearest other points of each point, or all if there are fewer.
///
/// `points`: row-major with d columns, finite, in a range whose squares neither overflow nor matter when they
/// underflow.
///
/// Time: O(n log n) up to [`TREE_DIMENSIONS`] with few ties, O(d·n²) above.
pub fn nearest(points: &[f64], d: usize, k: usize, metric: Metric) -> Neighbours {
    find(points, points, d, k, metric, Some(0))
}

/// The k nearest points to each of `queries`, or all if there are fewer. Incomplete if the thread's
/// [`Watch`](firebox_core::watch::Watch) cancels it.
pub fn nearest_to(points: &[f64], queries: &[f64], d: usize, k: usize, metric: Metric) -> Neighbours {
    find(points, queries, d, k, metric, None)
}

/// The k nearest points to each of `queries`. With `own`, query i is point `own` + i itself, which is excluded.
pub(crate) fn find(
    points: &[f64],
    queries: &[f64],
    d: usize,
    k: usize,
    metric: Metric,
    own: Option<usize>,
) -> Neighbours {
    let available = points.len().checked_div(d).unwrap_or(0).saturating_sub(usize::from(own.is_some()));
    let k = k.min(available);
    if k == 0 || queries.is_empty() {
        return Neighbours { k, indices: Vec::new(), distances: Vec::new() };
    }
    let mut found = kd_tree::nearest(points, queries, d, k, metric, own)
        .unwrap_or_else(|| all_pairs::nearest(points, queries, d, k, metric, own));
    if metric == Metric::Euclidean {
        found.distances.iter_mut().for_each(|distance| *distance = distance.sqrt());
    }
    found
}

#[cfg(test)]
mod tests;
