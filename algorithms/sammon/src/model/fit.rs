//! The fit: from points to a map.

use burn::tensor::backend::Backend;
use firebox_core::{
    Context, Error, Result,
    checkpoint::{require, resume},
    data::Schema,
    report::Stopwatch,
    tensor::{failed, floats},
};

use super::{
    close,
    map::{Implementation, SammonMap, StressSample},
    run::{Run, Sampling},
    sammon::Sammon,
};
use crate::{
    config::{Memory, Start},
    io::state::{self, Scalars},
    ops::SammonOps,
    solve::{
        block_sampling::BlockSampler,
        close::CloseGroups,
        connectivity,
        exact_stress::{ExactStress, exact_stress},
        fitted::{Fitted, FittedDistances, FittedPoints, SammonModel},
        initialization,
        memory_plan::Plan,
        nondimensional::{Prepared, PreparedSource, first_rows},
        objective::{Objective, PairSums},
        pair_sample::{self, EstimatedStress},
        quality,
        state::{AppliedStep, RunResult, Stop},
        subsample::Subsample,
    },
    types::{Data, Variant},
};

/// Size of the sample whose stress is the history of block sampling.
const HISTORY_SAMPLE: usize = 8192;

/// Solution of the best run, and its measures.
struct Solution {
    run: RunResult,
    stress: Stress,
    implementation: Implementation,
    /// `None` if no device was used.
    plan: Option<Plan>,
    /// True if the state file is older than the end of the run.
    stale_state: bool,
}

/// Stress of an embedding, of all pairs or of a sample.
struct Stress {
    /// E.
    total: f64,
    /// Kruskal's stress-1.
    stress_1: f64,
    /// Contribution of each distinct point to E; `None` for a sample.
    points: Option<Vec<f64>>,
    sample: Option<StressSample>,
}

