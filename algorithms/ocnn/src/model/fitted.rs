//! Fitted clusters, which predict those of new points.

use burn::tensor::{Int, Tensor, backend::Backend};
use firebox_core::{Context, Error, Result};

use super::{
    clustering::{Clustering, label_tensor},
    input::OcnnInput,
};
use crate::{config::OcnnConfig, ops::OcnnOps, solve::auto::distinct_points::DistinctPoints};

/// Neighbours that determine the cluster of a new point.
const VOTERS: usize = 16;

/// The clusters of N points, found by an [`Ocnn`](crate::Ocnn), with the points themselves.
#[derive(Debug, Clone)]
pub struct FittedOcnn<B: Backend> {
    pub(super) config: OcnnConfig,
    pub(super) clustering: Clustering,
    pub(super) distinct: DistinctPoints,
    /// Largest distance of a point to its neighbours, in the unit of `distinct`.
    pub(super) reach: f64,
    pub(super) device: B::Device,
}

impl<B: OcnnOps> FittedOcnn<B> {
    /// The parameters.
    pub fn config(&self) -> &OcnnConfig {
        &self.config
    }

    /// The cluster of each point `[N]` on the device of the fit, from 0 by first appearance; −1 is noise.
    pub fn labels(&self) -> Tensor<B, 1, Int> {
        label_tensor(&self.clustering.labels, &self.device)
    }

    /// The clusters on the host, with scores and the tree from which they were cut.
    pub fn clustering(&self) -> &Clustering {
        &self.clustering
    }

    /// As [`FittedOcnn::clustering`], by value.
    pub fn into_clustering(self) -> Clustering {
        self.clustering
    }

    /// Number of clusters.
    pub fn count(&self) -> usize {
        self.clustering.count()
    }

    /// Number of noise points.
    pub fn noise(&self) -> usize {
        self.clustering.noise()
    }

    /// The clusters `[M]` of new points `[M, d]`, see [`FittedOcnn::predict_with`].
    pub fn predict(&self, others: Tensor<B, 2>) -> Result<Tensor<B, 1, Int>> {
        let context = Context::new(self.device.clone());
        Ok(label_tensor(&self.predict_with(others, &context)?, &self.device))
    }

    /// The clusters of new points or sparse rows: that of an equal point, else the one of largest weight Σ exp(−d²/2a²)
    /// among the 16 nearest clustered points, a their mean distance. −1 if noise has the largest weight, no sparse row has
    /// a common column, or, without `assign_all`, the nearest point is farther than any clustered point from its own
    /// neighbours.
    ///
    /// # Errors
    /// If distances or a graph were clustered, the new points have weights or are of another kind than the clustered ones,
    /// or the columns differ.
    pub fn predict_with(&self, others: impl Into<OcnnInput<B>>, context: &Context<B>) -> Result<Vec<i64>> {
        let Self { config, clustering, distinct, reach, .. } = self;
        let (others, weights, _) = others.into().read()?;
        if weights.is_some() {
            let what = "the new points have weights, which do not change their clusters";
            return Err(Error::input(what, "leave the weights out"));
        }
        let near = distinct.nearest_to::<B>(others, VOTERS, context)?;
        let of_neurons = distinct.of_neurons(&clustering.labels);
        Ok(near.votes(&of_neurons, &distinct.counts, if config.assign_all { f64::INFINITY } else { *reach }))
    }
}
