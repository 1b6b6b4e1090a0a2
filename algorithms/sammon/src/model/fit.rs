//! Fitting: from points to an embedding.

use burn::tensor::{Tensor, TensorMetadata};
use firebox_core::{
    Algorithm, Context, Error, Result,
    checkpoint::{require, resume},
    report::Stopwatch,
    tensor::floats,
};

use super::{
    embedding::Embedding,
    fitted::FittedPoints,
    run::{Run, Sampling},
    sammon::Sammon,
};
use crate::{
    config::{Memory, Start},
    io::state::{self, Scalars},
    ops::SammonOps,
    solve::{
        block_sampling::BlockSampler,
        initialization,
        memory_plan::Plan,
        nondimensional::{Prepared, PreparedSource, distance},
        objective::{Objective, PairSums},
        quality,
        state::{RunResult, Stop},
        subsample::Subsample,
    },
    types::{SammonInput, Source, Variant},
};

/// Size of the sample whose stress is the history of block sampling.
const HISTORY_SAMPLE: usize = 8192;
/// Size of the sample whose stress is reported if that of all points is too costly.
const STRESS_SAMPLE: usize = 20_000;
/// Maximum N²·d for the stress of all pairs after block sampling: on a GPU, and on a CPU.
const MAX_STRESS_COST: [f64; 2] = [2e14, 5e11];

/// Stress of an embedding, of all points or of a sample.
struct Stress {
    /// E.
    total: f64,
    /// Kruskal's stress-1.
    stress_1: f64,
    /// Contribution of each distinct point to E; `None` for a sample.
    points: Option<Vec<f64>>,
    /// Size of the sample, if not of all points.
    sample: Option<usize>,
}

impl Sammon {
    /// Maps points `[N, d]` with seed 0, on their device.
    ///
    /// # Errors
    /// If there are no points, a number is not finite, or the work does not fit into memory.
    ///
    /// ```
    /// use burn_ndarray::NdArray;
    /// use burn::tensor::{Tensor, TensorMetadata};
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

    /// Number of dimensions that can differ from 0; gives a notice if it is less than configured.
    fn effective_dims<B: SammonOps>(&self, prepared: &Prepared, context: &Context<B>) -> usize {
        let (source, of) = match &prepared.source {
            PreparedSource::Features { d, .. } => (*d, "coordinates of the points"),
            PreparedSource::Distances(_) => ((prepared.index.len() - 1).max(1), "dimensions spanned by the points"),
        };
        if self.config.dims > source {
            let dims = self.config.dims;
            context.observer.notice(&format!("there are only {source} {of}; the other of the {dims} columns are 0"));
        }
        self.config.dims.min(source)
    }

    /// Initial embedding of a run `[m, n]`.
    fn initial_embedding(
        &self,
        prepared: &Prepared,
        given: Option<&[f64]>,
        m: usize,
        seed: u64,
        run: usize,
    ) -> Result<Vec<f64>> {
        let n = prepared.len();
        let mut x = match self.config.start {
            _ if run > 0 => initialization::random(n, m, seed, run),
            Start::Random => initialization::random(n, m, seed, 0),
            Start::Pca => initialization::principal(prepared, m)?,
            Start::First => initialization::first(prepared, m)?,
            Start::Given => self.given_start(prepared, given, m)?,
        };
        initialization::separate(&mut x, n);
        Ok(x)
    }

