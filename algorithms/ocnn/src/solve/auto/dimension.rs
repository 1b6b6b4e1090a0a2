//! Intrinsic dimension, estimated from the distances to the nearest neighbours.

use rayon::prelude::*;

use super::neighbour_lists::NeighbourLists;

/// Intrinsic dimension below which points lie along curves.
pub(crate) const CURVE_DIMENSION: f64 = 1.2;
/// Intrinsic dimension above which points fill surfaces.
pub(crate) const SURFACE_DIMENSION: f64 = 1.7;
/// Number of points below which graphs are smaller.
pub(crate) const FEW_POINTS: usize = 450;
/// Above this estimate a small set fills more than a surface. Estimates are 1.7 to 2.3 in two dimensions and 2.5 to 2.9
/// in three.
pub(crate) const VOLUME_DIMENSION: f64 = 2.4;
/// Estimate from 24 neighbours below which points lie along curves.
const WIDE_CURVE_DIMENSION: f64 = 1.45;
/// [`WIDE_CURVE_DIMENSION`] for fewer than [`FEW_POINTS`] points.
const WIDE_CURVE_DIMENSION_OF_FEW: f64 = 1.25;
/// Estimates below this mean clusters of fewer than 24 points.
const SMALL_CLUSTER_DIMENSION: f64 = 0.8;

/// Numbers of neighbours of the local and the wider estimate.
const RING_SIZES: [usize; 2] = [12, 24];

/// A maximum-likelihood estimate of the intrinsic dimension, 1/mean ln(d_r/d_q) for q < r, d_q the distance to the q-th
/// neighbour (Levina and Bickel, NIPS 2004; averaged over points as by MacKay and Ghahramani).
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct DimensionEstimate {
    sum: f64,
    count: f64,
}

impl DimensionEstimate {
    /// The estimate; 2 without data.
    pub(crate) fn dimension(self) -> f64 {
        if self.count == 0.0 { 2.0 } else { (self.sum / self.count).max(1e-30).recip() }
    }

    /// The estimate from the data of both.
    pub(crate) fn plus(self, other: Self) -> Self {
        Self { sum: self.sum + other.sum, count: self.count + other.count }
    }

    #[cfg(test)]
    pub(crate) fn of(dimension: f64) -> Self {
        Self { sum: 1.0 / dimension, count: 1.0 }
    }
}

/// Intrinsic dimension at two scales.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Dimensions {
    /// From 12 neighbours.
    pub(crate) local: f64,
    /// From 24 neighbours, at which scale a narrow band is a curve.
    pub(crate) wide: f64,
}

impl Dimensions {
    /// True if the points lie along curves. Estimates far below 1 come from small clusters instead.
    pub(crate) fn is_curve(self, points: usize) -> bool {
        let most = if points >= FEW_POINTS { WIDE_CURVE_DIMENSION } else { WIDE_CURVE_DIMENSION_OF_FEW };
        (SMALL_CLUSTER_DIMENSION..CURVE_DIMENSION).contains(&self.local)
            || (SMALL_CLUSTER_DIMENSION..most).contains(&self.wide)
    }
}

impl NeighbourLists {
    /// The estimates over all neurons; distances are the `power`-th power of metric ones.
    pub(crate) fn dimensions(&self, power: f64) -> Dimensions {
        let [local, wide] = RING_SIZES.map(|ring| {
            // Summed sequentially, since a parallel sum would vary in its order.
            let all = self.estimates(ring, power);
            all.into_iter().fold(DimensionEstimate::default(), DimensionEstimate::plus).dimension()
        });
        Dimensions { local, wide }
    }

    /// The estimate of each neuron from 24 neighbours; distances are the `power`-th power of metric ones.
    pub(crate) fn dimension_estimates(&self, power: f64) -> Vec<DimensionEstimate> {
        self.estimates(RING_SIZES[1], power)
    }

    fn estimates(&self, ring: usize, power: f64) -> Vec<DimensionEstimate> {
        (0..self.len()).into_par_iter().map(|i| self.dimension_estimate(i, ring, power)).collect()
    }

    fn dimension_estimate(&self, i: usize, ring: usize, power: f64) -> DimensionEstimate {
        let ring = &self.distances[self.first(i, ring)];
        // Too few neighbours for an estimate.
        let Some((last, inner)) =
            ring.split_last().filter(|(last, inner)| **last > 0.0 && inner.len() + 1 >= RING_SIZES[0])
        else {
            return DimensionEstimate::default();
        };
        // The logarithm is bounded for near-duplicates.
        let sum = inner.iter().map(|d| (last / d.max(last * 1e-9)).ln()).sum::<f64>();
        DimensionEstimate { sum: sum / power, count: inner.len() as f64 }
    }
}
