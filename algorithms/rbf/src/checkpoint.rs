//! A run's state in a file: JSON, numbers as their bits, written whole or not at all.

use std::path::{Path, PathBuf};

use firebox_core::{Context, Error, Observer, Precision, Result, data::atomic, error::Place};
use serde::{Deserialize, Serialize};

use crate::{Problem, RbfOps, System, config::RbfConfig, state::State};

const FORMAT: &str = "firebox rbf checkpoint 2";

/// Files that a run's state goes to and comes from.
#[derive(Debug, Clone, PartialEq)]
pub struct Checkpoints {
    /// Where the state is written, whole or not at all: every so often, when the run is stopped, and at its end.
    pub file: Option<PathBuf>,
    /// Seconds between two writes.
    pub every: f64,
    /// A state to go on from. Its problem, configuration, seed and precision must be the run's; the limits (cycles, time,
    /// tolerance) may differ, and so may the backend, with a notice, for it goes on to the same bits on its own only.
    pub resume: Option<PathBuf>,
}

impl Default for Checkpoints {
    fn default() -> Self {
        Self { file: None, every: 60.0, resume: None }
    }
}

/// What a state belongs to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Header {
    format: String,
    /// The problem's name, and 64 bits of what it asks for in the first cycle.
    problem: String,
    /// Without the limits.
    config: RbfConfig,
    seed: u64,
    precision: Precision,
    /// Others go on as well, but not to the same bits.
    backend: String,
}

impl Header {
    pub(crate) fn new<B: RbfOps>(config: &RbfConfig, problem: &Problem, first: &System, context: &Context<B>) -> Self {
        let limits = RbfConfig::new(config.neurons);
        let config = RbfConfig {
            cycles: limits.cycles,
            tolerance: limits.tolerance,
            time_limit: limits.time_limit,
            ..config.clone()
        };
        let problem = format!("{} {}", problem.name(), fingerprint(first));
        Self {
            format: FORMAT.into(),
            problem,
            config,
            seed: context.seed,
            precision: context.precision,
            backend: B::name(&context.device),
        }
    }
}

/// 64 bits of every number (Fowler, Noll and Vo's hash, a word at a time).
fn fingerprint(system: &System) -> String {
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    let mut add = |value: f64| {
        hash = (hash ^ value.to_bits()).wrapping_mul(0x0000_0100_0000_01b3);
        hash ^= hash >> 29;
    };
    for conditions in [&system.interior, &system.boundary] {
        conditions.points.iter().chain(&conditions.target).for_each(|value| add(*value));
        conditions.gradient.iter().flatten().for_each(|value| add(*value));
        (0..conditions.len()).for_each(|i| {
            add(conditions.laplacian.at(i));
            add(conditions.value.at(i));
        });
    }
    format!("{hash:016x}")
}

#[derive(Serialize)]
struct Outgoing<'a> {
    header: &'a Header,
    state: &'a State,
}

#[derive(Deserialize)]
struct Incoming {
    header: Header,
    state: State,
}

pub(crate) fn write(path: &Path, header: &Header, state: &State) -> Result<()> {
    atomic::write(path, |out| Ok(serde_json::to_writer(out, &Outgoing { header, state })?))
}

/// The state in a file, for a run that belongs to `ours`.
pub(crate) fn read(
    path: &Path,
    ours: &Header,
    (dims, neurons): (usize, usize),
    observer: &dyn Observer,
) -> Result<State> {
    let refuse = |what: String, help: &str| Error::input_at(Place::file(path), what, help);
    let text = std::fs::read(path).map_err(|source| Error::Io { action: "read", path: path.into(), source })?;
    let incoming: Incoming = serde_json::from_slice(&text).map_err(|error| {
        refuse(format!("this is no checkpoint of an RBF network: {error}"), "give the file that --checkpoint wrote")
    })?;
    let Incoming { header: theirs, state } = incoming;
    let differs = [
        (theirs.format != ours.format, "its format is of another version"),
        (theirs.config != ours.config, "its run had other parameters"),
        (theirs.seed != ours.seed, "its run had another seed"),
        (theirs.precision != ours.precision, "its run had another precision"),
        (theirs.problem != ours.problem, "it is of another problem"),
    ];
    if let Some((_, what)) = differs.iter().find(|(differs, _)| *differs) {
        let help = "resume with the same problem, parameters, seed and precision; only limits may differ";
        return Err(refuse((*what).into(), help));
    }
    if !state.fits(dims, neurons, &theirs.config) {
        let what = "its state does not belong to its header".into();
        return Err(refuse(what, "give the file as --checkpoint wrote it"));
    }
    if theirs.backend != ours.backend {
        let text = format!(
            "the state is of backend {}: the run goes on, but not to the bits that it had there",
            theirs.backend
        );
        observer.notice(&text);
    }
    Ok(state)
}
