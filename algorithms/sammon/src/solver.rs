//! The algorithm: points to an embedding, over tensors and the operations of [`SammonOps`] only.

use burn::tensor::{Tensor, backend::Backend};
use firebox_core::{
    Algorithm, Context, Error, Result,
    checkpoint::{Checkpoints, require, resume},
    report::{Stopwatch, Timings},
    tensor::{floats, tensor},
};

use crate::{
    SammonConfig, SammonInput, SammonOps,
    checkpoint::{self, Scalars},
    config::{Memory, Start},
    input::{Host, Prepared},
    ops::Source,
    ops::Variant,
    plan::Plan,
    quality::{self, Neighbourhoods},
    run::{Found, Run, Sampling, Stop},
    sampled::{Blocks, Sample},
    start,
    transform::Model,
    work::{Sums, Work},
};

/// Points of the sample that block sampling is judged by on its way.
const JUDGES: usize = 8192;
/// Points of the sample whose stress is reported where that of all would take too long.
const REPORTED: usize = 20_000;
/// N²·d up to which a stress of all pairs is found after block sampling: on a GPU, and on a CPU.
const AFFORDABLE: [f64; 2] = [2e14, 5e11];

/// A Sammon mapping with checked parameters.
#[derive(Debug, Clone)]
pub struct Sammon {
    config: SammonConfig,
    checkpoints: Checkpoints,
}

/// Points in few dimensions, and how well they keep their distances.
#[derive(Debug, Clone)]
pub struct Embedding<B: Backend> {
    /// The places `[N, m]`, in the source's unit. Equal points have equal places.
    pub embedding: Tensor<B, 2>,
    /// The same on the host in f64, row-major.
    pub coordinates: Vec<f64>,
    /// E of the places, eq. (1): recomputed for them, points' sums in the backend's precision, their sum in f64.
    pub stress: f64,
    /// E at the start, before the rescale.
    pub stress_start: f64,
    /// Kruskal's stress-1, √(Σ(δ − d)²/Σd²).
    pub stress1: f64,
    /// Each point's part of E; they add up to E. `None` if E is of a sample.
    pub point_stress: Option<Vec<f64>>,
    /// Of how many points the stresses are, if not of all.
    pub stress_sample: Option<usize>,
    /// Trustworthiness and continuity, if asked for and there are three points; with ranks, on the first.
    pub neighbourhoods: Option<Neighbourhoods>,
    /// E before the first iteration and after each (`sampled`: every ten epochs, of a sample).
    pub history: Vec<f64>,
    /// Iterations of the run that was kept.
    pub iterations: usize,
    /// How often forces on all points were computed in that run.
    pub evaluations: usize,
    /// Why it ended.
    pub stop: Stop,
    /// The step that ran.
    pub step: String,
    /// How the work was shared.
    pub variant: &'static str,
    /// Where source distances came from.
    pub memory_mode: &'static str,
    /// Points equal to one before them.
    pub duplicates: usize,
    /// Whether the state file is older than the run's end, because later states could not be written.
    pub stale_state: bool,
    /// Pairs drawn at random: source distance and distance of the places, in the source's unit.
    pub shepard: Vec<(f64, f64)>,
    /// Seconds by phase.
    pub timings: Timings,
    /// The plan's largest sum of live buffers.
    pub peak_device_bytes: u64,
    pub(crate) model: Option<Model>,
}

/// The stress of places, of all points or of a sample.
struct Judgement {
    stress: f64,
    stress_1: f64,
    points: Option<Vec<f64>>,
    sample: Option<usize>,
}

impl Sammon {
    pub(crate) fn new(config: SammonConfig) -> Self {
        Self { config, checkpoints: Checkpoints::default() }
    }

    /// The parameters.
    pub fn config(&self) -> &SammonConfig {
        &self.config
    }

    /// The same mapping, its state kept in files.
    pub fn with_checkpoints(mut self, checkpoints: Checkpoints) -> Self {
        self.checkpoints = checkpoints;
        self
    }

