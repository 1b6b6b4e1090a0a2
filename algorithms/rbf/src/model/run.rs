//! Context that all cycles of a training share, and the network and control points on the device.

use burn::tensor::ops::FloatTensor;
use firebox_core::{
    Context, Result,
    checkpoint::{Checkpoints, Identity},
};

use super::{distributed_objective::Objective, time_limit::TimeLimit};
use crate::{
    config::RbfConfig,
    io::checkpoint,
    ops::{RbfOps, transfer},
    solve::{control_points::Sampler, state::State},
    types::{Shape, System},
};

/// The network on the device.
#[derive(Clone)]
pub(crate) struct DeviceNetwork<B: RbfOps> {
    pub(crate) shape: Shape<B>,
    pub(crate) weights: FloatTensor<B>,
}

/// The control points of a cycle.
pub(crate) struct ControlPoints<B: RbfOps> {
    /// The cycle that drew them.
    pub(crate) stream: usize,
    pub(crate) system: System,
    /// N and K if `system` is this rank's part of the conditions.
    pub(crate) own: Option<[usize; 2]>,
    /// √(2I) of u = 0.
    pub(crate) zero_norm: f64,
    /// The objective at these points on the device, once a cycle needs it.
    pub(crate) objective: Option<Objective<B>>,
}

/// A training in progress, in the units of the sampler's [`Scaling`](crate::solve::nondimensional::Scaling).
pub(crate) struct Run<'a, B: RbfOps> {
    pub(crate) config: &'a RbfConfig,
    pub(crate) sampler: Sampler<'a>,
    pub(crate) context: &'a Context<B>,
    pub(crate) checkpoints: &'a Checkpoints,
    pub(crate) identity: Identity,
    pub(crate) limit: TimeLimit,
}

impl<B: RbfOps> Run<'_, B> {
    /// √(2I) after the last cycle.
    pub(crate) fn norm(&self, state: &State) -> Option<f64> {
        let (inside, outside) = (state.interior.last()?, state.boundary.last()?);
        Some((inside * inside + self.sampler.scaling.penalty(self.config.penalty) * outside * outside).sqrt())
    }

    /// Uploads the state's network.
    pub(crate) fn upload(&self, state: &State) -> DeviceNetwork<B> {
        let (device, dims) = (&self.context.device, state.centres.len() / state.widths.len());
        DeviceNetwork {
            shape: transfer::shape(&state.centres, &state.widths, dims, device),
            weights: transfer::vector::<B>(&state.weights, device),
        }
    }

    /// Runs `work` on rank 0 only and broadcasts its state.
    pub(crate) fn on_root(&self, state: &mut State, work: impl FnOnce(&mut State) -> Result<()>) -> Result<()> {
        let ranks = &*self.context.communicator;
        if ranks.size() == 1 {
            return work(state);
        }
        let size = [state.widths.len(), state.centres.len() / state.widths.len()];
        *state = checkpoint::broadcast(ranks, &self.identity, size, || work(state).map(|()| state.clone()))?;
        Ok(())
    }
}
