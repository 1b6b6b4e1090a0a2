//! Clusters of new points, by their neighbours among the clustered ones.

use firebox_core::{Context, Error, Result, data::Schema};

use super::{
    distinct_points::{DistinctPoints, Source},
    input::HostInput,
    metric_space::{MetricSpace, other_columns},
    neighbour_lists::NeighbourLists,
    sparse_space::SparseSpace,
};
use crate::ops::OcnnOps;

/// Neighbours that determine the cluster of a new point.
const VOTERS: usize = 16;

/// The distinct points of a fit with their clusters, which predict those of new points. It belongs to no backend, and is
/// saved to a file by [`save`](Self::save).
#[derive(Debug, Clone, PartialEq)]
pub struct OcnnModel {
    /// The coordinates of the points; without names for sparse rows. Predictions of tensors do not apply it.
    pub schema: Schema,
    pub(crate) space: Space,
    /// Multiplicity of each distinct point.
    pub(crate) counts: Vec<u32>,
    /// Cluster of each distinct point; −1 is noise.
    pub(crate) labels: Vec<i64>,
    /// Distance in units of the space beyond which a new point is noise, if any.
    pub(crate) reach: Option<f64>,
}

/// Distinct points by which new ones are compared.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Space {
    Metric(MetricSpace),
    Sparse(SparseSpace),
    /// Precomputed distances, to which new points have none.
    Absent,
}

impl OcnnModel {
    /// The model of distinct points and the cluster of each point.
    pub(crate) fn new(distinct: DistinctPoints, labels: &[i64], reach: Option<f64>) -> Result<Self> {
        let mut of_neurons = vec![-1; distinct.counts.len()];
        distinct.of_point.iter().zip(labels).for_each(|(&neuron, &label)| of_neurons[neuron as usize] = label);
        let (space, schema) = match distinct.source {
            Source::MetricSpace(space) => {
                let schema = Schema::unnamed(space.columns())?;
                (Space::Metric(space), schema)
            }
            Source::SparseSpace(space) => (Space::Sparse(space), Schema::default()),
            Source::Precomputed(_) => (Space::Absent, Schema::default()),
        };
        Ok(Self { schema, space, counts: distinct.counts, labels: of_neurons, reach })
    }

    /// The number of clusters.
    pub fn count(&self) -> usize {
        self.labels.iter().max().map_or(0, |last| (last + 1) as usize)
    }

    /// True if the points are sparse rows.
    pub fn is_sparse(&self) -> bool {
        matches!(self.space, Space::Sparse(_))
    }

    /// The clusters of new points; −1 is noise.
    pub(crate) fn clusters_of<B: OcnnOps>(&self, new: HostInput, context: &Context<B>) -> Result<Vec<i64>> {
        let near = self.nearest(new, VOTERS.min(self.counts.len()), context)?;
        Ok(near.votes(&self.labels, &self.counts, self.reach.unwrap_or(f64::INFINITY)))
    }

    /// The k nearest distinct points of new ones.
    ///
    /// # Errors
    /// If the new points are of another kind than the clustered ones, distances are precomputed, or the columns differ.
    fn nearest<B: OcnnOps>(&self, new: HostInput, k: usize, context: &Context<B>) -> Result<NeighbourLists> {
        match (&self.space, new) {
            (Space::Metric(space), HostInput::Points(new)) => {
                let queries = MetricSpace::new(new.values, new.columns, space.distance, Some(space.unit))?;
                if queries.d != space.d {
                    return Err(other_columns(queries.d, space.d));
                }
                space.nearest(&queries.values, false, k, context)
            }
            (Space::Sparse(space), HostInput::Sparse(new)) => space.nearest_to(new, k, context),
            (Space::Absent, _) | (_, HostInput::Distances(_) | HostInput::Graph(_)) => {
                let what = "distances have no coordinates, by which new points could be compared";
                Err(Error::input(what, "cluster points instead of distances"))
            }
            (Space::Metric(_), HostInput::Sparse(_)) => {
                Err(Error::input("the new points are sparse rows, the others are dense", "give dense points"))
            }
            (Space::Sparse(_), HostInput::Points(_)) => {
                Err(Error::input("the new points are dense, the others are sparse rows", "give sparse rows"))
            }
        }
    }
}
