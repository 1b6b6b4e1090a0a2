//! A training under way: cycles, when they stop, and checkpoints on the way.

use std::time::{Duration, Instant};

use burn::tensor::ops::FloatTensor;
use firebox_core::{Context, Result, observe};

use crate::{
    RbfConfig, RbfOps, System,
    checkpoint::{self, Checkpoints, Header},
    control::Control,
    device,
    ops::{Aim, Shape},
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
    /// Once the device needs them.
    pub(crate) aim: Option<Aim<B>>,
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
        let mut points = Points { stream: 0, system: first, aim: None };
        let mut live = None;
        let total = self.control.settings.cycles;
        let stop = loop {
            if let Some(stop) = self.reason(state, began) {
                break stop;
            }
            let watched = observe::checkpoint(&*self.context.observer, "training", state.cycles as u64, total as u64);
            if let Err(stopped) = watched {
                self.save(state, &live)?;
                return Err(stopped);
            }
            if saved.elapsed() >= every {
                self.save(state, &live)?;
                saved = Instant::now();
            }
            self.renew(&mut points, state.cycles)?;
            self.cycle(state, &mut live, &mut points)?;
            self.check(state, &points.system)?;
        };
        self.pull(state, &live)?;
        self.renew(&mut points, state.cycles.saturating_sub(1))?;
        self.compare(state, &points.system)?;
        self.between(state)?;
        if state.diagnosis.is_none() {
            state.diagnosis = Some(self.diagnose(state, &points.system));
        }
        self.save(state, &None)?;
        Ok(stop)
    }

    /// A reason to stop before the next cycle.
    fn reason(&self, state: &State, began: Instant) -> Option<Stop> {
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
        let late = self.config.time_limit.is_some_and(|limit| began.elapsed().as_secs_f64() >= limit);
        (late && state.cycles > 0).then_some(Stop::Time)
    }

    /// √(2I) after the last cycle.
    pub(crate) fn norm(&self, state: &State) -> Option<f64> {
        let (inside, outside) = (state.interior.last()?, state.boundary.last()?);
        Some((inside * inside + self.control.frame.penalty(self.config.penalty) * outside * outside).sqrt())
    }

    fn renew(&self, points: &mut Points<B>, cycle: usize) -> Result<()> {
        if self.control.settings.redraw && points.stream != cycle {
            *points = Points { stream: cycle, system: self.control.system(cycle)?, aim: None };
        }
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
        checkpoint::write(path, &self.header, state)
    }
}
