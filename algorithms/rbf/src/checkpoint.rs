//! The state of a training in a [state file](firebox_core::checkpoint).

use firebox_core::{
    Communicator, Context, Result,
    checkpoint::{Checkpoint, Fingerprint, Identity, MAX_COUNT, Tensors, decode, number, require},
};
use serde::{Deserialize, Serialize};

use crate::{
    Lm, Problem, RbfConfig, RbfOps, Stop, System, lm,
    state::{Diagnosis, State},
};

/// Parameters that a training which goes on from a state may change.
const LIMITS: &[&str] = &["cycles", "tolerance", "time_limit"];

/// Identity of this training, which its states carry; `first` is the system of its first cycle.
pub(crate) fn identity<B: RbfOps>(
    config: &RbfConfig,
    problem: &Problem,
    first: &System,
    context: &Context<B>,
) -> Identity {
    let mut hash = Fingerprint::default();
    for conditions in [&first.interior, &first.boundary] {
        hash = hash.numbers(conditions.points.iter().chain(&conditions.target));
        hash = hash.numbers(conditions.gradient.iter().flatten());
        hash = (0..conditions.len())
            .fold(hash, |hash, i| hash.number(conditions.laplacian.at(i)).number(conditions.value.at(i)));
    }
    Identity::new("rbf", config, LIMITS, format!("{} {hash}", problem.name()), context)
}

/// The part of a state that is not an array.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Scalars {
    cycles: usize,
    #[serde(with = "number")]
    ratio: f64,
    #[serde(with = "number")]
    rate: f64,
    falls: usize,
    accepted: usize,
    idle: usize,
    lm: Option<lm::Scalars>,
    diagnosis: Option<Diagnosis>,
    ended: Option<Stop>,
}

/// The file's content for a state.
pub(crate) fn save(state: &State, run: &Identity) -> Result<Checkpoint> {
    let State { cycles, ratio, rate, falls, accepted, idle, diagnosis, ended, .. } = *state;
    let (mut tensors, m) = (Tensors::default(), state.widths.len());
    tensors.put("centres", &[m, state.centres.len() / m.max(1)], &state.centres[..]);
    tensors.put("widths", &[m], &state.widths[..]);
    tensors.put("weights", &[m], &state.weights[..]);
    tensors.put("residuals.interior", &[state.interior.len()], &state.interior[..]);
    tensors.put("residuals.boundary", &[state.boundary.len()], &state.boundary[..]);
    let lm = state.lm.as_ref().map(|lm| lm.save(&mut tensors));
    let scalars = Scalars { cycles, ratio, rate, falls, accepted, idle, lm, diagnosis, ended };
    Checkpoint::new(run, &scalars, tensors)
}

/// The state of m neurons in `dims` dimensions that [`save`] wrote, whatever its numbers.
fn read(state: Checkpoint, [m, dims]: [usize; 2]) -> Result<State> {
    let (scalars, mut tensors) = state.parts::<Scalars>()?;
    let Scalars { cycles, ratio, rate, falls, accepted, idle, lm, diagnosis, ended } = scalars;
    require(cycles <= MAX_COUNT, "it has too many cycles")?;
    // Within a cycle, where ranks exchange states, the history is one longer than the cycles.
    let history = |name: &str, tensors: &mut Tensors| {
        let length = tensors.shape(name).and_then(<[usize]>::first).copied().unwrap_or(0);
        tensors.take_any(name, &[length])
    };
    let state = State {
        cycles,
        ratio,
        rate,
        falls,
        accepted,
        idle,
        diagnosis,
        ended,
        centres: tensors.take_any("centres", &[m, dims])?,
        widths: tensors.take_any("widths", &[m])?,
        weights: tensors.take_any("weights", &[m])?,
        interior: history("residuals.interior", &mut tensors)?,
        boundary: history("residuals.boundary", &mut tensors)?,
        lm: lm.map(|lm| Lm::restore(&lm, [m, dims], &mut tensors)).transpose()?,
    };
    tensors.finish()?;
    Ok(state)
}

/// The state of a training of m neurons in `dims` dimensions by `config`; fails if it cannot be one.
pub(crate) fn restore(state: Checkpoint, config: &RbfConfig, [m, dims]: [usize; 2]) -> Result<State> {
    let state = read(state, [m, dims])?;
    state.check(dims, m, config)?;
    Ok(state)
}

/// The state of m neurons in `dims` dimensions that rank 0 makes, on all ranks; the others make nothing.
pub(crate) fn of_first(
    ranks: &dyn Communicator,
    run: &Identity,
    size: [usize; 2],
    make: impl FnOnce() -> Result<State>,
) -> Result<State> {
    if ranks.size() == 1 {
        return make();
    }
    read(decode(&ranks.from_first(|| save(&make()?, run)?.encode())?)?, size)
}

/// Fails unless `bytes` are the file of a state from which a training of `neurons` in `dims` dimensions by `config` can
/// go on; seed, precision and problem are not compared.
pub fn check_state(bytes: &[u8], config: &RbfConfig, neurons: usize, dims: usize) -> Result<()> {
    restore(decode(bytes)?, config, [neurons, dims]).map(drop)
}

#[cfg(test)]
mod tests;
