//! The automatic mode: a network that grows until the estimate of its error is small enough.

use firebox_backends::limits::Buffer;
use firebox_core::{
    Context, Result, Session,
    report::{Stopwatch, Timings},
};

use super::{
    engine::DeviceEngine,
    growing::{Growing, Parts, Slab, leaves_constant},
    time_limit::TimeLimit,
};
use crate::{
    config::{AdaptiveConfig, LEAST_NEURONS},
    io::solution_grid::Field,
    ops::RbfOps,
    problem::{definition::Problem, function::format_point},
    solve::{
        accuracy::{Accuracy, accuracy},
        adaptive::{Adaptive, End, Found, Level, conditions_per_neuron},
        piecewise::PiecewiseNetwork,
    },
    types::root_mean,
};

/// Operations of the decompositions of a run with at most [`USUAL_NEURONS`], some tens of seconds on two cores.
const WORK: f64 = 1e12;
/// Factor of the work for nonlinear equations, whose levels solve several linear problems.
const ITERATED: f64 = 1.7;
/// Stability constants of well-posed problems are at most a few hundred.
const NEAR_SINGULAR: f64 = 1e4;
/// The notice of conditions that contain derivatives of u only.
pub(super) const OPEN_CONSTANT: &str =
    "the conditions contain derivatives of u only, which determine it up to a constant";
/// Ratio of the sizes of two unknowns above which the smaller one is poorly estimated.
const UNEQUAL: f64 = 100.0;
/// Standard error, relative to a number, from which on measured values hardly determine it.
const UNDETERMINED: f64 = 0.3;
/// Misfit, in standard deviations of the noise and relative to the values, from which on values contradict the solution.
const MISFIT: f64 = 2.0;
const LEAST_MISFIT: f64 = 1e-4;
/// Neurons above which a run may do more work, with their third power.
const USUAL_NEURONS: f64 = 4096.0;

/// A solver of a boundary value problem in one to five dimensions that has no parameters of the method: centres, widths and the
/// number of neurons follow from the problem.
///
/// ```
/// use burn_ndarray::NdArray;
/// use firebox_core::Context;
/// use firebox_rbf::{AdaptiveSolver, Problem};
///
/// let u = AdaptiveSolver::new(Problem::named("poisson-sine")?).fit_with(&Context::<NdArray>::new(Default::default()))?;
/// assert!(u.is_resolved() && u.estimate() < 1e-6);
/// assert!(u.accuracy().unwrap().relative_l2 < u.estimate());
/// assert!((u.network().evaluate(&[1.0, 2.0])[0] + 0.5 * 1f64.sin() * 2f64.sin()).abs() < 1e-6);
/// # Ok::<(), firebox_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct AdaptiveSolver {
    problem: Problem,
    config: AdaptiveConfig,
}

impl AdaptiveConfig {
    /// A solver of `problem` with these parameters.
    ///
    /// # Errors
    ///
    /// [`Error::Config`](firebox_core::Error::Config) naming the first parameter out of its range.
    pub fn init(&self, problem: Problem) -> Result<AdaptiveSolver> {
        self.validate()?;
        Ok(AdaptiveSolver { problem, config: self.clone() })
    }
}

/// A network that grew for a problem, with the levels of its growth.
#[derive(Debug, Clone)]
pub struct AdaptiveSolution {
    /// The solution of each unknown.
    pub(crate) networks: Vec<PiecewiseNetwork>,
    /// Control points of the last level, row-major: inside, and along the boundary and interfaces.
    #[cfg_attr(not(feature = "plot"), allow(dead_code, reason = "a page shows them"))]
    pub(crate) control_points: [Vec<f64>; 2],
    pub(crate) accuracy: Option<Accuracy>,
    /// The accuracy of each unknown, if the exact solution is known.
    pub(crate) accuracies: Vec<Accuracy>,
    /// The levels, from the smallest network; at least one. With slabs of time, those of the slab with the largest estimate.
    pub levels: Vec<Level>,
    /// The slabs of time, if the problem has them.
    pub slabs: Vec<Slab>,
    /// The levels of each slab.
    #[cfg_attr(not(feature = "plot"), allow(dead_code, reason = "a page shows them"))]
    pub(crate) slab_levels: Vec<Vec<Level>>,
    pub(crate) estimate: f64,
    /// Name of the device, if it solved least squares of large networks.
    pub device: Option<String>,
    /// Parameters and fits to measured values; empty without such values.
    pub found: Found,
    /// Reason why the growth ended.
    pub end: End,
    /// Seconds by phase.
    pub timings: Timings,
    /// Planned peak bytes, on the device if that solves the largest network, on the host otherwise.
    pub peak_device_bytes: u64,
}

