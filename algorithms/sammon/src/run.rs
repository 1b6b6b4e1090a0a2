//! From starts to the best embedding: iterations, when they stop, and checkpoints on the way.

use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

use firebox_core::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::{
    SammonOps, bits, checkpoint,
    config::{SammonConfig, Solver},
    descent::Descent,
    lbfgs::{Lbfgs, Moved},
    sampled::{Blocks, Sample, Sampled},
    work::{Sums, Work},
};

/// Iterations whose decrease is held against the tolerance.
const WINDOW: usize = 10;

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

/// Files that a run's state goes to and comes from.
#[derive(Debug, Clone, PartialEq)]
pub struct Checkpoints {
    /// Where the state is written, whole or not at all: every so often, when the run is stopped, and at its end.
    pub file: Option<PathBuf>,
    /// Seconds between two writes.
    pub every: f64,
    /// A state to go on from. Its input, configuration, seed and precision must be the run's; the limits (iterations,
    /// time, tolerance) may differ.
    pub resume: Option<PathBuf>,
}

impl Default for Checkpoints {
    fn default() -> Self {
        Self { file: None, every: 60.0, resume: None }
    }
}

/// What a run from one start found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Found {
    #[serde(with = "bits")]
    pub(crate) x: Vec<f64>,
    #[serde(with = "bits::one")]
    pub(crate) stress: f64,
    #[serde(with = "bits::one")]
    pub(crate) stress_start: f64,
    /// E before the first iteration and after each (sampled: every ten epochs, of a sample).
    #[serde(with = "bits")]
    pub(crate) history: Vec<f64>,
    pub(crate) iterations: usize,
    pub(crate) evaluations: usize,
    pub(crate) stop: Stop,
    pub(crate) step: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
enum Method {
    Lbfgs(Lbfgs),
    Descent(Descent),
    Sampled(Sampled),
}

/// Everything a run needs to go on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct State {
    /// 0 from the start that was asked for, then the random ones.
    run: usize,
    method: Method,
    #[serde(with = "bits")]
    history: Vec<f64>,
    #[serde(with = "bits::one")]
    stress_start: f64,
    iterations: usize,
    best: Option<Found>,
    /// Set where the run ended for good: going on from there would move it.
    #[serde(default)]
    stop: Option<Stop>,
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

    /// Whether this is of `n` points in `m` dimensions and of the configuration's method.
    pub(crate) fn fits(&self, config: &SammonConfig, sampled: bool, m: usize, n: usize) -> bool {
        let size = |x: &[f64]| x.len() == m * n;
        let method = match &self.method {
            Method::Lbfgs(lbfgs) => !sampled && config.solver == Solver::Lbfgs && lbfgs.has_size(m * n),
            Method::Descent(descent) => !sampled && config.solver != Solver::Lbfgs && descent.has_size(m * n),
            Method::Sampled(sampling) => sampled && size(&sampling.x),
        };
        method && self.run <= config.restarts && self.best.as_ref().is_none_or(|best| size(&best.x))
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
    pub(crate) header: checkpoint::Header,
}

impl<B: SammonOps> Run<'_, B> {
    /// All runs; `start` gives the place that each begins at, and the sums there if they are known.
    pub(crate) fn all(
        &self,
        resumed: Option<State>,
        start: impl Fn(usize) -> Result<(Vec<f64>, Option<Sums>)>,
    ) -> Result<Found> {
        let began = Instant::now();
        let mut saved = Instant::now();
        let mut state = match resumed {
            Some(state) if self.work.shared() => state.map(|whole| self.work.own(whole)),
            Some(state) => state,
            None => self.begin(0, &start, None)?,
        };
        loop {
            let stop = self.one(&mut state, began, &mut saved)?;
            if stop == Stop::Diverged {
                let text =
                    "the stress rose: the step is too large, and the best place on the way is kept; try --step auto";
                self.work.context.observer.notice(text);
            }
            let found = self.found(&mut state, stop)?;
            let best = match state.best.take() {
                Some(best) if best.stress <= found.stress => best,
                _ => found,
            };
            let next = state.run + 1;
            if stop == Stop::Time || next > self.config.restarts {
                return Ok(best);
            }
            state = self.begin(next, &start, Some(best))?;
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

    fn failed(&self) -> Error {
        let device = B::limits(&self.work.context.device).device;
        Error::Run { device, phase: "mapping".into(), what: "the stress that came back is no number".into() }
    }

    /// The places that `work` knows of.
    fn shown(&self, x: &[f64]) -> Vec<f64> {
        self.sampling.as_ref().map_or_else(|| x.to_vec(), |sampling| sampling.sample.places(x))
    }

    /// Iterates to a stop.
    fn one(&self, state: &mut State, began: Instant, saved: &mut Instant) -> Result<Stop> {
        if let Some(stop) = state.stop {
            return Ok(stop);
        }
        let config = self.config;
        let total = if self.sampling.is_some() { config.epochs } else { config.iterations };
        let diagonal = self.work.diagonal();
        let every = Duration::try_from_secs_f64(self.checkpoints.every).unwrap_or(Duration::MAX);
        loop {
            let context = self.work.context;
            // What time and the observer say differs between ranks: the first speaks for all.
            let late = config.time_limit.is_some_and(|limit| began.elapsed().as_secs_f64() >= limit);
            let said = [late, context.observer.cancelled(), saved.elapsed() >= every].map(u8::from);
            let said = context.communicator.first(said);
            let stop = if said[0] == 1 { Some(Stop::Time) } else { self.reason(state) };
            if let Some(stop) = stop {
                self.save(state)?;
                return Ok(stop);
            }
            context.observer.progress("mapping", state.iterations as u64, total as u64);
            if said[1] == 1 {
                self.save(state)?;
                return Err(Error::Cancelled);
            }
            if said[2] == 1 {
                self.save(state)?;
                *saved = Instant::now();
            }
            let left = config.iterations - state.iterations.min(config.iterations);
            let stop = match &mut state.method {
                Method::Lbfgs(lbfgs) => {
                    let moved = lbfgs.advance(&mut &*self.work, &diagonal)?;
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
            };
            if let Some(stop) = stop {
                state.stop = Some(stop);
                self.save(state)?;
                return Ok(stop);
            }
        }
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

    fn save(&self, state: &State) -> Result<()> {
        let Some(path) = &self.checkpoints.file else { return Ok(()) };
        if !self.work.shared() {
            return checkpoint::write(path, &self.header, state);
        }
        // Whole, so that it goes on on any number of ranks.
        let state = state.map(|own| self.work.gather(own));
        let ranks = &self.work.context.communicator;
        if ranks.rank() == 0 {
            checkpoint::write(path, &self.header, &state)?;
        }
        // Who ends before it is written may take the writer along.
        ranks.broadcast(Vec::new());
        Ok(())
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
