//! The number of neighbours in each graph.

use super::{
    dimension::{Dimensions, FEW_POINTS, VOLUME_DIMENSION},
    edges::CANDIDATES,
};
use crate::config::OcnnConfig;

/// k/ln N of the first graph for points along curves.
const CURVE_NEIGHBOURS: f64 = 8.0;

impl OcnnConfig {
    /// k of both graphs for `points` points, `factor` times the default and at most `most`.
    pub(crate) fn graph_sizes(&self, points: usize, dimensions: Dimensions, factor: usize, most: usize) -> [usize; 2] {
        let both = match self.neighbours {
            Some(k) => [k, k.saturating_mul(2)],
            // By chance a gap along a curve is as wide as ln N spacings, and no path leads around it.
            None if dimensions.is_curve(points) => {
                let k = (CURVE_NEIGHBOURS * (points as f64).ln()) as usize;
                [k, 2 * k]
            }
            None if points >= FEW_POINTS => [24, 48],
            // k must be far below a cluster's size, but large enough to surround a point.
            None if dimensions.local > VOLUME_DIMENSION => [24, 56],
            None => [16, 24],
        };
        both.map(|k| k.saturating_mul(factor).min(most))
    }

    /// Neighbours for estimating the dimension; large enough that the graphs seldom need a second search.
    pub(crate) fn initial_neighbours(&self, most: usize) -> usize {
        self.neighbours.map_or(56, |k| k.saturating_mul(2).max(CANDIDATES)).min(most)
    }

    /// Upper bound of k for `points` points.
    pub(crate) fn max_neighbours(&self, points: usize, factor: usize) -> usize {
        let thin = 2.0 * CURVE_NEIGHBOURS * (points.max(1) as f64).ln();
        self.neighbours.map_or(56.max(thin as usize), |k| k.saturating_mul(2)).saturating_mul(factor).max(CANDIDATES)
    }
}