impl AdaptiveSolver {
    /// A solver with the default configuration.
    pub fn new(problem: Problem) -> Self {
        Self { problem, config: AdaptiveConfig::new() }
    }

    /// The problem.
    pub fn problem(&self) -> &Problem {
        &self.problem
    }

    /// The parameters.
    pub fn config(&self) -> &AdaptiveConfig {
        &self.config
    }

    /// Grows a network with the seed, the limits and the observer of `context`, in f64: on its device where that has a QR
    /// decomposition, on the host otherwise, with a notice on devices other than the CPU.
    ///
    /// # Errors
    ///
    /// - [`Error::Input`](firebox_core::Error::Input) for a problem that is not finite somewhere
    /// - [`Error::Function`](firebox_core::Error::Function) if a function in code fails
    /// - [`Error::Memory`](firebox_core::Error::Memory) if the matrix of 150 neurons does not fit; less than for `max_neurons` is a notice
    /// - [`Error::Run`](firebox_core::Error::Run) if the weights are not finite, or the time limit ends before the first level
    /// - [`Error::Cancelled`](firebox_core::Error::Cancelled) if the observer requests it
    pub fn fit_with<B: RbfOps>(&self, context: &Context<B>) -> Result<AdaptiveSolution> {
        match self.problem.dims() {
            1 => self.fit_in::<B, 1>(context),
            2 => self.fit_in::<B, 2>(context),
            3 => self.fit_in::<B, 3>(context),
            4 => self.fit_in::<B, 4>(context),
            _ => self.fit_in::<B, 5>(context),
        }
    }

    fn fit_in<B: RbfOps, const D: usize>(&self, context: &Context<B>) -> Result<AdaptiveSolution> {
        let Self { problem, config } = self;
        problem.check_measured()?;
        let (mut clock, limit) = (Stopwatch::default(), TimeLimit::new(config.time_limit));
        let engine = DeviceEngine::new(context);
        let (max_neurons, peak_device_bytes) = self.plan(&engine, context)?;
        let field = context.watched(|| Field::new(problem, Field::default_side(D)))??;
        clock.lap("points_s");
        let work = if problem.is_linear() { WORK } else { ITERATED * WORK };
        let limits = Adaptive {
            target_error: config.target_error,
            max_neurons,
            work: work * (config.max_neurons as f64 / USUAL_NEURONS).powi(3).max(1.0),
            least_size: 0.0,
            grows_on: config.neurons.is_some(),
            ratio: config.width,
            seed: context.seed,
        };
        let open = leaves_constant(problem, &field)?;
        self.notices(&field, open, context)?;
        let growing = Growing { context, engine: &engine, limit, limits };
        let all = match problem.time_slabs() {
            None => Parts::from(growing.continued::<D>(problem, &field, open)?),
            Some(slabs) => growing.slabs::<D>(problem, slabs)?,
        };
        clock.lap("training_s");
        let (estimate, end) = (all.estimate(), all.end(config.target_error));
        let (control_points, slab_levels) = (all.control_points(), all.slab_levels());
        let found = all.found();
        let (levels, networks, slabs) = all.joined();
        let device = engine.was_used().then(|| B::limits(&context.device).device);
        let stability = levels.last().map_or(0.0, |level| level.stability);
        if stability > NEAR_SINGULAR && problem.measurements().is_empty() {
            context.observer.notice(&format!(
                "the problem is nearly singular, as near a resonance: errors of its data change u by up to {stability:.0e} \
                 times as much (the stability constant)"
            ));
        }
        notice_undetermined(problem, &found, context);
        notice_misfits(problem, &found, context);
        let values = |network: &PiecewiseNetwork| network.evaluate(&field.points);
        let functions = problem.function_names().len();
        let is_compared = field.exact.is_some() || networks.len() > 1;
        let values = || if is_compared { networks[..functions].iter().map(values).collect() } else { Vec::new() };
        let values: Vec<Vec<f64>> = context.watched(values)?;
        // With measured values each unknown is measured by its own size.
        if problem.measurements().is_empty() {
            notice_sizes(problem, &values, context);
        }
        let evaluated = field.exact.as_ref().map(|all| (values, all));
        let of_all = |(values, exact): &(Vec<Vec<f64>>, &Vec<Vec<f64>>)| {
            accuracy(&values.concat(), &exact[..functions].concat())
        };
        let of_each = evaluated.iter().flat_map(|(values, exact)| values.iter().zip(exact.iter()));
        let accuracies = of_each.map(|(values, exact)| accuracy(values, exact)).collect();
        clock.lap("evaluation_s");
        let timings = clock.timings();
        Ok(AdaptiveSolution {
            networks,
            control_points,
            accuracy: evaluated.as_ref().map(of_all),
            accuracies,
            levels,
            slabs,
            slab_levels,
            estimate,
            device,
            found,
            end,
            timings,
            peak_device_bytes,
        })
    }

