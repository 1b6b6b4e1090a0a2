//! From starts to the best embedding: iterations, when they stop, and checkpoints on the way.

use std::time::{Duration, Instant};

use firebox_core::{
    Error, Result,
    checkpoint::{Checkpoints, Identity, Keeper},
    watch::watched,
};
use serde::{Deserialize, Serialize};

use crate::{
    Memory, SammonOps, checkpoint,
    config::{SammonConfig, Solver},
    descent::Descent,
    lbfgs::{Lbfgs, Moved},
    sampled::{Blocks, Sample, Sampled},
    work::{Sums, Work},
};

/// Iterations whose decrease is held against the tolerance.
const WINDOW: usize = 10;
/// An iteration after one this long can be stopped in its middle, which takes a copy of the state; shorter ones end soon
/// enough by themselves.
const LONG: Duration = Duration::from_millis(50);

/// Why a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stop {
    /// The stress hardly fell any more.
    Tolerance,
    /// No step lowers the stress in the precision there is.
    Precision,
    /// The stress rose: the step is too large.
    Diverged,
    /// The iterations were used up.
    Iterations,
    /// The time was used up.
    Time,
    /// All epochs of block sampling were run.
    Epochs,
    /// There was nothing to improve: at most two different points.
    Exact,
}

impl std::fmt::Display for Stop {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Tolerance => "tolerance",
            Self::Precision => "precision",
            Self::Diverged => "diverged",
            Self::Iterations => "iterations",
            Self::Time => "time",
            Self::Epochs => "epochs",
            Self::Exact => "exact",
        })
    }
}

/// What a run from one start found.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Found {
    pub(crate) x: Vec<f64>,
    pub(crate) stress: f64,
    pub(crate) stress_start: f64,
    /// E before the first iteration and after each (sampled: every ten epochs, of a sample).
    pub(crate) history: Vec<f64>,
    pub(crate) iterations: usize,
    pub(crate) evaluations: usize,
    pub(crate) stop: Stop,
    pub(crate) step: String,
}

/// The method by which a run improves its embedding.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Method {
    Lbfgs(Lbfgs),
    Descent(Descent),
    Sampled(Sampled),
}

/// Everything a run needs to go on.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct State {
    /// 0 from the start that was asked for, then the random ones.
    pub(crate) run: usize,
    pub(crate) method: Method,
    pub(crate) history: Vec<f64>,
    pub(crate) stress_start: f64,
    pub(crate) iterations: usize,
    pub(crate) best: Option<Found>,
    /// Set where the run ended for good: going on from there would move it.
    pub(crate) stop: Option<Stop>,
}

impl State {
    /// The same with every vector that ranks have parts of made by `make` of what it is.
    fn map(&self, make: impl Fn(&[f64]) -> Vec<f64>) -> Self {
        let method = match &self.method {
            Method::Lbfgs(lbfgs) => Method::Lbfgs(lbfgs.map(make)),
            whole @ (Method::Descent(_) | Method::Sampled(_)) => whole.clone(),
        };
        Self { method, history: self.history.clone(), best: self.best.clone(), ..*self }
    }

    /// Where the run is, for notices.
    fn position(&self) -> String {
        let unit = if matches!(self.method, Method::Sampled(_)) { "epoch" } else { "iteration" };
        let restart = if self.run > 0 { format!(" of restart {}", self.run) } else { String::new() };
        format!("{unit} {}{restart}", self.iterations)
    }
}

/// What block sampling has instead of a look at all pairs.
pub(crate) struct Sampling<'a, B: SammonOps> {
    pub(crate) blocks: Blocks<'a, B>,
    pub(crate) sample: Sample,
}

/// A run under way. With sampling, `work` is the sample's.
pub(crate) struct Run<'a, B: SammonOps> {
    pub(crate) config: &'a SammonConfig,
    pub(crate) work: &'a Work<'a, B>,
    pub(crate) sampling: Option<Sampling<'a, B>>,
    /// The solver's length in the points' unit.
    pub(crate) unit: f64,
    pub(crate) checkpoints: &'a Checkpoints,
    /// Set where a state is kept.
    pub(crate) identity: Option<Identity>,
    /// How the distances are kept, which `auto` may choose otherwise next time.
    pub(crate) memory: Memory,
}

