//! Fitted clusters, which predict those of new points.

use burn::tensor::{Int, Tensor, backend::Backend};
use firebox_core::{Context, Error, Result};

use super::{
    clustering::{Clustering, label_tensor},
    input::OcnnInput,
};
use crate::{config::OcnnConfig, ops::OcnnOps, solve::auto::OcnnModel};

/// The clusters of N points, found by an [`Ocnn`](crate::Ocnn), with the model that predicts those of others.
#[derive(Debug, Clone)]
pub struct FittedOcnn<B: Backend> {
    pub(super) config: OcnnConfig,
    pub(super) clustering: Clustering,
    pub(super) model: OcnnModel,
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

    /// The model that predicts the clusters of new points, which can be saved.
    pub fn model(&self) -> &OcnnModel {
        &self.model
    }

    /// As [`FittedOcnn::clustering`], by value.
    pub fn into_clustering(self) -> Clustering {
        self.clustering
    }

    /// As [`FittedOcnn::clustering`] and [`FittedOcnn::model`], by value.
    pub fn into_parts(self) -> (Clustering, OcnnModel) {
        (self.clustering, self.model)
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

    /// The clusters of new points or sparse rows, see [`OcnnModel::predict_with`].
    ///
    /// # Errors
    /// As [`OcnnModel::predict_with`].
    pub fn predict_with(&self, others: impl Into<OcnnInput<B>>, context: &Context<B>) -> Result<Vec<i64>> {
        self.model.predict_with(others, context)
    }
}

impl OcnnModel {
    /// The clusters of new points or sparse rows: that of an equal point, else the one of largest weight Σ exp(−d²/2a²)
    /// among the 16 nearest clustered points, a their mean distance. −1 if noise has the largest weight, no sparse row has
    /// a common column, or, without `assign_all` in the fit, the nearest point is farther than any clustered point from its
    /// own neighbours.
    ///
    /// # Errors
    /// If distances or a graph were clustered, the new points have weights or are of another kind than the clustered ones,
    /// or the columns differ.
    pub fn predict_with<B: OcnnOps>(&self, others: impl Into<OcnnInput<B>>, context: &Context<B>) -> Result<Vec<i64>> {
        let (others, weights, _) = others.into().read()?;
        if weights.is_some() {
            let what = "the new points have weights, which do not change their clusters";
            return Err(Error::input(what, "leave the weights out"));
        }
        self.clusters_of(others, context)
    }
}
