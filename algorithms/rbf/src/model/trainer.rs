//! Training of a network that solves a problem.

use std::time::{Duration, Instant};

use firebox_core::{
    Algorithm, Context, Error, Precision, Result,
    checkpoint::{Checkpoints, resume},
    report::{Stopwatch, Timings},
};

use super::{memory::plan, run::Run, time_limit::TimeLimit};
use crate::{
    config::RbfConfig,
    io::{checkpoint, solution_grid::Field},
    ops::RbfOps,
    problem::{definition::Problem, grid::Grid},
    solve::{
        accuracy::{Accuracy, accuracy},
        control_points::Sampler,
        network::RbfNetwork,
        nondimensional::Scaling,
        state::{State, Stop},
        width_search::{self, search_width},
    },
    types::{Coefficient, Extent, ShapeSolver, System, Way, Weights, Width},
};

/// A training with valid parameters.
#[derive(Debug, Clone)]
pub struct Trainer {
    config: RbfConfig,
    checkpoints: Checkpoints,
}

/// A trained network, its accuracy and diagnostics.
#[derive(Debug, Clone)]
pub struct Trained {
    /// u.
    pub network: RbfNetwork,
    /// Its errors on a grid of 101 × 101 (31 × 31 × 31) over the domain's box, of the points in the domain and on its
    /// boundary, if the exact solution is known.
    pub accuracy: Option<Accuracy>,
    /// √(Σr1²/N) at the last control points inside.
    pub residual_interior: f64,
    /// √(Σr2²/K) at the last control points on the boundary.
    pub residual_boundary: f64,
    /// (√(Σr1²/N), √(Σr2²/K)) after each cycle.
    pub history: Vec<(f64, f64)>,
    /// The condition number of the weights' matrix, its columns scaled: ∞ where it is singular, `None` where finding it
    /// would take long.
    pub condition: Option<f64>,
    /// The rank of that matrix, if known.
    pub rank: Option<usize>,
    /// Singular directions left out by the truncation.
    pub truncated: usize,
    /// The weights' solver that ran, never [`Weights::Auto`].
    pub weights: Weights,
    /// The solver of centres and widths.
    pub shape: ShapeSolver,
    /// How gradient steps ran, if any.
    pub descend: Option<Way>,
    /// How conjugate gradients ran, if any.
    pub conjugate: Option<Way>,
    /// The precision in which the weights were computed.
    pub precision: Precision,
    /// The stopping criterion that ended it.
    pub stop: Stop,
    /// Cycles of the whole training.
    pub cycles: usize,
    /// The share of the cycles in which the gradient steps lowered I at the first try, with the configured η.
    pub falls: Option<f64>,
    /// The share of the cycles in which gradient steps lowered I, with η halved where necessary.
    pub accepted: Option<f64>,
    /// Iterations of LSQR in the last cycle.
    pub iterations: Option<usize>,
    /// Number of least-squares solutions by Levenberg–Marquardt.
    pub evaluations: Option<usize>,
    /// Control points inside and on the boundary.
    pub points: (usize, usize),
    /// Initial width in spacings.
    pub ratio: f64,
    /// Initial extension of the centres outside the domain, in spacings.
    pub reach: f64,
    /// The configuration with defaults resolved.
    pub config: RbfConfig,
    /// Whether the state file is stale because later states could not be written.
    pub stale_state: bool,
    /// Seconds by phase.
    pub timings: Timings,
    /// Planned peak bytes of buffers, those of solvers on the host included.
    pub peak_device_bytes: u64,
}

impl RbfConfig {
    /// A trainer with these parameters.
    ///
    /// # Errors
    ///
    /// [`Error::Config`] naming the first parameter out of its range.
    pub fn init(&self) -> firebox_core::Result<Trainer> {
        self.validate()?;
        Ok(Trainer::new(self.clone()))
    }
}