impl<B: SammonOps> Run<'_, B> {
    /// All runs; `start` gives the place that each begins at, and the sums there if they are known. Returns the best
    /// run, and whether the state file is behind it because it could not be written.
    pub(crate) fn all(
        &self,
        resumed: Option<State>,
        start: impl Fn(usize) -> Result<(Vec<f64>, Option<Sums>)>,
    ) -> Result<(Found, bool)> {
        let mut keeper = Keeper::new(self.checkpoints, self.work.context);
        let mut state = match resumed {
            Some(state) if self.work.shared() => state.map(|whole| self.work.own(whole)),
            Some(state) => state,
            None => self.begin(0, &start, None)?,
        };
        let found = self.rest(&mut state, start, &mut keeper);
        let ended = matches!(found, Ok(_) | Err(Error::Cancelled));
        let stale = ended && keeper.finish(state.position());
        Ok((found?, stale))
    }

    /// The run that is under way, and those after it.
    fn rest(
        &self,
        state: &mut State,
        start: impl Fn(usize) -> Result<(Vec<f64>, Option<Sums>)>,
        keeper: &mut Keeper<'_>,
    ) -> Result<Found> {
        let began = Instant::now();
        loop {
            let stop = self.one(state, began, keeper)?;
            if stop == Stop::Diverged {
                let text =
                    "the stress rose: the step is too large, and the best place on the way is kept; try --step auto";
                self.work.context.observer.notice(text);
            }
            let found = self.found(state, stop)?;
            let best = match state.best.take() {
                Some(best) if best.stress <= found.stress => best,
                _ => found,
            };
            let next = state.run + 1;
            if stop == Stop::Time || next > self.config.restarts {
                return Ok(best);
            }
            *state = self.begin(next, &start, Some(best))?;
        }
    }

    fn begin(
        &self,
        run: usize,
        start: impl Fn(usize) -> Result<(Vec<f64>, Option<Sums>)>,
        best: Option<Found>,
    ) -> Result<State> {
        let (mut x, sums) = start(run)?;
        let sums = match sums {
            Some(sums) => sums,
            None => self.work.measure(&self.shown(&x))?.0,
        };
        if self.config.rescale
            && let Some(beta) = sums.best_factor()
        {
            x.iter_mut().for_each(|x| *x *= beta);
        }
        let config = self.config;
        let (method, history) = if self.sampling.is_some() {
            (Method::Sampled(Sampled::new(x)), vec![sums.stress()])
        } else if config.solver == Solver::Lbfgs {
            let method = Lbfgs::new(&mut &*self.work, self.work.own(&x))?;
            if !method.value().is_finite() {
                return Err(self.failed());
            }
            let history = vec![method.value()];
            (Method::Lbfgs(method), history)
        } else {
            let method = Descent::new(config.solver, config.step, x, self.work, self.unit, config.power);
            (Method::Descent(method), Vec::new())
        };
        Ok(State { run, method, history, stress_start: sums.stress(), iterations: 0, best, stop: None })
    }

    /// The error for a stress that is not finite.
    pub(crate) fn failed(&self) -> Error {
        let device = B::limits(&self.work.context.device).device;
        Error::Run { device, phase: "mapping".into(), what: "the stress that came back is no number".into() }
    }

    /// The places that `work` knows of.
    fn shown(&self, x: &[f64]) -> Vec<f64> {
        self.sampling.as_ref().map_or_else(|| x.to_vec(), |sampling| sampling.sample.places(x))
    }

    /// Iterates to a stop.
    fn one(&self, state: &mut State, began: Instant, keeper: &mut Keeper<'_>) -> Result<Stop> {
        if let Some(stop) = state.stop {
            return Ok(stop);
        }
        let config = self.config;
        let total = if self.sampling.is_some() { config.epochs } else { config.iterations };
        let diagonal = self.work.diagonal();
        let mut long = true;
        loop {
            let context = self.work.context;
            // What time and the observer say differs between ranks: the first speaks for all.
            let late = config.time_limit.is_some_and(|limit| began.elapsed().as_secs_f64() >= limit);
            let said = [late, context.observer.cancelled(), keeper.is_due()].map(u8::from);
            let said = context.communicator.first(said);
            let stop = if said[0] == 1 { Some(Stop::Time) } else { self.reason(state) };
            if let Some(stop) = stop {
                self.save(state, keeper)?;
                return Ok(stop);
            }
            context.observer.progress("mapping", state.iterations as u64, total as u64);
            if said[1] == 1 {
                self.save(state, keeper)?;
                return Err(Error::Cancelled);
            }
            if said[2] == 1 {
                self.save(state, keeper)?;
            }
            let start = Instant::now();
            let stop = if long && !self.work.shared() {
                let before = (state.method.clone(), state.history.len(), state.iterations);
                match context.watched(|| self.advance(state, &diagonal)).and_then(|stop| stop) {
                    Err(Error::Cancelled) => {
                        (state.method, state.iterations) = (before.0, before.2);
                        state.history.truncate(before.1);
                        self.save(state, keeper)?;
                        return Err(Error::Cancelled);
                    }
                    stop => stop?,
                }
            } else {
                // Whole, even where a caller's watch would stop it.
                watched(None, || self.advance(state, &diagonal))??
            };
            long = start.elapsed() >= LONG;
            if let Some(stop) = stop {
                state.stop = Some(stop);
                self.save(state, keeper)?;
                return Ok(stop);
            }
        }
    }

    /// One iteration, or some epochs; a reason to stop if it found one.
    fn advance(&self, state: &mut State, diagonal: &[f64]) -> Result<Option<Stop>> {
        let config = self.config;
        let left = config.iterations - state.iterations.min(config.iterations);
        Ok(match &mut state.method {
            Method::Lbfgs(lbfgs) => {
                let moved = lbfgs.advance(&mut &*self.work, diagonal)?;
                if moved == Moved::Down {
                    state.iterations += 1;
                    state.history.push(lbfgs.value());
                }
                (moved == Moved::Stuck).then_some(Stop::Precision)
            }
            Method::Descent(descent) => {
                let (moved, stresses) = descent.advance(self.work, left)?;
                let stresses = stresses.into_iter().take_while(|stress| stress.is_finite());
                state.history.extend(stresses);
                state.iterations = state.history.len();
                (moved == Moved::Stuck).then_some(Stop::Diverged)
            }
            Method::Sampled(sampled) => match &self.sampling {
                Some(sampling) => {
                    let (epochs, all) = sampled.advance(&sampling.blocks, self.work.m)?;
                    state.iterations += epochs;
                    let value = self.work.measure(&sampling.sample.places(&sampled.x))?.0.stress();
                    state.history.push(value);
                    all.then_some(Stop::Epochs)
                }
                None => Some(Stop::Epochs),
            },
        })
    }

    /// A reason to stop before the next iteration, but for the time.
    fn reason(&self, state: &State) -> Option<Stop> {
        let config = self.config;
        if self.sampling.is_some() {
            return (state.iterations >= config.epochs).then_some(Stop::Epochs);
        }
        if let [.., last] = state.history[..]
            && let Some(before) = state.history.len().checked_sub(WINDOW + 1).map(|at| state.history[at])
            && (before - last < config.tolerance * last || last.is_nan())
        {
            // A stress that settles above one that was seen has risen, and may be anything.
            let least = state.history.iter().copied().fold(f64::INFINITY, f64::min);
            let stands = last <= least * (1.0 + Work::<B>::noise());
            return Some(if stands { Stop::Tolerance } else { Stop::Diverged });
        }
        (state.iterations >= config.iterations).then_some(Stop::Iterations)
    }

    fn save(&self, state: &State, keeper: &mut Keeper<'_>) -> Result<()> {
        let Some(identity) = self.identity.as_ref().filter(|_| keeper.is_on()) else { return Ok(()) };
        let shape =
            [self.work.m, self.sampling.as_ref().map_or(self.work.n, |sampling| sampling.sample.points_of_all())];
        // Whole, so that any number of ranks can go on from it.
        let whole = self.work.shared().then(|| state.map(|own| self.work.gather(own)));
        let state = whole.as_ref().unwrap_or(state);
        keeper.save(state.position(), || checkpoint::save(state, identity, self.memory, shape))
    }

    fn found(&self, state: &mut State, stop: Stop) -> Result<Found> {
        let (x, stress, evaluations, step) = match &mut state.method {
            Method::Lbfgs(lbfgs) => {
                let step = format!("lbfgs, {}", if self.config.rescale { "rescaled start" } else { "start as it is" });
                (self.work.gather(lbfgs.x()), lbfgs.value(), lbfgs.evaluations, step)
            }
            Method::Descent(descent) => {
                descent.finish(self.work)?;
                state.history.push(descent.value());
                let step = descent.describe(self.config.step, self.unit, self.config.power);
                (descent.best().to_vec(), descent.value(), descent.evaluations, step)
            }
            Method::Sampled(sampled) => {
                let last = state.history.last().copied().unwrap_or(f64::INFINITY);
                let step = format!("block-sampled, alpha:1 to 0.02 over {} epochs", self.config.epochs);
                (sampled.x.clone(), last, state.iterations, step)
            }
        };
        if !stress.is_finite() {
            return Err(self.failed());
        }
        Ok(Found {
            x,
            stress,
            stress_start: state.stress_start,
            history: state.history.clone(),
            iterations: state.iterations,
            evaluations,
            stop,
            step,
        })
    }
}
