//! Structs of tensors as arguments and results of operations on `Fusion<B>`.

use burn::tensor::ops::FloatTensor;
use burn_fusion::{Fusion, FusionBackend};
use firebox_backends::{
    DeviceLimits,
    fusion::{Call, Input, Operand, Restore, Results},
};

use crate::{
    ops::SammonOps,
    types::{Forces, Metric, Problem, Source, Steps},
};

/// The tensors of a [`Source`] in a call.
enum Queued {
    Features { points: Input, metric: Metric, gram: bool },
    Inverse(Vec<Input>),
}

impl<B: FusionBackend + SammonOps> Operand<B> for Problem<Fusion<B>> {
    type Restored = Problem<B>;

    fn queue(&self, call: &mut Call<B>) -> Restore<B, Problem<B>> {
        let multiplicity = call.tensor(self.multiplicity.clone());
        let source = match &self.source {
            Source::Features { points, metric, gram } => {
                Queued::Features { points: call.tensor(points.clone()), metric: *metric, gram: *gram }
            }
            Source::Inverse(blocks) => Queued::Inverse(blocks.iter().map(|block| call.tensor(block.clone())).collect()),
        };
        let (power, units, share) = (self.power, self.units, self.share);
        Box::new(move |tensors| {
            let source = match &source {
                Queued::Features { points, metric, gram } => {
                    Source::Features { points: tensors.float(*points), metric: *metric, gram: *gram }
                }
                Queued::Inverse(blocks) => Source::Inverse(blocks.iter().map(|block| tensors.float(*block)).collect()),
            };
            Problem { source, multiplicity: tensors.float(multiplicity), power, units, share }
        })
    }
}

impl<B: DeviceLimits> Results<B> for Forces<B> {
    fn split(self) -> Vec<FloatTensor<B>> {
        vec![self.force, self.stress]
    }

    fn join(next: &mut dyn FnMut() -> FloatTensor<B>) -> Self {
        Self { force: next(), stress: next() }
    }
}

impl<B: DeviceLimits> Results<B> for Steps<B> {
    fn split(self) -> Vec<FloatTensor<B>> {
        vec![self.embedding, self.stresses]
    }

    fn join(next: &mut dyn FnMut() -> FloatTensor<B>) -> Self {
        Self { embedding: next(), stresses: next() }
    }
}
