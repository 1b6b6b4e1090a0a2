//! The number of neighbours in each graph.

use super::{
    dimension::{Dimensions, FEW_POINTS, VOLUME_DIMENSION},
    edges::CANDIDATES,
};
use crate::config::OcnnConfig;

/// k/ln N of the first graph for points along curves.
const CURVE_NEIGHBOURS: f64 = 8.0;

/// The rule by which graphs are as large as they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GraphRule {
    /// Points along curves.
    Curve,
    /// Few points on surfaces.
    FewOnSurface,
    /// All others.
    General,
}

impl OcnnConfig {
    /// The rule for `points` points.
    pub(crate) fn graph_rule(&self, points: usize, dimensions: Dimensions) -> GraphRule {
        if self.neighbours.is_some() {
            GraphRule::General
        } else if dimensions.is_curve(points) {
            GraphRule::Curve
        } else if points < FEW_POINTS && dimensions.local <= VOLUME_DIMENSION {
            GraphRule::FewOnSurface
        } else {
            GraphRule::General
        }
    }

    /// k of both graphs for `points` points, `factor` times the default and at most `most`.
    pub(crate) fn graph_sizes(&self, points: usize, dimensions: Dimensions, factor: usize, most: usize) -> [usize; 2] {
        let both = match (self.neighbours, self.graph_rule(points, dimensions)) {
            (Some(k), _) => [k, k.saturating_mul(2)],
            (None, GraphRule::Curve) => {
                // By chance a gap along a curve is as wide as ln N spacings, and no path leads around it.
                let k = (CURVE_NEIGHBOURS * (points as f64).ln()) as usize;
                [k, 2 * k]
            }
            // k must be far below a cluster's size.
            (None, GraphRule::FewOnSurface) => [16, 24],
            (None, GraphRule::General) => [CANDIDATES, 2 * CANDIDATES],
        };
        both.map(|k| k.saturating_mul(factor).min(most))
    }

    /// Neighbours for estimating the dimension; large enough that the graphs seldom need a second search.
    pub(crate) fn initial_neighbours(&self, most: usize) -> usize {
        self.neighbours.unwrap_or(CANDIDATES).saturating_mul(2).max(CANDIDATES).min(most)
    }

    /// Upper bound of k for `points` points.
    pub(crate) fn max_neighbours(&self, points: usize, factor: usize) -> usize {
        let thin = 2.0 * CURVE_NEIGHBOURS * (points.max(1) as f64).ln();
        self.neighbours
            .map_or((2 * CANDIDATES).max(thin as usize), |k| k.saturating_mul(2))
            .saturating_mul(factor)
            .max(CANDIDATES)
    }
}