    /// Maps points `[N, d]`, seed 0, on the device they are on. Fails if there are none or a number is not finite, and
    /// as the algorithm does if the work does not fit.
    ///
    /// ```
    /// use burn_ndarray::NdArray;
    /// use burn::tensor::Tensor;
    /// use firebox_sammon::SammonConfig;
    /// // A square in space keeps its distances in the plane.
    /// let points = Tensor::<NdArray, 2>::from_data(
    ///     [[0.0, 0.0, 1.0], [1.0, 0.0, 1.0], [1.0, 1.0, 1.0], [0.0, 1.0, 1.0]],
    ///     &Default::default(),
    /// );
    /// let map = SammonConfig::new(2).init().unwrap().fit_transform(points).unwrap();
    /// assert_eq!(map.embedding.dims(), [4, 2]);
    /// assert!(map.stress < 1e-6);
    /// ```
    pub fn fit_transform<B: SammonOps>(&self, points: Tensor<B, 2>) -> Result<Embedding<B>> {
        let context = Context::new(points.device());
        self.run(SammonInput::features(points)?, &context)
    }

    /// The dimensions that can differ from 0, with a notice if they are fewer than was asked for.
    fn effective<B: SammonOps>(&self, prepared: &Prepared, context: &Context<B>) -> usize {
        let (source, of) = match &prepared.host {
            Host::Features { d, .. } => (*d, "coordinates of the points"),
            Host::Distances(_) => ((prepared.index.len() - 1).max(1), "dimensions that so many points span"),
        };
        if self.config.dims > source {
            let dims = self.config.dims;
            context.observer.notice(&format!("there are only {source} {of}; the rest of the {dims} columns is 0"));
        }
        self.config.dims.min(source)
    }

    /// The place a run begins at, `[m, n]`.
    fn start(&self, prepared: &Prepared, given: Option<&[f64]>, m: usize, seed: u64, run: usize) -> Result<Vec<f64>> {
        let n = prepared.len();
        let mut x = match self.config.start {
            _ if run > 0 => start::random(n, m, seed, run),
            Start::Random => start::random(n, m, seed, 0),
            Start::Pca => start::principal(prepared, m)?,
            Start::First => start::first(prepared, m)?,
            Start::Given => self.given(prepared, given, m)?,
        };
        start::separate(&mut x, n);
        Ok(x)
    }

    fn given(&self, prepared: &Prepared, given: Option<&[f64]>, m: usize) -> Result<Vec<f64>> {
        let (rows, dims) = (prepared.index.len(), self.config.dims);
        let Some(given) = given else {
            let reason = "the input has no places to start at".into();
            return Err(Error::Config { field: "start", value: "given".into(), reason });
        };
        if given.len() != rows * dims || given.iter().any(|x| !x.is_finite()) {
            let what = format!(
                "the start has {} numbers; {rows} points in {dims} dimensions have {}",
                given.len(),
                rows * dims
            );
            return Err(Error::input(what, "give one row a point, a finite coordinate a dimension"));
        }
        let first = prepared.first_rows();
        Ok((0..m).flat_map(|k| first.iter().map(move |&row| given[row * dims + k] / prepared.unit)).collect())
    }

    /// At most two different points: their places are known.
    fn exact(&self, prepared: &Prepared) -> Found {
        let n = prepared.len();
        let m = self.config.dims.min(1);
        let mut x = vec![0.0; n * m];
        if let [a, b] = &mut x[..] {
            let delta = match &prepared.host {
                Host::Features { values, d, metric, .. } => {
                    crate::input::distance(&values[..*d], &values[*d..], *metric)
                }
                Host::Distances(values) => values[1],
            };
            (*a, *b) = (-0.5 * delta, 0.5 * delta);
        }
        Found {
            x,
            stress: 0.0,
            stress_start: 0.0,
            history: vec![0.0],
            iterations: 0,
            evaluations: 0,
            stop: Stop::Exact,
            step: "none".into(),
        }
    }

