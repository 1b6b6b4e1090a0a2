//! Run loop: iterations, stopping criteria, restarts and checkpoints.

use std::time::{Duration, Instant};

use firebox_core::{
    Error, Result,
    checkpoint::{Checkpoints, Identity, Keeper},
    watch::watched,
};

use crate::{
    config::{MAX_DIMS, Memory, SammonConfig, Solver, Step},
    io::state,
    ops::SammonOps,
    solve::{
        block_sampling::{BlockSampler, SamplingState},
        descent::{Descent, Rate},
        lbfgs::{IterationOutcome, Lbfgs},
        objective::{Objective, PairSums},
        relaxation::relaxed,
        state::{AppliedStep, Method, RunResult, State, Stop},
        subsample::Subsample,
    },
};

/// Iterations whose total decrease is compared with the tolerance.
const WINDOW: usize = 10;
/// Stress up to which a map needs no further runs.
const EXACT: f64 = 1e-9;
/// Duration of an iteration from which the next one can be cancelled in its middle, which takes a copy of the state;
/// shorter ones are completed.
const LONG: Duration = Duration::from_millis(50);

/// Returns the initial embedding of the run with an index, and its sums over pairs if known.
pub(super) type Start<'a> = &'a dyn Fn(usize) -> Result<(Vec<f64>, Option<PairSums>)>;

/// Block sampling, and the sample that its history is measured on.
pub(super) struct Sampling<'a, B: SammonOps> {
    pub(super) blocks: BlockSampler<'a, B>,
    pub(super) sample: Subsample,
}

/// Context of a run. With block sampling, `objective` is that of the sample.
pub(super) struct Run<'a, B: SammonOps> {
    pub(super) config: &'a SammonConfig,
    pub(super) objective: &'a Objective<'a, B>,
    pub(super) sampling: Option<Sampling<'a, B>>,
    /// Unit of length, in that of the input.
    pub(super) unit: f64,
    pub(super) checkpoints: &'a Checkpoints,
    /// Identity of the run, if its state is kept.
    pub(super) identity: Option<Identity>,
    /// Chosen memory mode, stored in states since `auto` may choose differently on another device.
    pub(super) memory: Memory,
}

