//! Training of a network that solves a problem.

use std::time::{Duration, Instant};

use firebox_core::{
    Context, Error, Precision, Result,
    checkpoint::{Checkpoints, resume},
    report::Stopwatch,
};

use super::{
    adaptive::{OPEN_CONSTANT, notice_contradiction},
    memory::plan,
    solution::{RbfSolution, Solution},
    time_limit::TimeLimit,
    training::Run,
};
use crate::{
    config::RbfConfig,
    io::{checkpoint, solution_grid::Field},
    ops::RbfOps,
    problem::{definition::Problem, grid::Grid},
    solve::{
        accuracy::accuracy,
        control_points::Sampler,
        nondimensional::Scaling,
        state::State,
        width_search::{self, search_width},
    },
    types::{Coefficient, Extent, ShapeSolver, System, Way, Weights},
};

/// A solver of a boundary value problem.
///
/// ```
/// use burn::tensor::Tensor;
/// use burn_ndarray::NdArray;
/// use firebox_rbf::{Problem, RbfSolver};
///
/// let device = Default::default();
/// let u = RbfSolver::new(Problem::named("poisson-sine")?).fit::<NdArray>(&device)?;
/// assert!(u.accuracy().unwrap().relative_l2 < 5e-6);
/// let middle = u.evaluate(Tensor::from_floats([[1.5707964, 1.5707964]], &device))?.into_scalar();
/// assert!((middle + 0.5).abs() < 1e-5);
/// # Ok::<(), firebox_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct RbfSolver {
    problem: Problem,
    config: RbfConfig,
    checkpoints: Checkpoints,
}

impl RbfConfig {
    /// A solver of `problem` with these parameters.
    ///
    /// # Errors
    ///
    /// [`Error::Config`] naming the first parameter out of its range.
    pub fn init(&self, problem: Problem) -> firebox_core::Result<RbfSolver> {
        self.validate()?;
        Ok(RbfSolver { config: self.clone(), ..RbfSolver::new(problem) })
    }
}

impl RbfSolver {
    /// A solver with the default configuration.
    pub fn new(problem: Problem) -> Self {
        Self { problem, config: RbfConfig::new(), checkpoints: Checkpoints::default() }
    }

    /// The problem.
    pub fn problem(&self) -> &Problem {
        &self.problem
    }

    /// The parameters.
    pub fn config(&self) -> &RbfConfig {
        &self.config
    }

    /// Sets where the state is saved, and from where it is resumed.
    pub fn with_checkpoints(mut self, checkpoints: Checkpoints) -> Self {
        self.checkpoints = checkpoints;
        self
    }

    /// [`fit_with`](Self::fit_with) with seed 0 and without limits or observer.
    pub fn fit<B: RbfOps>(&self, device: &B::Device) -> Result<RbfSolution<B>> {
        self.fit_with(&Context::new(device.clone()))
    }