    /// Runs on the device; what was found, how it is judged, what shared the work, and the plan.
    fn solve<B: SammonOps>(
        &self,
        prepared: &Prepared,
        given: Option<&[f64]>,
        context: &Context<B>,
        watch: &mut Stopwatch,
    ) -> Result<(Found, Judgement, &'static str, Plan, bool)> {
        let config = &self.config;
        let (m, ranks) = (self.effective(prepared, context), &*context.communicator);
        if ranks.size() > 1 && config.variant != Variant::Auto {
            let reason = "the paper's ways to share work are of one process; leave it at auto".into();
            return Err(Error::Config { field: "variant", value: config.variant.to_string(), reason });
        }
        let variant = B::sammon_strategy(&context.device, config.variant)?;
        // Looking at every number takes time: only where a state needs it.
        let kept = self.checkpoints.file.is_some() || self.checkpoints.resume.is_some();
        let identity = kept.then(|| checkpoint::identity(config, prepared, given, context));
        let (mut resumed, mut wanted) = (None, config.memory);
        if let (Some(path), Some(identity)) = (&self.checkpoints.resume, &identity) {
            let restore = || {
                let (scalars, tensors) = resume(path, identity, context)?.parts::<Scalars>()?;
                Ok((scalars.memory, checkpoint::restore(&scalars, tensors, config, [m, prepared.len()])?))
            };
            let (memory, state) = restore().map_err(|error: Error| error.in_file(path))?;
            (resumed, wanted) = (Some(state), memory);
        }
        let plan = Plan::new(config, wanted, prepared, m, context)?;
        if resumed.is_some() {
            require(plan.mode == wanted, "it kept distances in another way than this run can")?;
        }
        context.checkpoint("starting", 0, 1)?;

        // Of a state that is resumed the start is history.
        let first = match &resumed {
            Some(_) => vec![0.0; m * prepared.len()],
            None => ranks.from_first(|| self.start(prepared, given, m, context.seed, 0))?,
        };
        watch.lap("start_s");
        let problem = plan.problem(prepared, config.power, context)?;
        watch.lap("distances_s");
        let mut sampling = None;
        let (work, sums) = if plan.mode == Memory::Sampled {
            let sample = Sample::new(prepared.len(), JUDGES);
            let points = sample.points(prepared);
            let blocks = Blocks::new(&problem, config.epochs, config.block, context);
            let small = Plan::new(config, Memory::Recomputed, &points, m, context)?;
            let few = small.problem(&points, config.power, context)?;
            let places = sample.places(&first);
            sampling = blocks.map(|blocks| Sampling { blocks, sample });
            Work::new(few, &points.counts, config.variant, context, &places)?
        } else {
            Work::new(problem.clone(), &prepared.counts, config.variant, context, &first)?
        };
        watch.lap("start_s");

        let (unit, checkpoints, memory) = (prepared.unit, &self.checkpoints, plan.mode);
        let run = Run { config, work: &work, sampling, unit, checkpoints, identity, memory };
        let (found, stale) = run.all(resumed, |run| match run {
            0 => Ok((first.clone(), Some(sums))),
            run => Ok((ranks.from_first(|| self.start(prepared, given, m, context.seed, run))?, None)),
        })?;
        watch.lap("mapping_s");

        let judgement = if plan.mode == Memory::Sampled {
            // A software driver has no planes that reduce by themselves.
            let gpu = B::limits(&context.device).plane.is_some();
            let size = match &problem.source {
                Source::Features { points, .. } => tensor::<B, 2>(points.clone()).dims()[0],
                Source::Inverse(_) => 1,
            };
            let pairs = (prepared.len() as f64).powi(2) * size as f64;
            // Devices may differ, what is done may not.
            let affordable = pairs <= AFFORDABLE[usize::from(!gpu)];
            if ranks.from_first(|| Ok::<_, Error>(vec![u8::from(affordable)]))? == [1] {
                let (work, sums) = Work::new(problem, &prepared.counts, config.variant, context, &found.x)?;
                judge(&work, &found.x, Some(sums), None)?
            } else {
                drop(problem);
                let sample = Sample::new(prepared.len(), REPORTED);
                let points = sample.points(prepared);
                let plan = Plan::new(config, Memory::Recomputed, &points, m, context)?;
                let problem = plan.problem(&points, config.power, context)?;
                let places = sample.places(&found.x);
                let (work, sums) = Work::new(problem, &points.counts, config.variant, context, &places)?;
                judge(&work, &places, Some(sums), Some(points.len()))?
            }
        } else {
            judge(&work, &found.x, None, None)?
        };
        watch.lap("measuring_s");
        // A state that was resumed may hold places that nothing can be measured at.
        if !judgement.stress.is_finite() || judgement.stress_1.is_nan() || found.x.iter().any(|x| !x.is_finite()) {
            return Err(run.failed());
        }
        Ok((found, judgement, if plan.mode == Memory::Sampled { "block-sampled" } else { variant }, plan, stale))
    }
}