impl Trainer {
    pub(crate) fn new(config: RbfConfig) -> Self {
        Self { config, checkpoints: Checkpoints::default() }
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

    /// Solves a problem on a device, seed 0.
    ///
    /// ```
    /// use burn_ndarray::NdArray;
    /// use firebox_rbf::{Problem, RbfConfig};
    ///
    /// let problem = Problem::named("poisson-sine")?;
    /// let solved = RbfConfig::new(64).init()?.solve::<NdArray>(problem, &Default::default())?;
    /// assert!(solved.accuracy.unwrap().relative_l2 < 5e-6);
    /// let centre = std::f64::consts::FRAC_PI_2;
    /// assert!((solved.network.evaluate(&[centre, centre])[0] + 0.5).abs() < 1e-5);
    /// # Ok::<(), firebox_core::Error>(())
    /// ```
    pub fn solve<B: RbfOps>(&self, problem: Problem, device: &B::Device) -> Result<Trained> {
        self.run(problem, &Context::<B>::new(device.clone()))
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

impl<B: RbfOps> Algorithm<B> for Trainer {
    type Input = Problem;
    type Output = Trained;

    fn run(&self, problem: Problem, context: &Context<B>) -> Result<Trained> {
        let config = &self.config;
        config.validate()?;
        let (mut clock, limit) = (Stopwatch::default(), TimeLimit::new(config.time_limit));
        let (dims, wide) = (problem.dims(), size_of::<B::FloatElem>() == 8);
        let settings = config.settings(dims, wide)?;
        if settings.weights == Weights::Lsqr && !wide {
            let reason =
                "its products on the device need f64: add `precision = f64` on cuda or ndarray, or take qr or cg";
            return Err(Error::Config { field: "weights", value: "lsqr".into(), reason: reason.into() });
        }
        let field = limit.required(context, || Field::new(&problem, Field::default_side(dims)))?;
        let grid = limit.required(context, || Grid::new(problem.domain(), config.neurons, settings.reach))?;
        let conditions = [settings.points, settings.boundary_points];
        let extent = Extent { conditions, neurons: grid.len(), dims, steps: settings.steps };
        let peak_device_bytes = plan(config, &settings, &extent, context)?;
        let ranks = &*context.communicator;
        let strategy = B::rbf_strategy(&extent.part(ranks.share()), &context.device);
        let ways = [strategy.descend, strategy.conjugate];
        let [descend, conjugate] = if ranks.size() == 1 { ways } else { ways.map(Way::distributed) };
        let (sampler, first) = limit.required(context, || Sampler::new(&problem, config, settings, context.seed))?;
        let gd = config.shape == ShapeSolver::Gd;
        if wide || (settings.weights == Weights::Qr && !gd) {
            sampler.scaling.check(config.penalty, gd.then_some(settings.rate), &settings, "f64", f64::is_normal)?;
        } else {
            let sound = |value: f64| (value as f32).is_normal();
            sampler.scaling.check(config.penalty, gd.then_some(settings.rate), &settings, "f32", sound)?;
        }
        if [&first.interior, &first.boundary].iter().all(|of| of.value == Coefficient::Zero) {
            context
                .observer
                .notice("the conditions contain derivatives of u only, which determine it up to a constant");
        }
        if ranks.size() > 1 && settings.weights == Weights::Qr {
            let rest = if gd { "" } else { ", and the other ranks wait for it" };
            let text = format!("only rank 0 solves by qr{rest}: ranks share `weights = cg`, lsqr and `shape = gd`");
            context.observer.notice(&text);
        }
        clock.lap("points_s");
        let identity = checkpoint::identity(config, &problem, &first, context);
        let size = [grid.len(), dims];
        let mut state = match &self.checkpoints.resume {
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
        let run = Run { config, sampler, context, checkpoints: &self.checkpoints, identity, limit };
        let (stop, stale_state) = run.train(&mut state, first)?;
        let diagnosis = state.diagnosis.unwrap_or_default();
        clock.lap("training_s");
        let scaling = &run.sampler.scaling;
        let network = scaling.network(&state.centres, &state.widths, &state.weights)?;
        let evaluated = || field.exact.as_ref().map(|exact| accuracy(&network.evaluate(&field.points), exact));
        let accuracy = context.watched(evaluated)?;
        clock.lap("evaluation_s");
        let on_host = settings.weights == Weights::Qr || wide;
        let residuals = state.interior.iter().zip(&state.boundary);
        let history: Vec<(f64, f64)> =
            residuals.map(|(a, b)| (scaling.interior_residual(*a), scaling.boundary_residual(*b))).collect();
        let (residual_interior, residual_boundary) = history.last().copied().unwrap_or_default();
        let share = |count: usize| gd.then(|| count as f64 / state.cycles.max(1) as f64);
        Ok(Trained {
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
            evaluations: state.lm.as_ref().map(|lm| lm.evaluations()),
            points: (settings.points, settings.boundary_points),
            ratio: state.ratio,
            reach: settings.reach,
            config: RbfConfig {
                points: Some(settings.points),
                boundary_points: Some(settings.boundary_points),
                weights: settings.weights,
                width: Width::Spacings(state.ratio),
                reach: Some(settings.reach),
                cycles: Some(settings.cycles),
                iterations: (settings.weights != Weights::Qr).then_some(settings.iterations),
                steps: gd.then_some(settings.steps),
                rate: gd.then_some(settings.rate),
                ..config.clone()
            },
            stale_state,
            timings: clock.timings(),
            peak_device_bytes,
        })
    }
}