    /// Trains a network on a device.
    ///
    /// # Errors
    ///
    /// - [`Error::Config`] for a parameter without effect or out of range for this problem and precision
    /// - [`Error::Input`] for a problem that is not finite somewhere, or a state of another training
    /// - [`Error::Function`] if a function in code fails
    /// - [`Error::Run`] for a training that diverges, makes no progress or has no solution within its time limit, and
    ///   for a device that fails
    /// - [`Error::Cancelled`] if the observer requests it
    pub fn fit_with<B: RbfOps>(&self, context: &Context<B>) -> Result<RbfSolution<B>> {
        let Self { problem, config, checkpoints } = self;
        let (mut clock, limit) = (Stopwatch::default(), TimeLimit::new(config.time_limit));
        problem.check_paper()?;
        let (dims, wide) = (problem.dims(), size_of::<B::FloatElem>() == 8);
        let settings = config.settings(dims, wide)?;
        if settings.weights == Weights::Lsqr && !wide {
            let reason =
                "its products on the device need f64: add `precision = f64` on cuda or ndarray, or take qr or cg";
            return Err(Error::Config { field: "weights", value: "lsqr".into(), reason: reason.into() });
        }
        let field = limit.required(context, || Field::new(problem, Field::default_side(dims)))?;
        notice_contradiction(problem, &field, context)?;
        let grid = limit.required(context, || Grid::new(problem.domain(), config.neurons, settings.reach))?;
        let conditions = [settings.points, settings.boundary_points];
        let extent = Extent { conditions, neurons: grid.len(), dims, steps: settings.steps };
        let peak_device_bytes = plan(config, &settings, &extent, context)?;
        let ranks = &*context.communicator;
        let strategy = B::rbf_strategy(&extent.part(ranks.share()), &context.device);
        let ways = [strategy.descend, strategy.conjugate];
        let [descend, conjugate] = if ranks.size() == 1 { ways } else { ways.map(Way::distributed) };
        let (sampler, first) = limit.required(context, || Sampler::new(problem, config, settings, context.seed))?;
        let gd = config.shape == ShapeSolver::Gd;
        let all_wide = wide || (settings.weights == Weights::Qr && !gd);
        let (rate, precision) = (gd.then_some(settings.rate), if all_wide { Precision::F64 } else { Precision::F32 });
        sampler.scaling.check(config.penalty, rate, settings.boundary_points, precision)?;
        if [&first.interior, &first.boundary].iter().all(|of| of.value == Coefficient::Zero) {
            context.observer.notice(OPEN_CONSTANT);
        }
        if ranks.size() > 1 && settings.weights == Weights::Qr {
            let rest = if gd { "" } else { ", and the other ranks wait for it" };
            let text = format!("only rank 0 solves by qr{rest}: ranks share `weights = cg`, lsqr and `shape = gd`");
            context.observer.notice(&text);
        }
        clock.lap("points_s");
        let identity = checkpoint::identity(config, problem, &first, context);
        let size = [grid.len(), dims];
        let mut state = match &checkpoints.resume {
            Some(path) => {
                let state = resume(path, &identity, context)?;
                checkpoint::restore(state, config, size).map_err(|error| error.in_file(path))?
            }
            None => checkpoint::broadcast(ranks, &identity, size, || {
                let found = || self.initial_width((settings.width, &limit), &first, &grid, &sampler.scaling, context);
                let ratio = limit.required(context, found)?;
                let width = sampler.scaling.length(ratio * grid.spacing);
                Ok(State::new(sampler.scaling.points(&grid.centres), dims, width, ratio, settings.rate))
            })?,
        };
        clock.lap("start_s");
        let run = Run { config, sampler, context, checkpoints, identity, limit };
        let (stop, stale_state) = run.train(&mut state, first)?;
        let diagnosis = state.diagnosis.unwrap_or_default();
        clock.lap("training_s");
        let scaling = &run.sampler.scaling;
        let network = scaling.network(&state.centres, &state.widths, &state.weights)?;
        let evaluated = || field.exact_of(0).map(|exact| accuracy(&network.evaluate(&field.points), exact));
        let accuracy = context.watched(evaluated)?;
        clock.lap("evaluation_s");
        let on_host = settings.weights == Weights::Qr || wide;
        let residuals = state.interior.iter().zip(&state.boundary);
        let history: Vec<(f64, f64)> =
            residuals.map(|(a, b)| (scaling.interior_residual(*a), scaling.boundary_residual(*b))).collect();
        let (residual_interior, residual_boundary) = history.last().copied().unwrap_or_default();
        let share = |count: usize| gd.then(|| count as f64 / state.cycles.max(1) as f64);
        let solution = Solution {
            network,
            accuracy,
            residual_interior,
            residual_boundary,
            history,
            condition: diagnosis.condition,
            rank: diagnosis.rank,
            truncated: diagnosis.truncated,
            weights: settings.weights,
            shape: config.shape,
            descend: gd.then_some(descend),
            conjugate: (settings.weights == Weights::Cg).then_some(conjugate),
            precision: if on_host { Precision::F64 } else { Precision::F32 },
            stop,
            cycles: state.cycles,
            falls: share(state.falls),
            accepted: share(state.accepted),
            iterations: diagnosis.iterations,
            evaluations: state.lm.as_ref().map(|lm| lm.evaluations),
            points: (settings.points, settings.boundary_points),
            ratio: state.ratio,
            reach: settings.reach,
            config: config.completed(&settings, state.ratio),
            stale_state,
            timings: clock.timings(),
            peak_device_bytes,
        };
        Ok(RbfSolution::new(solution, context.device.clone()))
    }

    /// The initial width in spacings. A search stops early enough for one solution within the time limit.
    fn initial_width<B: RbfOps>(
        &self,
        (given, limit): (Option<f64>, &TimeLimit),
        system: &System,
        grid: &Grid,
        scaling: &Scaling,
        context: &Context<B>,
    ) -> Result<f64> {
        if let Some(ratio) = given {
            return Ok(ratio);
        }
        let (centres, spacing) = (scaling.points(&grid.centres), scaling.length(grid.spacing));
        let (began, session) = (Instant::now(), context.solo());
        let go_on = |tried: usize| {
            session.checkpoint("width", tried as u64, width_search::MAX_TRIED as u64)?;
            // Time for this width, and for the solution, which has more points than the search.
            let each = began.elapsed().checked_div(tried.max(1) as u32).unwrap_or(Duration::MAX);
            Ok(!limit.leaves_less_than(each.saturating_mul(3)))
        };
        let ratio = search_width(system, &centres, spacing, self.config.truncation, &go_on)?.ratio;
        context.observer.notice(&format!("the width is {ratio:.3} spacings, by the residual at points held out"));
        Ok(ratio)
    }
}
