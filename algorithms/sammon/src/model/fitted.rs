//! The fitted points, among which new ones are placed.

use std::collections::HashMap;

use rayon::prelude::*;

use crate::{
    config::SammonConfig,
    solve::nondimensional::{FeatureScaling, Prepared, PreparedSource, distance},
    types::Metric,
};

/// Input points of a mapping with their embedding.
#[derive(Debug, Clone)]
pub(crate) struct FittedPoints {
    /// Nondimensional features, row-major n × d.
    pub(super) values: Vec<f64>,
    pub(super) d: usize,
    pub(super) metric: Metric,
    pub(super) scaling: FeatureScaling,
    /// Multiplicity of each point.
    pub(super) counts: Vec<u32>,
    /// Unit of length, in that of the input.
    pub(super) unit: f64,
    /// Nondimensional embedding `[m, n]`.
    pub(super) fixed: Vec<f64>,
    /// Configured dimensions, of which the embedding may have fewer.
    pub(super) dims: usize,
    /// Exponent p of the weights.
    pub(super) power: f64,
}

impl FittedPoints {
    /// `None` for an input of distances, which cannot take new points.
    pub(crate) fn new(prepared: Prepared, fixed: Vec<f64>, config: &SammonConfig) -> Option<Self> {
        match prepared.source {
            PreparedSource::Features { values, d, metric, scaling } => Some(Self {
                values,
                d,
                metric,
                scaling,
                counts: prepared.counts,
                unit: prepared.unit,
                fixed,
                dims: config.dims,
                power: config.power,
            }),
            PreparedSource::Distances(_) => None,
        }
    }

    /// δ `[q, n]` of new points from 1/δ. Where 1/δ under- or overflows on the device, δ is computed from the features
    /// `rows` in f64, so that 0 is exact.
    pub(super) fn deltas(&self, mut inverse: Vec<f64>, rows: &[f64]) -> Vec<f64> {
        let n = self.counts.len();
        inverse.par_chunks_mut(n).zip(rows.par_chunks(self.d)).for_each(|(row, x)| {
            for (value, point) in row.iter_mut().zip(self.values.chunks(self.d)) {
                let in_range = *value > 0.0 && value.is_finite();
                *value = if in_range { value.recip() } else { distance(x, point, self.metric) };
            }
        });
        inverse
    }

    /// Indices of the points by the bits of their features.
    pub(super) fn known(&self) -> HashMap<Vec<u64>, usize> {
        self.values.chunks(self.d).enumerate().map(|(i, x)| (key(x), i)).collect()
    }
}

/// Bits of a point's features, with −0 as 0.
pub(super) fn key(x: &[f64]) -> Vec<u64> {
    x.iter().map(|x| (x + 0.0).to_bits()).collect()
}
