//! Neighbours from all pairs.

use firebox_backends::cpu::Level;

use super::Neighbours;
use crate::{cpu, ops::Metric};

/// Distances still squared where the metric is Euclidean.
pub(super) fn nearest(
    points: &[f64],
    queries: &[f64],
    d: usize,
    k: usize,
    metric: Metric,
    own: Option<usize>,
) -> Neighbours {
    let q = queries.len() / d;
    let (points, queries) = (by_dimension(points, d), by_dimension(queries, d));
    let found = cpu::nearest(Level::best(), &points, &queries, q, k, metric, own);
    Neighbours { k, indices: found.indices, distances: found.distances }
}

/// A row for each dimension.
fn by_dimension(points: &[f64], d: usize) -> Vec<f64> {
    (0..d).flat_map(|column| points.iter().skip(column).step_by(d).copied()).collect()
}
