//! Nearest neighbours from all pairs.

use firebox_backends::cpu::SimdLevel;

use super::lists::Neighbours;
use crate::{ops::ndarray, types::Metric};

/// The k nearest points; Euclidean distances are squared.
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
    let found = ndarray::nearest::nearest(SimdLevel::best(), &points, &queries, q, k, metric, own);
    Neighbours { k, indices: found.indices, distances: found.distances }
}

/// Transposes points to one row per dimension.
fn by_dimension(points: &[f64], d: usize) -> Vec<f64> {
    (0..d).flat_map(|column| points.iter().skip(column).step_by(d).copied()).collect()
}
