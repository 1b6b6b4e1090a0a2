//! Serialization of a run's state in a [state file](firebox_core::checkpoint).

use firebox_core::{
    Context, Result,
    checkpoint::{Checkpoint, Fingerprint, Identity, MAX_COUNT, Tensors, decode, number, refuse, require},
};
use serde::{Deserialize, Serialize};

use super::method::{self, DescentScalars, LbfgsScalars};
use crate::{
    config::{Memory, SammonConfig, Solver, Step},
    ops::SammonOps,
    solve::{
        block_sampling::{SamplingState, period},
        nondimensional::{Prepared, PreparedSource},
        state::{AppliedStep, Method, RunResult, State, Stop},
    },
    types::Variant,
};

/// Parameters that may change when a run is resumed.
const MUTABLE: &[&str] = &["iterations", "tolerance", "time_limit", "quality", "exact_quality", "point_stress"];

/// Identity of a run, stored in its states. Hashes every number of the input.
pub(crate) fn identity<B: SammonOps>(
    config: &SammonConfig,
    prepared: &Prepared,
    start: Option<&[f64]>,
    context: &Context<B>,
) -> Identity {
    let (hash, values) = match &prepared.source {
        PreparedSource::Features { values, d, .. } => (Fingerprint::default().word(*d as u64), values),
        PreparedSource::Distances(values) => (Fingerprint::default(), values),
    };
    let hash = hash.numbers(values.iter().chain(start.into_iter().flatten()));
    let hash = prepared.index.iter().fold(hash, |hash, &index| hash.word(u64::from(index)));
    Identity::new("sammon", config, MUTABLE, hash.to_string(), context)
}

