//! Neighbour lists of equal length.

/// Neighbour lists of equal length, nearest first.
#[derive(Debug, Clone, PartialEq)]
pub struct Neighbours {
    /// Neighbours per point.
    pub k: usize,
    /// Indices, row-major with k columns.
    pub indices: Vec<u32>,
    /// Distances in the unit of the coordinates, row-major with k columns.
    pub distances: Vec<f64>,
}