/// Measures places; point stresses are left out of a sample's.
fn judge<B: SammonOps>(work: &Work<B>, x: &[f64], sums: Option<Sums>, sample: Option<usize>) -> Result<Judgement> {
    let (_, points) = work.forces(x)?;
    let stress = work.stress(&points);
    let sums = match sums {
        Some(sums) => sums,
        None => work.measure(x)?.0,
    };
    let part = 0.5 / work.scale;
    let points = sample.is_none().then(|| points.into_iter().map(|e| e * part).collect());
    Ok(Judgement { stress, stress_1: sums.stress_1(), points, sample })
}

impl<B: SammonOps> Algorithm<B> for Sammon {
    type Input = SammonInput;
    type Output = Embedding<B>;

    fn run(&self, input: SammonInput, context: &Context<B>) -> Result<Embedding<B>> {
        let (config, ranks) = (&self.config, &*context.communicator);
        config.validate()?;
        let mut watch = Stopwatch::default();
        let SammonInput { data, start: given } = input;
        let prepared = Prepared::new(data, config.metric, config.strict)?;
        let (rows, n) = (prepared.index.len(), prepared.len());
        if prepared.duplicates() > 0 {
            let text = format!("{} of {rows} points equal an earlier one and share its place", prepared.duplicates());
            context.observer.notice(&text);
        }
        if prepared.zero_pairs > 0 {
            let text = format!("{} pairs of different points at distance 0 have no weight", prepared.zero_pairs);
            context.observer.notice(&text);
        }
        watch.lap("input_s");

        let (found, judgement, variant, plan, stale_state) = if n <= 2 {
            // So few points leave no state: one that is given belongs to other points.
            if let Some(path) = &self.checkpoints.resume {
                resume(path, &checkpoint::identity(config, &prepared, given.as_deref(), context), context)?;
            }
            let exact = Judgement { stress: 0.0, stress_1: 0.0, points: Some(vec![0.0; n]), sample: None };
            (self.exact(&prepared), exact, "none", None, false)
        } else {
            let (found, judgement, variant, plan, stale) =
                self.solve(&prepared, given.as_deref(), context, &mut watch)?;
            (found, judgement, variant, Some(plan), stale)
        };
        // On the host: the others would find the same.
        let neighbourhoods = if config.quality && ranks.rank() == 0 {
            quality::neighbourhoods(&prepared, &found.x, &*context.observer)?
        } else {
            None
        };
        let shepard = quality::shepard(&prepared, &found.x);
        watch.lap("quality_s");

        let m = found.x.len() / n;
        let mut coordinates = vec![0.0; rows * config.dims];
        for (place, &point) in coordinates.chunks_mut(config.dims).zip(&prepared.index) {
            (0..m).for_each(|k| place[k] = found.x[k * n + point as usize] * prepared.unit);
        }
        if let Some(at) = coordinates.iter().position(|x| !x.is_finite()) {
            let what = format!("the place of point {} is beyond all numbers in the input's unit", at / config.dims + 1);
            return Err(Error::input(what, "give the points or distances in a larger unit"));
        }
        let spread = |points: Vec<f64>| prepared.index.iter().map(|&point| points[point as usize]).collect();
        let duplicates = prepared.duplicates();
        Ok(Embedding {
            embedding: floats(coordinates.clone(), [rows, config.dims], &context.device),
            coordinates,
            stress: judgement.stress,
            stress_start: found.stress_start,
            stress1: judgement.stress_1,
            point_stress: judgement.points.map(spread),
            stress_sample: judgement.sample,
            neighbourhoods,
            history: found.history,
            iterations: found.iterations,
            evaluations: found.evaluations,
            stop: found.stop,
            step: found.step,
            variant,
            memory_mode: plan.map_or("none", |plan| name(plan.mode)),
            duplicates,
            stale_state,
            shepard,
            timings: watch.timings(),
            peak_device_bytes: plan.map_or(0, |plan| plan.bytes),
            model: Model::new(prepared, found.x, config),
        })
    }
}

fn name(mode: Memory) -> &'static str {
    match mode {
        Memory::Auto => "auto",
        Memory::Cached => "cached",
        Memory::CachedF16 => "cached-f16",
        Memory::Recomputed => "recomputed",
        Memory::Sampled => "sampled",
    }
}