/// Scalar part of a state.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Scalars {
    /// Memory mode of the run, since `auto` may choose differently on another device.
    pub(crate) memory: Memory,
    run: usize,
    iterations: usize,
    #[serde(with = "number")]
    stress_start: f64,
    stop: Option<Stop>,
    method: MethodScalars,
    best: Option<RunResultScalars>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum MethodScalars {
    Lbfgs(LbfgsScalars),
    Descent(DescentScalars),
    Sampled,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RunResultScalars {
    #[serde(with = "number")]
    stress: f64,
    #[serde(with = "number")]
    stress_start: f64,
    iterations: usize,
    evaluations: usize,
    stop: Stop,
    step: String,
}

/// Serializes a state whose embedding has shape `[m, n]`.
pub(crate) fn save(state: &State, run: &Identity, memory: Memory, shape: [usize; 2]) -> Result<Checkpoint> {
    let mut tensors = Tensors::default();
    let method = match &state.method {
        Method::Lbfgs(lbfgs) => MethodScalars::Lbfgs(method::save_lbfgs(lbfgs, shape, &mut tensors)),
        Method::Descent(descent) => MethodScalars::Descent(method::save_descent(descent, shape, &mut tensors)),
        Method::Sampled(sampled) => {
            tensors.put("x", &shape, &sampled.x[..]);
            MethodScalars::Sampled
        }
    };
    tensors.put("history", &[state.history.len()], &state.history[..]);
    let best = state.best.as_ref().map(|best| {
        tensors.put("best.x", &shape, &best.x[..]);
        tensors.put("best.history", &[best.history.len()], &best.history[..]);
        RunResultScalars {
            stress: best.stress,
            stress_start: best.stress_start,
            iterations: best.iterations,
            evaluations: best.evaluations,
            stop: best.stop,
            step: best.step.to_string(),
        }
    });
    let State { run: index, stress_start, iterations, stop, .. } = *state;
    let scalars = Scalars { memory, run: index, iterations, stress_start, stop, method, best };
    Checkpoint::new(run, &scalars, tensors)
}

/// Deserializes the state of a mapping of n points to m dimensions.
///
/// # Errors
/// If the state is inconsistent, or not one of `config`.
pub(crate) fn restore(
    scalars: &Scalars,
    mut tensors: Tensors,
    config: &SammonConfig,
    [m, n]: [usize; 2],
) -> Result<State> {
    let &Scalars { memory, run, iterations, stress_start, stop, .. } = scalars;
    let chosen = match config.memory {
        Memory::Auto if memory == Memory::Sampled => config.is_plain() && config.variant == Variant::Auto,
        Memory::Auto => memory != Memory::Auto,
        given => memory == given,
    };
    require(chosen, "its memory mode is not that of its parameters")?;
    require(is_stress(stress_start), "the stress at its start is not a finite number of at least 0")?;
    require(run <= config.further_runs(n), "it has more restarts than its parameters allow")?;
    require(scalars.best.is_some() == (run > 0), "the best of earlier runs does not fit the number of runs")?;
    let history = stresses(&mut tensors, "history")?;
    let sampled = memory == Memory::Sampled;
    let solver = if sampled { None } else { Some(config.solver) };
    let (method, stops) = match (&scalars.method, solver) {
        (MethodScalars::Lbfgs(lbfgs), Some(Solver::Lbfgs)) => {
            let lbfgs = method::restore_lbfgs(lbfgs, [m, n], &mut tensors)?;
            require(history.last() == Some(&lbfgs.value), "its stress is not the last of its history")?;
            require(history.windows(2).all(|pair| pair[1] < pair[0]), "its stress rises")?;
            (Method::Lbfgs(lbfgs), Stop::Precision)
        }
        (MethodScalars::Descent(descent), Some(solver @ (Solver::Gd | Solver::Jacobi))) => {
            let way = (solver, config.step);
            (Method::Descent(method::restore_descent(descent, way, [m, n], &mut tensors)?), Stop::Diverged)
        }
        (MethodScalars::Sampled, None) => {
            let x = tensors.take("x", &[m, n])?;
            let sampled = SamplingState::at(x, n, iterations, config.epochs);
            let sampled = sampled.ok_or_else(|| refuse("this state is inconsistent: its epoch is not one to stop at"));
            (Method::Sampled(sampled?), Stop::Epochs)
        }
        _ => return Err(refuse("this state is inconsistent: its method is not that of its parameters")),
    };
    require(stop.is_none_or(|stop| stop == stops), "its stopping criterion is not one of its method")?;
    // A descent measures its last embedding only when it ends.
    let history_len = |iterations: usize, ended: bool| match &method {
        Method::Lbfgs(_) => iterations.saturating_add(1),
        Method::Descent(_) => iterations.saturating_add(usize::from(ended)),
        Method::Sampled(_) => iterations.div_ceil(period(n)).saturating_add(1),
    };
    let counts = "its history does not have one stress per iteration";
    require(history.len() == history_len(iterations, false), counts)?;
    let best = scalars.best.as_ref().map(|best| {
        let RunResultScalars { stress, stress_start, iterations, evaluations, stop, ref step } = *best;
        let history = stresses(&mut tensors, "best.history")?;
        require(
            is_stress(stress) && is_stress(stress_start),
            "the stress of its best run is not a finite number of at least 0",
        )?;
        require(history.len() == history_len(iterations, true) && evaluations <= MAX_COUNT, counts)?;
        let step = applied_step(step, config, sampled);
        let step =
            step.ok_or_else(|| refuse("this state is inconsistent: the step of its best run is not its method's"))?;
        let x = tensors.take("best.x", &[m, n])?;
        Ok(RunResult { x, stress, stress_start, history, iterations, evaluations, stop, step })
    });
    let best = best.transpose()?;
    tensors.finish()?;
    Ok(State { run, method, history, stress_start, iterations, best, stop })
}

/// Parses the displayed step of a run; `None` if no run by `config` has it. Of a descent it ends with μ or α.
fn applied_step(text: &str, config: &SammonConfig, sampled: bool) -> Option<AppliedStep> {
    let number = || text.rsplit(':').next()?.parse().ok();
    let step = match config.solver {
        _ if sampled => AppliedStep::BlockSampled { epochs: config.epochs },
        Solver::Lbfgs => AppliedStep::Lbfgs { rescaled: config.rescale },
        Solver::Gd if config.step != Step::Auto => AppliedStep::Gradient { step: config.step, mu: number()? },
        Solver::Gd | Solver::Jacobi => AppliedStep::Jacobi { alpha: number()? },
    };
    (step.to_string() == text).then_some(step)
}

fn is_stress(value: f64) -> bool {
    value >= 0.0 && value.is_finite()
}

fn stresses(tensors: &mut Tensors, name: &str) -> Result<Vec<f64>> {
    let values = tensors.take_vector(name)?;
    require(values.iter().all(|value| is_stress(*value)), "a stress of its history is below 0")?;
    Ok(values)
}

/// Checks that `bytes` are a state file from which a mapping of `points` distinct points by `config` can be resumed.
/// Does not compare seed, precision and input.
///
/// # Errors
/// If the file is damaged, inconsistent, or not one of `config`.
pub fn check_state(bytes: &[u8], config: &SammonConfig, points: usize) -> Result<()> {
    let (scalars, tensors) = decode(bytes)?.parts::<Scalars>()?;
    restore(&scalars, tensors, config, [config.dims, points]).map(drop)
}
