//! A search for nearest neighbours, and its result.

use crate::types::Metric;

/// A search for the k nearest points to each query. Coordinates are row-major with d columns, finite, in a range whose
/// squares neither overflow nor matter when they underflow.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Search<'a> {
    pub(crate) points: &'a [f64],
    pub(crate) queries: &'a [f64],
    pub(crate) d: usize,
    pub(crate) k: usize,
    pub(crate) metric: Metric,
    /// With `Some(own)`, query i is point `own` + i itself, which is excluded.
    pub(crate) own: Option<usize>,
}

/// Neighbour lists of equal length, nearest first.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Neighbours {
    /// Neighbours per point.
    pub(crate) k: usize,
    /// Indices, row-major with k columns.
    pub(crate) indices: Vec<u32>,
    /// Distances in the unit of the coordinates, row-major with k columns.
    pub(crate) distances: Vec<f64>,
}
