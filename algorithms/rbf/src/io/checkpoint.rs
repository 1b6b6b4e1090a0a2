//! Training states in [state files](firebox_core::checkpoint).

use firebox_core::{
    Communicator, Context, Result,
    checkpoint::{Checkpoint, Fingerprint, Identity, MAX_COUNT, Tensors, decode, number, require},
};
use serde::{Deserialize, Serialize};

use crate::{
    config::RbfConfig,
    ops::RbfOps,
    problem::definition::Problem,
    solve::{
        levenberg_marquardt::Lm,
        state::{Diagnosis, State, Stop},
    },
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

/// The scalar part of a state.
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
    lm: Option<LmScalars>,
    diagnosis: Option<Diagnosis>,
    ended: Option<Stop>,
}

/// The scalar part of a minimisation's state.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LmScalars {
    #[serde(with = "number")]
    objective: f64,
    #[serde(with = "number")]
    unit: f64,
    #[serde(with = "number")]
    radius: f64,
    #[serde(with = "number")]
    damping: f64,
    evaluations: usize,
}

impl Lm {
    /// Adds the arrays to a state's tensors; returns the scalars.
    pub(crate) fn save(&self, tensors: &mut Tensors) -> LmScalars {
        let (m, dims) = (self.log_widths.len(), self.dims);
        tensors.put("lm.centres", &[m, dims], &self.centres[..]);
        tensors.put("lm.log_widths", &[m], &self.log_widths[..]);
        tensors.put("lm.weights", &[m], &self.weights[..]);
        let Self { objective, unit, radius, damping, evaluations, .. } = *self;
        LmScalars { objective, unit, radius, damping, evaluations }
    }

    /// Reads what [`save`](Self::save) wrote for m neurons in `dims` dimensions; [`fits`](Self::fits) checks the
    /// values.
    pub(crate) fn restore(scalars: &LmScalars, [m, dims]: [usize; 2], tensors: &mut Tensors) -> Result<Self> {
        let &LmScalars { objective, unit, radius, damping, evaluations } = scalars;
        require(evaluations <= MAX_COUNT, "a count of its minimisation is too large")?;
        let centres = tensors.take_any("lm.centres", &[m, dims])?;
        let log_widths = tensors.take_any("lm.log_widths", &[m])?;
        let weights = tensors.take_any("lm.weights", &[m])?;
        Ok(Self { dims, centres, log_widths, weights, objective, unit, radius, damping, evaluations })
    }
}

/// Serializes a state.
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

/// Reads a state of m neurons in `dims` dimensions that [`save`] wrote, without checking its values.
fn read(state: Checkpoint, [m, dims]: [usize; 2]) -> Result<State> {
    let (scalars, mut tensors) = state.parts::<Scalars>()?;
    let Scalars { cycles, ratio, rate, falls, accepted, idle, lm, diagnosis, ended } = scalars;
    require(cycles <= MAX_COUNT, "it has too many cycles")?;
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
        interior: tensors.take_any("residuals.interior", &[cycles])?,
        boundary: tensors.take_any("residuals.boundary", &[cycles])?,
        lm: lm.map(|lm| Lm::restore(&lm, [m, dims], &mut tensors)).transpose()?,
    };
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
