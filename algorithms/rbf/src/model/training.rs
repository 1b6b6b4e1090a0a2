//! The loop over cycles, its stopping criteria and checkpoints.

use std::mem::take;

use burn::tensor::ops::FloatTensor;
use firebox_core::{
    Context, Error, Result,
    checkpoint::{Checkpoints, Identity, Keeper},
};

use super::{
    distributed_objective::{DeviceNetwork, Objective},
    time_limit::{Completion, TimeLimit},
};
use crate::{
    config::RbfConfig,
    io::checkpoint,
    ops::{RbfOps, transfer},
    solve::{
        control_points::Sampler,
        state::{State, Stop},
    },
    types::{System, Weights},
};

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
    /// Trains until a stopping criterion holds; `first` is the system of the first cycle. Returns the criterion, and
    /// whether the state file is stale because it could not be written.
    ///
    /// A stop request or the time limit may interrupt a cycle: the state is then reset to the start of that cycle, from
    /// which a resumed run reaches the same bits as one without interruption.
    pub(crate) fn train(&self, state: &mut State, first: System) -> Result<(Stop, bool)> {
        let mut keeper = Keeper::new(self.checkpoints, self.context);
        let stop = self.run_cycles(state, first, &mut keeper);
        let ended = matches!(stop, Ok(_) | Err(Error::Cancelled));
        let stale = ended && keeper.finish(position(state));
        Ok((stop?, stale))
    }

    fn run_cycles(&self, state: &mut State, first: System, keeper: &mut Keeper<'_>) -> Result<Stop> {
        let mut points =
            ControlPoints { stream: 0, zero_norm: first.zero_norm(), system: first, own: None, objective: None };
        let (mut network, mut cut) = (None, false);
        let total = self.sampler.settings.cycles;
        let stop = loop {
            // Clocks differ between ranks: rank 0 decides.
            let flags = [self.limit.has_expired(), keeper.is_due()].map(u8::from);
            let [late, due] = self.context.communicator.broadcast_value(flags).map(|word| word == 1);
            if let Some(stop) = self.stop_reason(state, late) {
                break stop;
            }
            self.context.observer.progress("training", state.cycles as u64, total as u64);
            if self.context.cancelled() {
                self.save(state, &network, keeper)?;
                return Err(Error::Cancelled);
            }
            if due {
                self.save(state, &network, keeper)?;
            }
            let (mut before, network_before) = (without_history(state), network.clone());
            let cycle = self.limit.watched(self.context, || {
                self.redraw(&mut points, state.cycles)?;
                self.cycle(state, &mut network, &mut points)
            });
            match cycle {
                Ok(Completion::Complete) => self.check_divergence(state, points.zero_norm)?,
                Ok(Completion::CutShort) => {
                    // The saved state excludes the partial solution: a resumed run has to match one without a limit.
                    self.save(&mut before, &network_before, keeper)?;
                    self.check_divergence(state, points.zero_norm)?;
                    cut = true;
                    break Stop::Time;
                }
                Err(Error::Cancelled) => {
                    (before.interior, before.boundary) = (take(&mut state.interior), take(&mut state.boundary));
                    before.interior.truncate(before.cycles);
                    before.boundary.truncate(before.cycles);
                    (*state, network) = (before, network_before);
                    let requested = self.context.cancelled();
                    if !requested && state.cycles > 0 {
                        break Stop::Time;
                    }
                    self.save(state, &network, keeper)?;
                    return Err(if requested { Error::Cancelled } else { self.limit.no_result(self.context) });
                }
                Err(error) => return Err(error),
            }
        };
        self.download(state, &network)?;
        match self.context.watched(|| self.assess(state, &mut points)).and_then(|assessed| assessed) {
            // A resumed run only has to repeat this assessment.
            Err(Error::Cancelled) if !cut => self.save(state, &None, keeper).and(Err(Error::Cancelled)),
            Err(error) => Err(error),
            Ok(()) if cut => Ok(stop),
            Ok(()) => self.save(state, &None, keeper).map(|()| stop),
        }
    }

    /// Fails if the training diverged or made no progress; else completes the diagnosis of the last matrix.
    fn assess(&self, state: &mut State, points: &mut ControlPoints<B>) -> Result<()> {
        self.redraw(points, state.cycles.saturating_sub(1))?;
        self.check_improvement(state, points.zero_norm)?;
        self.check_between_points(state)?;
        if state.diagnosis.is_none() && self.context.communicator.rank() == 0 && self.can_diagnose(state) {
            let whole = points.own.map(|_| self.sampler.system(points.stream)).transpose()?;
            state.diagnosis = Some(self.diagnose(state, whole.as_ref().unwrap_or(&points.system))?);
        }
        Ok(())
    }

    /// The stopping criterion that holds before the next cycle, if any.
    fn stop_reason(&self, state: &State, late: bool) -> Option<Stop> {
        let close = |at: f64| {
            self.config.tolerance > 0.0 && self.sampler.scaling.interior_residual(at) <= self.config.tolerance
        };
        if self.norm(state).is_some_and(close) {
            return Some(Stop::Tolerance);
        }
        if state.ended.is_some() {
            return state.ended;
        }
        if state.cycles >= self.sampler.settings.cycles {
            return Some(Stop::Cycles);
        }
        (late && state.cycles > 0).then_some(Stop::Time)
    }

    /// Draws the control points of `cycle` if they are redrawn.
    fn redraw(&self, points: &mut ControlPoints<B>, cycle: usize) -> Result<()> {
        let (settings, ranks) = (&self.sampler.settings, &*self.context.communicator);
        if !settings.redraw || points.stream == cycle {
            return Ok(());
        }
        // Solvers on the host need all points.
        let shared = ranks.size() > 1 && settings.weights == Weights::Cg;
        let (system, own) = if shared {
            (self.sampler.part(cycle, ranks)?, Some([settings.points, settings.boundary_points]))
        } else {
            (self.sampler.system(cycle)?, None)
        };
        let zero_norm = own.map_or_else(|| system.zero_norm(), |counts| system.zero_norm_of_part(counts, ranks));
        *points = ControlPoints { stream: cycle, system, own, zero_norm, objective: None };
        Ok(())
    }

    /// Downloads the network into the state.
    fn download(&self, state: &mut State, network: &Option<DeviceNetwork<B>>) -> Result<()> {
        let Some(DeviceNetwork { shape, weights }) = network else { return Ok(()) };
        let dims = state.centres.len() / state.widths.len();
        let tensors = [&shape.widths, weights, &shape.centres].map(FloatTensor::<B>::clone);
        let [widths, weights, centres] = transfer::fetch(tensors, self.context)?;
        (state.widths, state.weights) = (widths, weights);
        state.centres = transfer::to_row_major(&centres, dims);
        self.check_finite(state)
    }

    fn save(&self, state: &mut State, network: &Option<DeviceNetwork<B>>, keeper: &mut Keeper<'_>) -> Result<()> {
        if !keeper.is_on() {
            return Ok(());
        }
        self.download(state, network)?;
        keeper.save(position(state), || checkpoint::save(state, &self.identity))
    }

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

/// The position of a training, for notices.
fn position(state: &State) -> String {
    format!("cycle {}", state.cycles)
}

/// A copy of a state without its history, which grows with every cycle.
fn without_history(state: &mut State) -> State {
    let history = (take(&mut state.interior), take(&mut state.boundary));
    let copy = state.clone();
    (state.interior, state.boundary) = history;
    copy
}
