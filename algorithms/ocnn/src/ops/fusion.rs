//! Structs of tensors as arguments of operations on `Fusion<B>`.

use burn_fusion::{Fusion, FusionBackend};
use firebox_backends::fusion::{Call, Operand, Restore};

use super::OcnnOps;
use crate::types::{Graph, Network, Parts};

impl<B: FusionBackend + OcnnOps> Operand<B> for Network<Fusion<B>> {
    type Restored = Network<B>;

    fn queue(&self, call: &mut Call<B>) -> Restore<B, Network<B>> {
        let points = call.tensor(self.points.clone());
        let weights = self.weights.clone().map(|weights| call.tensor(weights));
        let multiplicity = call.tensor(self.multiplicity.clone());
        let inverse_strength = call.tensor(self.inverse_strength.clone());
        let (self_coupling, rows, cache) = (self.self_coupling, self.rows.clone(), self.cache.clone());
        Box::new(move |tensors| {
            let parts = Parts {
                points: tensors.float(points),
                weights: weights.map(|weights| tensors.float(weights)),
                multiplicity: tensors.float(multiplicity),
                inverse_strength: tensors.float(inverse_strength),
                self_coupling,
                rows: rows.clone(),
            };
            Network::with_cache(parts, cache.clone())
        })
    }
}

impl<B: FusionBackend + OcnnOps> Operand<B> for Graph<Fusion<B>> {
    type Restored = Graph<B>;

    fn queue(&self, call: &mut Call<B>) -> Restore<B, Graph<B>> {
        let [starts, neighbours] = [&self.starts, &self.neighbours].map(|tensor| call.tensor(tensor.clone()));
        let weights = call.tensor(self.weights.clone());
        let cache = self.cache.clone();
        Box::new(move |tensors| Graph {
            starts: tensors.int(starts),
            neighbours: tensors.int(neighbours),
            weights: tensors.float(weights),
            cache: cache.clone(),
        })
    }
}