    /// The initial embedding of the input, nondimensional `[m, n]`.
    fn given_start(&self, prepared: &Prepared, given: Option<&[f64]>, m: usize) -> Result<Vec<f64>> {
        let (rows, dims) = (prepared.index.len(), self.config.dims);
        let Some(given) = given else {
            let reason = "the input has no initial embedding".into();
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

    /// The exact embedding of at most two distinct points.
    fn exact(&self, prepared: &Prepared) -> RunResult {
        let n = prepared.len();
        let m = self.config.dims.min(1);
        let mut x = vec![0.0; n * m];
        if let [a, b] = &mut x[..] {
            let delta = match &prepared.source {
                PreparedSource::Features { values, d, metric, .. } => distance(&values[..*d], &values[*d..], *metric),
                PreparedSource::Distances(values) => values[1],
            };
            (*a, *b) = (-0.5 * delta, 0.5 * delta);
        }
        RunResult {
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

    /// Maps at least three distinct points on the device. Returns the solution, its stress, the implementation of the
    /// forces, the memory plan, and whether the state file is stale.
    fn optimize<B: SammonOps>(
        &self,
        prepared: &Prepared,
        given: Option<&[f64]>,
        context: &Context<B>,
        watch: &mut Stopwatch,
    ) -> Result<(RunResult, Stress, &'static str, Plan, bool)> {
        let config = &self.config;
        let (m, ranks) = (self.effective_dims(prepared, context), &*context.communicator);
        if ranks.size() > 1 && config.variant != Variant::Auto {
            let reason = "the paper's variants run in a single process; leave it at auto".into();
            return Err(Error::Config { field: "variant", value: config.variant.to_string(), reason });
        }
        let variant = B::sammon_strategy(&context.device, config.variant)?;
        // Hashing the input takes time: only if states are kept.
        let kept = self.checkpoints.file.is_some() || self.checkpoints.resume.is_some();
        let identity = kept.then(|| state::identity(config, prepared, given, context));
        let (mut resumed, mut requested) = (None, config.memory);
        if let (Some(path), Some(identity)) = (&self.checkpoints.resume, &identity) {
            let restore = || {
                let (scalars, tensors) = resume(path, identity, context)?.parts::<Scalars>()?;
                Ok((scalars.memory, state::restore(&scalars, tensors, config, [m, prepared.len()])?))
            };
            let (memory, state) = restore().map_err(|error: Error| error.in_file(path))?;
            (resumed, requested) = (Some(state), memory);
        }
        let plan = Plan::new(config, requested, prepared, m, context)?;
        if resumed.is_some() {
            require(plan.mode == requested, "its memory mode is not available to this run")?;
        }
        context.checkpoint("starting", 0, 1)?;

        // A resumed state needs no initial embedding.
        let first = match &resumed {
            Some(_) => vec![0.0; m * prepared.len()],
            None => ranks.broadcast_from_root(|| self.initial_embedding(prepared, given, m, context.seed, 0))?,
        };
        watch.lap("start_s");
        let problem = plan.problem(prepared, config.power, context)?;
        watch.lap("distances_s");
        let mut sampling = None;
        let (objective, sums) = if plan.mode == Memory::Sampled {
            let sample = Subsample::new(prepared.len(), HISTORY_SAMPLE);
            let points = sample.points(prepared);
            let blocks = BlockSampler::new(&problem, config.epochs, config.block, context);
            let small = Plan::new(config, Memory::Recomputed, &points, m, context)?;
            let sample_problem = small.problem(&points, config.power, context)?;
            let embedding = sample.embedding(&first);
            sampling = blocks.map(|blocks| Sampling { blocks, sample });
            Objective::new(sample_problem, &points.counts, config.variant, context, &embedding)?
        } else {
            Objective::new(problem.clone(), &prepared.counts, config.variant, context, &first)?
        };
        watch.lap("start_s");

        let (unit, checkpoints, memory) = (prepared.unit, &self.checkpoints, plan.mode);
        let run = Run { config, objective: &objective, sampling, unit, checkpoints, identity, memory };
        let (result, stale) = run.run(resumed, |run| match run {
            0 => Ok((first.clone(), Some(sums))),
            run => {
                Ok((ranks.broadcast_from_root(|| self.initial_embedding(prepared, given, m, context.seed, run))?, None))
            }
        })?;
        watch.lap("mapping_s");

        let stress = if plan.mode == Memory::Sampled {
            // A software driver has no plane reductions.
            let gpu = B::limits(&context.device).plane.is_some();
            let size = match &problem.source {
                Source::Features { points, .. } => points.shape()[0],
                Source::Inverse(_) => 1,
            };
            let pairs = (prepared.len() as f64).powi(2) * size as f64;
            // Ranks may have different devices, but must agree.
            let affordable = pairs <= MAX_STRESS_COST[usize::from(!gpu)];
            if ranks.broadcast_from_root(|| Ok::<_, Error>(vec![u8::from(affordable)]))? == [1] {
                let (objective, sums) = Objective::new(problem, &prepared.counts, config.variant, context, &result.x)?;
                measure_stress(&objective, &result.x, Some(sums), None)?
            } else {
                drop(problem);
                let sample = Subsample::new(prepared.len(), STRESS_SAMPLE);
                let points = sample.points(prepared);
                let plan = Plan::new(config, Memory::Recomputed, &points, m, context)?;
                let problem = plan.problem(&points, config.power, context)?;
                let embedding = sample.embedding(&result.x);
                let (objective, sums) = Objective::new(problem, &points.counts, config.variant, context, &embedding)?;
                measure_stress(&objective, &embedding, Some(sums), Some(points.len()))?
            }
        } else {
            measure_stress(&objective, &result.x, None, None)?
        };
        watch.lap("measuring_s");
        // A resumed state may hold an embedding without finite stress.
        if !stress.total.is_finite() || stress.stress_1.is_nan() || result.x.iter().any(|x| !x.is_finite()) {
            return Err(run.non_finite_stress());
        }
        Ok((result, stress, if plan.mode == Memory::Sampled { "block-sampled" } else { variant }, plan, stale))
    }
}

/// Measures the stress of an embedding; without point stresses for a sample.
fn measure_stress<B: SammonOps>(
    objective: &Objective<B>,
    x: &[f64],
    sums: Option<PairSums>,
    sample: Option<usize>,
) -> Result<Stress> {
    let (_, points) = objective.forces(x)?;
    let total = objective.stress(&points);
    let sums = match sums {
        Some(sums) => sums,
        None => objective.measure(x)?.0,
    };
    let part = 0.5 / objective.scale;
    let points = sample.is_none().then(|| points.into_iter().map(|e| e * part).collect());
    Ok(Stress { total, stress_1: sums.stress_1(), points, sample })
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

        let (result, stress, variant, plan, stale_state) = if n <= 2 {
            // At most two points leave no state, so that one to resume from belongs to another input.
            if let Some(path) = &self.checkpoints.resume {
                resume(path, &state::identity(config, &prepared, given.as_deref(), context), context)?;
            }
            let exact = Stress { total: 0.0, stress_1: 0.0, points: Some(vec![0.0; n]), sample: None };
            (self.exact(&prepared), exact, "none", None, false)
        } else {
            let (result, stress, variant, plan, stale) =
                self.optimize(&prepared, given.as_deref(), context, &mut watch)?;
            (result, stress, variant, Some(plan), stale)
        };
        // On the host of one rank: all ranks would compute the same.
        let neighbourhoods = if config.quality && ranks.rank() == 0 {
            quality::neighbourhoods(&prepared, &result.x, &context.solo())?
        } else {
            None
        };
        let shepard = quality::shepard(&prepared, &result.x);
        watch.lap("quality_s");

        let m = result.x.len() / n;
        let mut coordinates = vec![0.0; rows * config.dims];
        for (place, &point) in coordinates.chunks_mut(config.dims).zip(&prepared.index) {
            (0..m).for_each(|k| place[k] = result.x[k * n + point as usize] * prepared.unit);
        }
        if let Some(at) = coordinates.iter().position(|x| !x.is_finite()) {
            let what = format!("the coordinates of point {} overflow in the unit of the input", at / config.dims + 1);
            return Err(Error::input(what, "give the points or distances in a larger unit"));
        }
        let spread = |points: Vec<f64>| prepared.index.iter().map(|&point| points[point as usize]).collect();
        let duplicates = prepared.duplicates();
        Ok(Embedding {
            embedding: floats(coordinates.clone(), [rows, config.dims], &context.device),
            coordinates,
            stress: stress.total,
            stress_start: result.stress_start,
            stress1: stress.stress_1,
            point_stress: stress.points.map(spread),
            stress_sample: stress.sample,
            neighbourhoods,
            history: result.history,
            iterations: result.iterations,
            evaluations: result.evaluations,
            stop: result.stop,
            step: result.step,
            variant,
            memory_mode: plan.map(|plan| plan.mode),
            duplicates,
            stale_state,
            shepard,
            timings: watch.timings(),
            peak_device_bytes: plan.map_or(0, |plan| plan.bytes),
            fitted: FittedPoints::new(prepared, result.x, config),
        })
    }
}