impl<B: SammonOps> Run<'_, B> {
    /// Runs from all starts. Returns the best result, and true if the state file is stale because writing failed.
    pub(super) fn run(&self, resumed: Option<State>, start: Start<'_>) -> Result<(RunResult, bool)> {
        let mut keeper = Keeper::new(self.checkpoints, self.objective.context);
        let mut state = match resumed {
            Some(state) if self.objective.is_distributed() => state.map(|whole| self.objective.local_part(whole)),
            Some(state) => state,
            None => self.begin(0, start, None, Instant::now())?,
        };
        let result = self.run_from(&mut state, start, &mut keeper);
        let ended = matches!(result, Ok(_) | Err(Error::Cancelled));
        let stale = ended && keeper.finish(state.position());
        Ok((result?, stale))
    }

    /// Completes the current run and all remaining restarts.
    fn run_from(&self, state: &mut State, start: Start<'_>, keeper: &mut Keeper<'_>) -> Result<RunResult> {
        let began = Instant::now();
        loop {
            let stop = self.iterate(state, began, keeper)?;
            if stop == Stop::Diverged {
                let text =
                    "the stress increased: the step is too large; the best embedding so far is kept; try `step = auto`";
                self.objective.context.observer.notice(text);
            }
            let result = self.result(state, stop)?;
            let best = match state.best.take() {
                Some(best) if best.stress <= result.stress => best,
                // The start of a relaxed map says nothing about the configured one.
                Some(best) => RunResult { stress_start: best.stress_start, ..result },
                None => result,
            };
            let next = state.run + 1;
            if stop == Stop::Time || next > self.further_runs(&best) {
                return Ok(best);
            }
            *state = self.begin(next, start, Some(best), began)?;
        }
    }

    /// Number of runs after the first: by default none if it did not converge, or is exact.
    fn further_runs(&self, best: &RunResult) -> usize {
        let converged = matches!(best.stop, Stop::Tolerance | Stop::Precision) && self.config.tolerance > 0.0;
        let converged = converged && best.stress > EXACT;
        if self.config.restarts.is_some() || converged { self.config.further_runs(self.objective.n) } else { 0 }
    }

    /// Initial embedding of a run, and its sums over pairs if known. The first and the last restart relax the best map, if it
    /// is one of all points by L-BFGS.
    fn initial(
        &self,
        run: usize,
        start: Start<'_>,
        best: Option<&RunResult>,
        began: Instant,
    ) -> Result<(Vec<f64>, Option<PairSums>)> {
        let relaxes = run == 1 || run == self.config.further_runs(self.objective.n);
        let can_relax = self.config.solver == Solver::Lbfgs && self.sampling.is_none() && self.objective.m < MAX_DIMS;
        let Some(best) = best.filter(|_| relaxes && can_relax) else { return start(run) };
        // Clocks differ between ranks: rank 0 decides for all.
        let late = || self.objective.context.communicator.broadcast_value(u8::from(self.is_late(began))) == 1;
        Ok((relaxed(self.objective, &best.x, run, &late)?, None))
    }

    /// Returns true if the time limit has passed.
    fn is_late(&self, began: Instant) -> bool {
        self.config.time_limit.is_some_and(|limit| began.elapsed().as_secs_f64() >= limit)
    }

    /// State at the start of a run.
    fn begin(&self, run: usize, start: Start<'_>, best: Option<RunResult>, began: Instant) -> Result<State> {
        let (mut x, sums) = self.initial(run, start, best.as_ref(), began)?;
        let sums = match sums {
            Some(sums) => sums,
            None => self.objective.measure(&self.measured_points(&x))?.0,
        };
        if self.config.rescale
            && let Some(beta) = sums.optimal_scale()
        {
            x.iter_mut().for_each(|x| *x *= beta);
        }
        let config = self.config;
        let (method, history) = if self.sampling.is_some() {
            (Method::Sampled(SamplingState::new(x)), vec![sums.stress()])
        } else if config.solver == Solver::Lbfgs {
            let method = Lbfgs::new(&mut &*self.objective, self.objective.local_part(&x))?;
            if !method.value.is_finite() {
                return Err(self.non_finite_stress());
            }
            let history = vec![method.value];
            (Method::Lbfgs(method), history)
        } else {
            let method = Descent::new(config.solver, config.step, x, self.objective, self.unit, config.power);
            (Method::Descent(method), Vec::new())
        };
        Ok(State { run, method, history, stress_start: sums.stress(), iterations: 0, best, stop: None })
    }

    /// Error for a stress that is not finite.
    pub(super) fn non_finite_stress(&self) -> Error {
        let device = B::limits(&self.objective.context.device).device;
        Error::Run { device, phase: "mapping".into(), what: "the stress is not finite".into() }
    }

    /// The part of an embedding that `objective` measures: all points, or the sample.
    fn measured_points(&self, x: &[f64]) -> Vec<f64> {
        self.sampling.as_ref().map_or_else(|| x.to_vec(), |sampling| sampling.sample.embedding(x))
    }

    /// Iterates until a stopping criterion holds.
    fn iterate(&self, state: &mut State, began: Instant, keeper: &mut Keeper<'_>) -> Result<Stop> {
        if let Some(stop) = state.stop {
            return Ok(stop);
        }
        let config = self.config;
        let total = if self.sampling.is_some() { config.epochs } else { config.iterations };
        let diagonal = self.objective.diagonal();
        let mut long = true;
        loop {
            let context = self.objective.context;
            // Clocks and observers differ between ranks: rank 0 decides for all.
            let flags = [self.is_late(began), context.observer.cancelled(), keeper.is_due()].map(u8::from);
            let [late, cancelled, due] = context.communicator.broadcast_value(flags).map(|flag| flag == 1);
            let stop = if late { Some(Stop::Time) } else { self.stopping_criterion(state) };
            if stop.is_none() {
                context.observer.progress("mapping", state.iterations as u64, total as u64);
            }
            if stop.is_some() || cancelled || due {
                self.save(state, keeper)?;
            }
            match stop {
                Some(stop) => return Ok(stop),
                None if cancelled => return Err(Error::Cancelled),
                None => {}
            }
            let start = Instant::now();
            let stop = if long && !self.objective.is_distributed() {
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
                // Completed even if the caller's watch would stop it.
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

    /// Runs one iteration, batch of steps, or call of epochs; returns a stopping criterion of the method.
    fn advance(&self, state: &mut State, diagonal: &[f64]) -> Result<Option<Stop>> {
        let config = self.config;
        let left = config.iterations - state.iterations.min(config.iterations);
        Ok(match &mut state.method {
            Method::Lbfgs(lbfgs) => {
                let outcome = lbfgs.advance(&mut &*self.objective, diagonal)?;
                if outcome == IterationOutcome::Decreased {
                    state.iterations += 1;
                    state.history.push(lbfgs.value);
                }
                (outcome == IterationOutcome::Stalled).then_some(Stop::Precision)
            }
            Method::Descent(descent) => {
                let (outcome, stresses) = descent.advance(self.objective, left)?;
                let stresses = stresses.into_iter().take_while(|stress| stress.is_finite());
                state.history.extend(stresses);
                state.iterations = state.history.len();
                (outcome == IterationOutcome::Stalled).then_some(Stop::Diverged)
            }
            Method::Sampled(sampled) => match &self.sampling {
                Some(sampling) => {
                    let (epochs, done) = sampled.advance(&sampling.blocks, self.objective.m)?;
                    state.iterations += epochs;
                    let value = self.objective.measure(&sampling.sample.embedding(&sampled.x))?.0.stress();
                    state.history.push(value);
                    done.then_some(Stop::Epochs)
                }
                None => Some(Stop::Epochs),
            },
        })
    }

    /// Stopping criterion before the next iteration, except for the time limit.
    fn stopping_criterion(&self, state: &State) -> Option<Stop> {
        let config = self.config;
        if self.sampling.is_some() {
            return (state.iterations >= config.epochs).then_some(Stop::Epochs);
        }
        if let [.., last] = state.history[..]
            && let Some(before) = state.history.len().checked_sub(WINDOW + 1).map(|at| state.history[at])
            && (before - last < config.tolerance * last || last.is_nan())
        {
            // A stress that settles above an earlier one is no convergence.
            let least = state.history.iter().copied().fold(f64::INFINITY, f64::min);
            let converged = last <= least * (1.0 + Objective::<B>::rounding_noise());
            return Some(if converged { Stop::Tolerance } else { Stop::Diverged });
        }
        (state.iterations >= config.iterations).then_some(Stop::Iterations)
    }

    fn save(&self, state: &State, keeper: &mut Keeper<'_>) -> Result<()> {
        let Some(identity) = self.identity.as_ref().filter(|_| keeper.is_on()) else { return Ok(()) };
        let shape = [
            self.objective.m,
            self.sampling.as_ref().map_or(self.objective.n, |sampling| sampling.sample.population()),
        ];
        // Gathered, so that any number of ranks can resume from it.
        let whole = self.objective.is_distributed().then(|| state.map(|own| self.objective.gather(own)));
        let state = whole.as_ref().unwrap_or(state);
        keeper.save(state.position(), || state::save(state, identity, self.memory, shape))
    }

    /// Result of the current run.
    fn result(&self, state: &mut State, stop: Stop) -> Result<RunResult> {
        let (x, stress, evaluations, step) = match &mut state.method {
            Method::Lbfgs(lbfgs) => {
                let step = AppliedStep::Lbfgs { rescaled: self.config.rescale };
                (self.objective.gather(&lbfgs.x), lbfgs.value, lbfgs.evaluations, step)
            }
            Method::Descent(descent) => {
                descent.finish(self.objective)?;
                state.history.push(descent.least);
                let step = match (descent.rate, self.config.step) {
                    (Rate::Mu(_), step @ Step::Mu(mu)) => AppliedStep::Gradient { step, mu },
                    (Rate::Mu(mu), step) => AppliedStep::Gradient { step, mu: mu * self.unit.powf(self.config.power) },
                    (Rate::Safe(alpha) | Rate::Plain(alpha), _) => AppliedStep::Jacobi { alpha },
                };
                (descent.best.clone(), descent.least, descent.evaluations, step)
            }
            Method::Sampled(sampled) => {
                let last = state.history.last().copied().unwrap_or(f64::INFINITY);
                (sampled.x.clone(), last, state.iterations, AppliedStep::BlockSampled { epochs: self.config.epochs })
            }
        };
        if !stress.is_finite() {
            return Err(self.non_finite_stress());
        }
        Ok(RunResult {
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