    /// Reports properties of the problem that a user may not expect; `open` as of [`leaves_constant`].
    fn notices(&self, field: &Field, open: bool, session: &Session) -> Result<()> {
        let problem = &self.problem;
        notice_contradiction(problem, field, session)?;
        if open {
            let mean = if field.exact.is_some() { "that of the exact solution" } else { "0" };
            session.observer.notice(&format!("{OPEN_CONSTANT}: its mean is made {mean}"));
        }
        if let Some((coefficient, at)) = problem.jumping_coefficient(&field.points)? {
            session.observer.notice(&format!(
                "{coefficient} jumps at {}, where u has a kink that Gaussians approximate slowly: give each side an equation of \
                 its own with [[region]]",
                format_point(&at)
            ));
        }
        Ok(())
    }

    /// The largest number of neurons up to `max_neurons` for which the engine has memory, and the bytes of that level.
    fn plan<B: RbfOps>(&self, engine: &DeviceEngine<'_, B>, context: &Context<B>) -> Result<(usize, u64)> {
        let measured = self.problem.measurements().iter().map(|of| of.values.len() as u128).sum::<u128>();
        // Conditions on the value and second derivatives of coefficients, per neuron.
        let weak = if self.problem.measurements().is_empty() { 0 } else { 1 + self.problem.dims() as u128 };
        let admitted = |neurons: usize| {
            let m = neurons as u128;
            let buffers = [
                // The best solution is kept while another width is tried.
                Buffer::new(
                    "the matrices",
                    ((conditions_per_neuron(neurons) as u128 + 3 + weak) * m + measured) * m,
                    size_of::<f64>(),
                ),
                Buffer::new("the triangles", 4 * m * m, size_of::<f64>()),
            ];
            engine.limits(neurons).admit(&buffers, context.memory_limit, "give it more memory")
        };
        let most = self.config.neurons.unwrap_or(self.config.max_neurons);
        let mut neurons = most;
        loop {
            match admitted(neurons) {
                Ok(bytes) => {
                    if neurons < most {
                        let text = format!("there is memory for {neurons} neurons, not {most}");
                        context.observer.notice(&text);
                    }
                    return Ok((neurons, bytes));
                }
                Err(error) if neurons == LEAST_NEURONS => return Err(error),
                Err(_) => neurons = (neurons - neurons / 8).max(LEAST_NEURONS),
            }
        }
    }
}