impl Sammon {
    /// Maps points from the initial embedding `given`, if the configuration wants one.
    pub(super) fn fit_data<B: SammonOps>(
        &self,
        data: Data,
        given: Option<&[f64]>,
        context: &Context<B>,
    ) -> Result<SammonMap<B>> {
        let (config, ranks) = (self.config(), &*context.communicator);
        let mut watch = Stopwatch::default();
        let prepared = Prepared::new(data, config.metric, config.strict)?;
        let (rows, n, duplicates) = (prepared.index.len(), prepared.len(), prepared.duplicates());
        if duplicates > 0 {
            let text = format!("{duplicates} of {rows} points equal an earlier one and share its place");
            context.observer.notice(&text);
        }
        if prepared.zero_pairs > 0 {
            let text = format!("{} pairs of different points at distance 0 have no weight", prepared.zero_pairs);
            context.observer.notice(&text);
        }
        let groups = connectivity::groups(&prepared);
        if groups > 1 {
            let text =
                format!("no pair connects the {groups} groups of points: their places beside each other are arbitrary");
            context.observer.notice(&text);
        }
        watch.lap("input_s");

        let close = CloseGroups::find(&prepared, Objective::<B>::epsilon());
        let close_points = close.as_ref().map_or(0, CloseGroups::merged_points);
        let solution = match &close {
            None => self.map_distinct(&prepared, given, context, &mut watch)?,
            Some(close) => {
                let reach = close.reach * prepared.unit;
                context.observer.notice(&format!(
                    "{close_points} of {rows} points are so close to another one (about {reach:.1e}) that they are mapped \
                     with it and set apart in f64 afterwards"
                ));
                let solution = self.map_distinct(&close.merged(&prepared), given, context, &mut watch)?;
                self.with_close_points(solution, &prepared, close, context)?
            }
        };
        watch.lap("measuring_s");
        let Solution { run, stress, implementation, plan, stale_state } = solution;
        // On the host of one rank: all ranks would compute the same.
        let neighbourhoods = if config.quality && ranks.rank() == 0 {
            quality::neighbourhoods(&prepared, &run.x, config.exact_quality, &context.solo())?
        } else {
            None
        };
        let shepard = quality::shepard(&prepared, &run.x);
        watch.lap("quality_s");

        let m = run.x.len() / n;
        let mut coordinates = vec![0.0; rows * config.dims];
        for (place, &point) in coordinates.chunks_mut(config.dims).zip(&prepared.index) {
            (0..m).for_each(|k| place[k] = run.x[k * n + point as usize] * prepared.unit);
        }
        if let Some(at) = coordinates.iter().position(|x| !x.is_finite()) {
            let what = format!("the coordinates of point {} overflow in the unit of the input", at / config.dims + 1);
            return Err(Error::input(what, "give the points or distances in a larger unit"));
        }
        let spread = |points: Vec<f64>| prepared.index.iter().map(|&point| points[point as usize]).collect();
        let point_stress = stress.points.map(spread);
        let Prepared { source, counts, index, unit, .. } = prepared;
        let (schema, fitted) = match source {
            PreparedSource::Features { values, d, scaling, .. } => {
                let points = FittedPoints { values, d, scaling, counts, unit, embedding: run.x };
                (Schema::unnamed(d)?, Fitted::Features(points))
            }
            PreparedSource::Distances(_) => {
                let distances = FittedDistances { index, points: counts.len(), unit, embedding: run.x };
                (Schema::default(), Fitted::Distances(distances))
            }
        };
        let model = SammonModel { schema, dims: config.dims, metric: config.metric, power: config.power, fitted };
        Ok(SammonMap {
            embedding: floats(coordinates.clone(), [rows, config.dims], &context.device),
            coordinates,
            stress: stress.total,
            stress_start: run.stress_start,
            stress1: stress.stress_1,
            point_stress,
            stress_sample: stress.sample,
            neighbourhoods,
            history: run.history,
            iterations: run.iterations,
            evaluations: run.evaluations,
            stop: run.stop,
            step: run.step,
            implementation,
            memory_mode: plan.map(|plan| plan.mode),
            duplicates,
            close_points,
            stale_state,
            shepard,
            timings: watch.timings(),
            peak_device_bytes: plan.map_or(0, |plan| plan.bytes),
            config: config.clone(),
            model,
        })
    }

    /// Maps distinct points that are not close to each other.
    fn map_distinct<B: SammonOps>(
        &self,
        prepared: &Prepared,
        given: Option<&[f64]>,
        context: &Context<B>,
        watch: &mut Stopwatch,
    ) -> Result<Solution> {
        if prepared.len() > 2 {
            return self.optimize(prepared, given, context, watch);
        }
        // At most two points leave no state, so that one to resume from belongs to another input.
        if let Some(path) = &self.checkpoints.resume {
            resume(path, &state::identity(self.config(), prepared, given, context), context)?;
        }
        Ok(self.exact(prepared))
    }

    /// The map of all points from that of the groups of close ones.
    fn with_close_points<B: SammonOps>(
        &self,
        mut solution: Solution,
        prepared: &Prepared,
        close: &CloseGroups,
        context: &Context<B>,
    ) -> Result<Solution> {
        let (config, merged) = (self.config(), std::mem::take(&mut solution.run.x));
        let apart = || close::set_apart(config, prepared, close, &merged, &context.solo());
        // Ranks may have different processors, but must agree.
        solution.run.x = context.communicator.broadcast_from_root(apart)?;
        if let Some(exact) = exact_stress(prepared, &solution.run.x, config.power, context)? {
            let ExactStress { total, stress_1, points } = exact;
            solution.stress = Stress { total, stress_1, points: Some(points), sample: None };
        } else if solution.stress.sample.is_some() {
            solution.stress = sampled_stress(prepared, &solution.run.x, config.power, context)?;
        } else if let Some(points) = &mut solution.stress.points {
            // A group's part of the stress, by its points.
            *points = close.spread(points, prepared.len());
        }
        Ok(solution)
    }

