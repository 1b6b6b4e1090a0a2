//! A training under way: cycles, when they stop, and checkpoints on the way.

use std::time::{Duration, Instant};

use burn::tensor::ops::FloatTensor;
use firebox_core::{Context, Error, Result};

use crate::{
    RbfConfig, RbfOps, System, Weights,
    checkpoint::{self, Checkpoints, Header},
    control::Control,
    device,
    goal::Goal,
    ops::Shape,
    state::{State, Stop},
};

/// The network where it is trained.
pub(crate) struct Live<B: RbfOps> {
    pub(crate) shape: Shape<B>,
    pub(crate) weights: FloatTensor<B>,
}

/// The control points of a cycle.
pub(crate) struct Points<B: RbfOps> {
    stream: usize,
    pub(crate) system: System,
    /// N and K where the system is this rank's part of them.
    pub(crate) own: Option<[usize; 2]>,
    /// √(2I) of u = 0.
    pub(crate) nothing: f64,
    /// Once the device needs them.
    pub(crate) goal: Option<Goal<B>>,
}

/// A training under way, in the units of the control's frame.
pub(crate) struct Run<'a, B: RbfOps> {
    pub(crate) config: &'a RbfConfig,
    pub(crate) control: Control<'a>,
    pub(crate) context: &'a Context<B>,
    pub(crate) checkpoints: &'a Checkpoints,
    pub(crate) header: Header,
}

impl<B: RbfOps> Run<'_, B> {
    /// Trains to a stop, from the control points of the first cycle.
    pub(crate) fn all(&self, state: &mut State, first: System, began: Instant) -> Result<Stop> {
        let mut saved = Instant::now();
        let every = Duration::try_from_secs_f64(self.checkpoints.every).unwrap_or(Duration::MAX);
        let mut points = Points { stream: 0, nothing: first.of_nothing(), system: first, own: None, goal: None };
        let mut live = None;
        let total = self.control.settings.cycles;
        let stop = loop {
            // What time says differs between ranks: the first speaks for all.
            let late = self.config.time_limit.is_some_and(|limit| began.elapsed().as_secs_f64() >= limit);
            let said = [late, saved.elapsed() >= every].map(u8::from);
            let [late, due] = self.context.communicator.first(said).map(|word| word == 1);
            if let Some(stop) = self.reason(state, late) {
                break stop;
            }
            self.context.observer.progress("training", state.cycles as u64, total as u64);
            if self.context.cancelled() {
                self.save(state, &live)?;
                return Err(Error::Cancelled);
            }
            if due {
                self.save(state, &live)?;
                saved = Instant::now();
            }
            self.renew(&mut points, state.cycles)?;
            self.cycle(state, &mut live, &mut points)?;
            self.check(state, points.nothing)?;
        };
        self.pull(state, &live)?;
        self.renew(&mut points, state.cycles.saturating_sub(1))?;
        self.compare(state, points.nothing)?;
        self.between(state)?;
        if state.diagnosis.is_none() && self.context.communicator.rank() == 0 && self.can_diagnose(state) {
            let whole = points.own.map(|_| self.control.system(points.stream)).transpose()?;
            state.diagnosis = Some(self.diagnose(state, whole.as_ref().unwrap_or(&points.system)));
        }
        self.save(state, &None)?;
        Ok(stop)
    }

    /// A reason to stop before the next cycle.
    fn reason(&self, state: &State, late: bool) -> Option<Stop> {
        let close = |at: f64| self.config.tolerance > 0.0 && self.control.frame.inside(at) <= self.config.tolerance;
        if self.norm(state).is_some_and(close) {
            return Some(Stop::Tolerance);
        }
        if state.ended.is_some() {
            return state.ended;
        }
        // A training of no cycles at all has no result.
        if state.cycles >= self.control.settings.cycles {
            return Some(Stop::Cycles);
        }
        (late && state.cycles > 0).then_some(Stop::Time)
    }

    /// √(2I) after the last cycle.
    pub(crate) fn norm(&self, state: &State) -> Option<f64> {
        let (inside, outside) = (state.interior.last()?, state.boundary.last()?);
        Some((inside * inside + self.control.frame.penalty(self.config.penalty) * outside * outside).sqrt())
    }

    fn renew(&self, points: &mut Points<B>, cycle: usize) -> Result<()> {
        let (settings, ranks) = (&self.control.settings, &*self.context.communicator);
        if !settings.redraw || points.stream == cycle {
            return Ok(());
        }
        // What is solved on the host is of all points.
        let shared = ranks.size() > 1 && settings.weights == Weights::Cg;
        let (system, own) = if shared {
            (self.control.part(cycle, ranks)?, Some([settings.points, settings.boundary_points]))
        } else {
            (self.control.system(cycle)?, None)
        };
        let nothing = own.map_or_else(|| system.of_nothing(), |counts| system.part_of_nothing(counts, ranks));
        *points = Points { stream: cycle, system, own, nothing, goal: None };
        Ok(())
    }

    pub(crate) fn push(&self, state: &State) -> Live<B> {
        let (device, dims) = (&self.context.device, state.centres.len() / state.widths.len());
        Live {
            shape: device::shape(&state.centres, &state.widths, dims, device),
            weights: device::vector::<B>(&state.weights, device),
        }
    }

    fn pull(&self, state: &mut State, live: &Option<Live<B>>) -> Result<()> {
        let Some(Live { shape, weights }) = live else { return Ok(()) };
        let dims = state.centres.len() / state.widths.len();
        let vectors = vec![shape.widths.clone(), weights.clone()];
        let read = device::fetch(vectors, vec![shape.centres.clone()], self.context)?;
        if let [widths, weights, centres] = &read[..] {
            state.widths.clone_from(widths);
            state.weights.clone_from(weights);
            state.centres = device::turned_back(centres, dims);
        }
        self.healthy(state)
    }

    fn save(&self, state: &mut State, live: &Option<Live<B>>) -> Result<()> {
        let Some(path) = &self.checkpoints.file else { return Ok(()) };
        self.pull(state, live)?;
        let ranks = &*self.context.communicator;
        if ranks.rank() == 0 {
            checkpoint::write(path, &self.header, state)?;
        }
        // Who ends before it is written may take the writer along.
        ranks.broadcast(Vec::new());
        Ok(())
    }

    /// Has the first rank alone do what is not shared, and all take over what its state is then.
    pub(crate) fn by_first(&self, state: &mut State, work: impl FnOnce(&mut State) -> Result<()>) -> Result<()> {
        let ranks = &*self.context.communicator;
        if ranks.size() == 1 {
            return work(state);
        }
        *state = State::of_first(ranks, || work(state).map(|()| state.clone()))?;
        Ok(())
    }
}