/// Reports unknowns of very different sizes: the estimate is that of all together.
fn notice_sizes(problem: &Problem, values: &[Vec<f64>], session: &Session) {
    let sizes = values.iter().zip(problem.unknowns()).map(|(values, name)| (root_mean(values), name));
    let by_size = |a: &(f64, &String), b: &(f64, &String)| a.0.total_cmp(&b.0);
    let (Some(least), Some(most)) = (sizes.clone().min_by(by_size), sizes.max_by(by_size)) else { return };
    if most.0 > UNEQUAL * least.0 {
        let ([(small, name), (large, other)], all) = ([least, most], "all unknowns together");
        session.observer.notice(&format!(
            "{name} is about {small:.0e} and {other} about {large:.0e}: the estimate of the error is relative to {all}; \
             choose units in which they are of similar size"
        ));
    }
}

/// Reports numbers that measured values hardly determine.
fn notice_undetermined(problem: &Problem, found: &Found, session: &Session) {
    let names = problem.unknowns().iter().skip(problem.function_names().len());
    for (name, it) in names.zip(&found.parameters) {
        let is_determined = it.standard_error <= UNDETERMINED * it.value.abs();
        if !is_determined {
            session.observer.notice(&format!(
                "the data hardly determine {name}: it is {:.1e} with a standard error of {:.1e}; measure elsewhere or more often, or \
                 give {name} as a constant",
                it.value, it.standard_error
            ));
        }
    }
}

/// Reports values that differ from the solution by far more than their given noise.
fn notice_misfits(problem: &Problem, found: &Found, session: &Session) {
    for (of, fit) in problem.measurements().iter().zip(&found.fits) {
        if of.noise.is_some() && fit.misfit > MISFIT * fit.noise && fit.misfit > LEAST_MISFIT * root_mean(&of.values) {
            session.observer.notice(&format!(
                "the solution differs from {} by {:.1e}, and their noise is given as {:.1e}: the equation or the noise may be \
                 wrong, and standard errors are too small",
                of.name, fit.misfit, fit.noise
            ));
        }
    }
}

/// Reports an exact solution that contradicts the problem.
pub(super) fn notice_contradiction(problem: &Problem, field: &Field, session: &Session) -> Result<()> {
    if field.exact.is_some()
        && let Some(contradiction) = problem.contradiction(&field.points)?
    {
        let text = format!("the exact solution contradicts {contradiction}; errors are those against it");
        session.observer.notice(&text);
    }
    Ok(())
}

impl AdaptiveSolution {
    /// u as a network in f64, or as one in each region of the problem; of several unknowns the first.
    pub fn network(&self) -> &PiecewiseNetwork {
        &self.networks[0]
    }

    /// [`network`](Self::network) of each unknown, in the order of [`Problem::unknowns`].
    pub fn networks(&self) -> &[PiecewiseNetwork] {
        &self.networks
    }

    /// Number of neurons of all unknowns.
    pub fn neurons(&self) -> usize {
        self.networks.iter().map(PiecewiseNetwork::len).sum()
    }

    /// [`accuracy`](Self::accuracy) of each unknown; empty if the exact solution is not known.
    pub fn accuracies(&self) -> &[Accuracy] {
        &self.accuracies
    }

    /// Errors of all unknowns together on a grid over the domain's box, of 101 × 101 in two dimensions, at its points in the domain and on its
    /// boundary; `None` if the exact solution is not known.
    pub fn accuracy(&self) -> Option<Accuracy> {
        self.accuracy
    }

    /// The last level.
    pub fn level(&self) -> Option<&Level> {
        self.levels.last()
    }

    /// Estimate of the relative L2 error, at most 1.
    pub fn estimate(&self) -> f64 {
        self.estimate
    }

    /// Returns `true` if the estimate is at most the target error, or exceeds it by the noise of measured values only.
    pub fn is_resolved(&self) -> bool {
        matches!(self.end, End::Resolved | End::Noise)
    }
}
