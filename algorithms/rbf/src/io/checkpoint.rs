//! Training states in [state files](firebox_core::checkpoint).

use firebox_core::{
    Communicator, Context, Result,
    checkpoint::{Checkpoint, Fingerprint, Identity, MAX_COUNT, Tensors, decode, require},
};

use crate::{
    config::RbfConfig,
    ops::RbfOps,
    problem::definition::Problem,
    solve::{levenberg_marquardt::Lm, state::State},
    types::System,
};

/// Parameters that a resumed training may change.
const CHANGEABLE: &[&str] = &["cycles", "tolerance", "time_limit"];

/// Identity of a training, stored in its states; `first` is the system of its first cycle.
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
    Identity::new("rbf", config, CHANGEABLE, format!("{} {hash}", problem.name()), context)
}

/// Serializes a state.
pub(crate) fn save(state: &State, run: &Identity) -> Result<Checkpoint> {
    let (mut tensors, m) = (Tensors::default(), state.widths.len());
    let dims = state.centres.len() / m.max(1);
    tensors.put("centres", &[m, dims], &state.centres[..]);
    tensors.put("widths", &[m], &state.widths[..]);
    tensors.put("weights", &[m], &state.weights[..]);
    tensors.put("residuals.interior", &[state.interior.len()], &state.interior[..]);
    tensors.put("residuals.boundary", &[state.boundary.len()], &state.boundary[..]);
    if let Some(Lm { dims, centres, log_widths, weights, .. }) = &state.lm {
        let m = log_widths.len();
        tensors.put("lm.centres", &[m, *dims], &centres[..]);
        tensors.put("lm.log_widths", &[m], &log_widths[..]);
        tensors.put("lm.weights", &[m], &weights[..]);
    }
    Checkpoint::new(run, state, tensors)
}

/// Reads a state of m neurons in `dims` dimensions that [`save`] wrote, without checking its values.
fn read(state: Checkpoint, [m, dims]: [usize; 2]) -> Result<State> {
    let (mut state, mut tensors) = state.parts::<State>()?;
    require(state.cycles <= MAX_COUNT, "it has too many cycles")?;
    state.centres = tensors.take_any("centres", &[m, dims])?;
    state.widths = tensors.take_any("widths", &[m])?;
    state.weights = tensors.take_any("weights", &[m])?;
    state.interior = tensors.take_any("residuals.interior", &[state.cycles])?;
    state.boundary = tensors.take_any("residuals.boundary", &[state.cycles])?;
    if let Some(lm) = &mut state.lm {
        require(lm.evaluations <= MAX_COUNT, "a count of its minimisation is too large")?;
        lm.dims = dims;
        lm.centres = tensors.take_any("lm.centres", &[m, dims])?;
        lm.log_widths = tensors.take_any("lm.log_widths", &[m])?;
        lm.weights = tensors.take_any("lm.weights", &[m])?;
    }
    tensors.finish()?;
    Ok(state)
}

/// Reads and checks the state of a training of m neurons in `dims` dimensions by `config`.
pub(crate) fn restore(state: Checkpoint, config: &RbfConfig, [m, dims]: [usize; 2]) -> Result<State> {
    let state = read(state, [m, dims])?;
    state.check(dims, m, config)?;
    Ok(state)
}

/// Makes a state on rank 0 only and broadcasts it; `size` is m and the number of dimensions.
pub(crate) fn broadcast(
    ranks: &dyn Communicator,
    run: &Identity,
    size: [usize; 2],
    make: impl FnOnce() -> Result<State>,
) -> Result<State> {
    if ranks.size() == 1 {
        return make();
    }
    read(decode(&ranks.broadcast_from_root(|| save(&make()?, run)?.encode())?)?, size)
}

/// Fails unless `bytes` are a state file from which a training of `neurons` in `dims` dimensions by `config` can
/// resume; seed, precision and problem are not compared.
pub fn check_state(bytes: &[u8], config: &RbfConfig, neurons: usize, dims: usize) -> Result<()> {
    restore(decode(bytes)?, config, [neurons, dims]).map(drop)
}

#[cfg(test)]
mod tests;
