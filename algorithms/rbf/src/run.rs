//! A training under way: cycles, when they stop, and checkpoints on the way.

use std::mem::take;

use burn::tensor::ops::FloatTensor;
use firebox_core::{
    Context, Error, Result,
    checkpoint::{Checkpoints, Identity, Keeper},
};

use crate::{
    RbfConfig, RbfOps, System, Weights, checkpoint,
    control::Control,
    device,
    goal::Goal,
    limit::Limit,
    ops::Shape,
    state::{State, Stop},
};

/// The network where it is trained.
#[derive(Clone)]
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
    pub(crate) identity: Identity,
    pub(crate) limit: Limit,
}

/// How a cycle ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    Complete,
    /// Its solver was cut short by the time limit; there is a solution, though not yet the best of its kind.
    CutShort,
}

impl<B: RbfOps> Run<'_, B> {
    /// Trains to a stop, from the control points of the first cycle. Returns why it stopped, and whether the state file
    /// is behind the training because it could not be written.
    ///
    /// A stop request and the time limit also end a cycle in its middle; the state is that of its start then, and what
    /// is saved goes on to the bits of a run that was not stopped.
    pub(crate) fn all(&self, state: &mut State, first: System) -> Result<(Stop, bool)> {
        let mut keeper = Keeper::new(self.checkpoints, self.context);
        let stop = self.train(state, first, &mut keeper);
        let ended = matches!(stop, Ok(_) | Err(Error::Cancelled));
        let stale = ended && keeper.finish(position(state));
        Ok((stop?, stale))
    }

    fn train(&self, state: &mut State, first: System, keeper: &mut Keeper<'_>) -> Result<Stop> {
        let mut points = Points { stream: 0, nothing: first.of_nothing(), system: first, own: None, goal: None };
        let (mut live, mut cut) = (None, false);
        let total = self.control.settings.cycles;
        let stop = loop {
            // What time says differs between ranks: the first speaks for all.
            let said = [self.limit.is_over(), keeper.is_due()].map(u8::from);
            let [late, due] = self.context.communicator.first(said).map(|word| word == 1);
            if let Some(stop) = self.reason(state, late) {
                break stop;
            }
            self.context.observer.progress("training", state.cycles as u64, total as u64);
            if self.context.cancelled() {
                self.save(state, &live, keeper)?;
                return Err(Error::Cancelled);
            }
            if due {
                self.save(state, &live, keeper)?;
            }
            let (mut before, live_before) = (without_history(state), live.clone());
            let cycle = self.limit.watched(self.context, || {
                self.renew(&mut points, state.cycles)?;
                self.cycle(state, &mut live, &mut points)
            });
            match cycle {
                Ok(Ended::Complete) => self.check(state, points.nothing)?,
                Ok(Ended::CutShort) => {
                    // What is saved is not the cut solution: a run that goes on has to find the same as one without a limit.
                    self.save(&mut before, &live_before, keeper)?;
                    self.check(state, points.nothing)?;
                    cut = true;
                    break Stop::Time;
                }
                Err(Error::Cancelled) => {
                    (before.interior, before.boundary) = (take(&mut state.interior), take(&mut state.boundary));
                    before.interior.truncate(before.cycles);
                    before.boundary.truncate(before.cycles);
                    (*state, live) = (before, live_before);
                    let asked = self.context.cancelled();
                    if !asked && state.cycles > 0 {
                        break Stop::Time;
                    }
                    self.save(state, &live, keeper)?;
                    return Err(if asked { Error::Cancelled } else { self.limit.no_result(self.context) });
                }
                Err(error) => return Err(error),
            }
        };
        self.pull(state, &live)?;
        match self.context.watched(|| self.judge(state, &mut points)).and_then(|judged| judged) {
            // The next run has this part to do only.
            Err(Error::Cancelled) if !cut => self.save(state, &None, keeper).and(Err(Error::Cancelled)),
            Err(error) => Err(error),
            Ok(()) if cut => Ok(stop),
            Ok(()) => self.save(state, &None, keeper).map(|()| stop),
        }
    }

    /// Fails if the training came to nothing; else finds what there is to tell of its last matrix.
    fn judge(&self, state: &mut State, points: &mut Points<B>) -> Result<()> {
        self.renew(points, state.cycles.saturating_sub(1))?;
        self.compare(state, points.nothing)?;
        self.between(state)?;
        if state.diagnosis.is_none() && self.context.communicator.rank() == 0 && self.can_diagnose(state) {
            let whole = points.own.map(|_| self.control.system(points.stream)).transpose()?;
            state.diagnosis = Some(self.diagnose(state, whole.as_ref().unwrap_or(&points.system))?);
        }
        Ok(())
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

    fn save(&self, state: &mut State, live: &Option<Live<B>>, keeper: &mut Keeper<'_>) -> Result<()> {
        if !keeper.is_on() {
            return Ok(());
        }
        self.pull(state, live)?;
        keeper.save(position(state), || checkpoint::save(state, &self.identity))
    }

    /// Has the first rank alone do what is not shared, and all take over what its state is then.
    pub(crate) fn by_first(&self, state: &mut State, work: impl FnOnce(&mut State) -> Result<()>) -> Result<()> {
        let ranks = &*self.context.communicator;
        if ranks.size() == 1 {
            return work(state);
        }
        let size = [state.widths.len(), state.centres.len() / state.widths.len()];
        *state = checkpoint::of_first(ranks, &self.identity, size, || work(state).map(|()| state.clone()))?;
        Ok(())
    }
}

/// Where a training is, for notices.
fn position(state: &State) -> String {
    format!("cycle {}", state.cycles)
}

/// A copy of a state but for its history, which grows with every cycle.
fn without_history(state: &mut State) -> State {
    let history = (take(&mut state.interior), take(&mut state.boundary));
    let copy = state.clone();
    (state.interior, state.boundary) = history;
    copy
}
