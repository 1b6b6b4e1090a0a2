//! The fitted points of a map, among which new ones are placed.

use firebox_core::data::Schema;

use super::nondimensional::FeatureScaling;
use crate::types::Metric;

/// The distinct points of a fit with their places in the map, which places new ones. It belongs to no backend, and is saved
/// to a file by [`save`](Self::save).
#[derive(Debug, Clone, PartialEq)]
pub struct SammonModel {
    /// The coordinates of the points; without names for a map of distances. Placements of tensors do not apply it.
    pub schema: Schema,
    /// Number of dimensions m of the map.
    pub(crate) dims: usize,
    /// The distance of features.
    pub(crate) metric: Metric,
    /// Exponent p of the weights.
    pub(crate) power: f64,
    pub(crate) fitted: Fitted,
}

impl SammonModel {
    /// Number of dimensions m of the map.
    pub fn dims(&self) -> usize {
        self.dims
    }

    /// Number of distances that place a new point, if the map is one of distances: the points of the fit.
    pub fn distances(&self) -> Option<usize> {
        match &self.fitted {
            Fitted::Features(_) => None,
            Fitted::Distances(fitted) => Some(fitted.index.len()),
        }
    }
}

/// The fitted points, among which new ones are placed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Fitted {
    Features(FittedPoints),
    Distances(FittedDistances),
}

/// Map of a matrix of distances, in nondimensional form.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FittedDistances {
    /// Index of the distinct point for each point of the input.
    pub(crate) index: Vec<u32>,
    /// Number of distinct points n.
    pub(crate) points: usize,
    /// Unit of length, in that of the input.
    pub(crate) unit: f64,
    /// Embedding `[k, n]`; coordinates from k ≤ m on are 0.
    pub(crate) embedding: Vec<f64>,
}

/// Distinct points of a fit with their map, in nondimensional form.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FittedPoints {
    /// Features, row-major n × d.
    pub(crate) values: Vec<f64>,
    pub(crate) d: usize,
    pub(crate) scaling: FeatureScaling,
    /// Multiplicity of each point.
    pub(crate) counts: Vec<f64>,
    /// Unit of length, in that of the input.
    pub(crate) unit: f64,
    /// Embedding `[k, n]`; coordinates from k ≤ m on are 0.
    pub(crate) embedding: Vec<f64>,
}