    /// The exact map of at most two distinct points.
    fn exact(&self, prepared: &Prepared) -> Solution {
        let n = prepared.len();
        let mut x = vec![0.0; n];
        if let [a, b] = &mut x[..] {
            let delta = prepared.delta(0, 1);
            (*a, *b) = (-0.5 * delta, 0.5 * delta);
        }
        let (stop, step) = (Stop::Exact, AppliedStep::None);
        let history = vec![0.0];
        let run = RunResult { x, stress: 0.0, stress_start: 0.0, history, iterations: 0, evaluations: 0, stop, step };
        let stress = Stress { total: 0.0, stress_1: 0.0, points: Some(vec![0.0; n]), sample: None };
        Solution { run, stress, implementation: Implementation::None, plan: None, stale_state: false }
    }

    /// Maps at least three distinct points on the device.
    fn optimize<B: SammonOps>(
        &self,
        prepared: &Prepared,
        given: Option<&[f64]>,
        context: &Context<B>,
        watch: &mut Stopwatch,
    ) -> Result<Solution> {
        let (config, checkpoints) = (self.config(), &self.checkpoints);
        let (m, ranks) = (self.effective_dims(prepared, context), &*context.communicator);
        if ranks.size() > 1 && config.variant != Variant::Auto {
            let reason = "the paper's variants run in a single process; leave it at auto".into();
            return Err(Error::Config { field: "variant", value: config.variant.to_string(), reason });
        }
        let name = B::sammon_strategy(&context.device, config.variant)?;
        // Hashing the input takes time: only if states are kept.
        let kept = checkpoints.file.is_some() || checkpoints.resume.is_some();
        let identity = kept.then(|| state::identity(config, prepared, given, context));
        let (mut resumed, mut requested) = (None, config.memory);
        if let (Some(path), Some(identity)) = (&checkpoints.resume, &identity) {
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

        let start = |run| ranks.broadcast_from_root(|| self.initial_embedding(prepared, given, m, context.seed, run));
        // A resumed state needs no initial embedding.
        let first = if resumed.is_some() { vec![0.0; m * prepared.len()] } else { start(0)? };
        watch.lap("start_s");
        let problem = plan.problem(prepared, config.power, context)?;
        watch.lap("distances_s");
        let sampled = plan.mode == Memory::Sampled;
        let of_sample = |sample: &Subsample, x: &[f64]| -> Result<(Objective<'_, B>, PairSums)> {
            let points = sample.points(prepared);
            let plan = Plan::new(config, Memory::Recomputed, &points, m, context)?;
            let problem = plan.problem(&points, config.power, context)?;
            Objective::new(problem, &points.counts, config.variant, context, &sample.embedding(x))
        };
        let (sampling, (objective, sums)) = if sampled {
            let sample = Subsample::new(prepared.len(), HISTORY_SAMPLE);
            let objective = of_sample(&sample, &first)?;
            let blocks = BlockSampler::new(&problem, config.epochs, config.block, context);
            (blocks.map(|blocks| Sampling { blocks, sample }), objective)
        } else {
            let objective = Objective::new(problem.clone(), &prepared.counts, config.variant, context, &first)?;
            (None, objective)
        };
        watch.lap("start_s");

        let (unit, memory) = (prepared.unit, plan.mode);
        let run = Run { config, objective: &objective, sampling, unit, checkpoints, identity, memory };
        let (mut result, stale_state) = run.run(resumed, &|run| match run {
            0 => Ok((first.clone(), Some(sums))),
            run => Ok((start(run)?, None)),
        })?;
        watch.lap("mapping_s");

        let all_pairs = config.exact_quality || config.point_stress || !pair_sample::is_sampled(prepared);
        let stress = match sampled {
            true if !all_pairs => sampled_stress(prepared, &result.x, config.power, context)?,
            true => {
                let (objective, sums) = Objective::new(problem, &prepared.counts, config.variant, context, &result.x)?;
                measure_stress(&objective, &result.x, Some(sums))?
            }
            false => measure_stress(&objective, &result.x, None)?,
        };
        if config.start == Start::Pca {
            initialization::centre(&mut result.x, &prepared.counts);
        }
        watch.lap("measuring_s");
        // A resumed state may hold an embedding without finite stress.
        if !stress.total.is_finite() || stress.stress_1.is_nan() || result.x.iter().any(|x| !x.is_finite()) {
            return Err(run.non_finite_stress());
        }
        let by_pairs = Implementation::AllPairs { variant: config.variant, name };
        let implementation = if sampled { Implementation::BlockSampled } else { by_pairs };
        Ok(Solution { run: result, stress, implementation, plan: Some(plan), stale_state })
    }

    /// Number of dimensions that can differ from 0; gives a notice if it is less than configured.
    fn effective_dims<B: SammonOps>(&self, prepared: &Prepared, context: &Context<B>) -> usize {
        let (source, of) = match &prepared.source {
            PreparedSource::Features { d, .. } => (*d, "coordinates of the points"),
            PreparedSource::Distances(_) => ((prepared.index.len() - 1).max(1), "dimensions spanned by the points"),
        };
        if self.config().dims > source {
            let dims = self.config().dims;
            context.observer.notice(&format!("there are only {source} {of}; the other of the {dims} columns are 0"));
        }
        self.config().dims.min(source)
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
        let mut x = match self.config().start {
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
        let (rows, dims) = (prepared.index.len(), self.config().dims);
        let Some(given) = given else {
            let reason = "the input has no initial embedding".into();
            return Err(Error::Config { field: "start", value: "given".into(), reason });
        };
        if given.len() != rows * dims || given.iter().any(|x| !x.is_finite()) {
            let (count, expected) = (given.len(), rows * dims);
            let what = format!("the start has {count} numbers; {rows} points in {dims} dimensions have {expected}");
            return Err(Error::input(what, "give one row a point, a finite coordinate a dimension"));
        }
        let first = first_rows(&prepared.index);
        Ok((0..m).flat_map(|k| first.iter().map(move |&row| given[row * dims + k] / prepared.unit)).collect())
    }
}

/// Measures the stress of an embedding on all pairs.
fn measure_stress<B: SammonOps>(objective: &Objective<B>, x: &[f64], sums: Option<PairSums>) -> Result<Stress> {
    let (_, points) = objective.forces(x)?;
    let total = objective.stress(&points);
    let sums = match sums {
        Some(sums) => sums,
        None => objective.measure(x)?.0,
    };
    let part = 0.5 / objective.scale;
    let points = points.into_iter().map(|e| e * part).collect();
    Ok(Stress { total, stress_1: sums.stress_1(), points: Some(points), sample: None })
}

/// Estimates the stress of an embedding from a sample of pairs.
fn sampled_stress<B: Backend>(prepared: &Prepared, x: &[f64], power: f64, context: &Context<B>) -> Result<Stress> {
    if power > 1.0 {
        context.observer.notice(
            "with a power above 1 the closest pairs may dominate the stress, and a sample may miss them: \
             `exact_quality` takes all pairs",
        );
    }
    // Ranks may have different processors, but must agree.
    let values = context.communicator.broadcast_from_root(|| {
        let EstimatedStress { total, error, stress_1, pairs } =
            pair_sample::estimated_stress(prepared, x, power, &context.solo())?;
        Ok::<_, Error>(vec![total, error, stress_1, pairs as f64])
    })?;
    let &[total, error, stress_1, pairs] = &values[..] else {
        return Err(failed("the host".into(), "measuring", "rank 0 sent no stress"));
    };
    Ok(Stress { total, stress_1, points: None, sample: Some(StressSample { pairs: pairs as usize, error }) })
}
