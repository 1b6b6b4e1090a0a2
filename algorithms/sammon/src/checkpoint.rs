//! A run's state in a file: JSON, numbers as their bits, written whole or not at all.

use std::path::Path;

use firebox_core::{Communicator, Context, Error, Precision, Result, data::atomic, error::Place};
use serde::{Deserialize, Serialize};

use crate::{
    SammonOps,
    config::{Memory, SammonConfig},
    input::{Host, Prepared},
    run::State,
};

const FORMAT: &str = "firebox sammon checkpoint 1";

/// What a state belongs to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Header {
    format: String,
    /// Of the points as they were made ready.
    input: String,
    /// Without the limits.
    config: SammonConfig,
    seed: u64,
    precision: Precision,
    /// How the distances were kept, which `auto` may choose otherwise next time.
    pub(crate) memory: Memory,
}

impl Header {
    /// Without `prepared` for a run that keeps no state.
    pub(crate) fn new<B: SammonOps>(
        config: &SammonConfig,
        prepared: Option<&Prepared>,
        start: Option<&[f64]>,
        memory: Memory,
        context: &Context<B>,
    ) -> Self {
        let limits = SammonConfig::new(config.dims);
        let config = SammonConfig {
            iterations: limits.iterations,
            tolerance: limits.tolerance,
            time_limit: limits.time_limit,
            quality: limits.quality,
            ..config.clone()
        };
        Self {
            format: FORMAT.into(),
            input: prepared.map_or_else(String::new, |prepared| fingerprint(prepared, start)),
            config,
            seed: context.seed,
            precision: context.precision,
            memory,
        }
    }
}

/// 64 bits of every number (Fowler, Noll and Vo's hash, a word at a time).
fn fingerprint(prepared: &Prepared, start: Option<&[f64]>) -> String {
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    let mut add = |word: u64| {
        hash = (hash ^ word).wrapping_mul(0x0000_0100_0000_01b3);
        hash ^= hash >> 29;
    };
    let values = match &prepared.host {
        Host::Features { values, d, .. } => {
            add(*d as u64);
            values
        }
        Host::Distances(values) => values,
    };
    values.iter().chain(start.into_iter().flatten()).for_each(|value| add(value.to_bits()));
    prepared.index.iter().for_each(|&index| add(u64::from(index)));
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

/// Reads a state, rank 0 for all; its header is to be [`check`]ed against the run's.
pub(crate) fn read(path: &Path, ranks: &dyn Communicator) -> Result<(Header, State)> {
    let text = ranks.from_first(|| std::fs::read(path));
    let text = text.map_err(|source| Error::Io { action: "read", path: path.into(), source })?;
    let incoming: Incoming = serde_json::from_slice(&text).map_err(|error| {
        let what = format!("this is no checkpoint of a Sammon mapping: {error}");
        Error::input_at(Place::file(path), what, "give the file that --checkpoint wrote")
    })?;
    Ok((incoming.header, incoming.state))
}

/// Fails if a state is not of the size and the method that its header tells of.
pub(crate) fn fits(path: &Path, fits: bool) -> Result<()> {
    if fits {
        return Ok(());
    }
    let what = "its state does not belong to its header";
    Err(Error::input_at(Place::file(path), what, "give the file as --checkpoint wrote it"))
}

/// Fails unless a state that belongs to `theirs` can go on as a run that belongs to `ours`.
pub(crate) fn check(path: &Path, theirs: &Header, ours: &Header) -> Result<()> {
    let differs = [
        (theirs.format != ours.format, "its format is of another version"),
        (theirs.input != ours.input, "it is of other points"),
        (theirs.config != ours.config, "its run had other parameters"),
        (theirs.seed != ours.seed, "its run had another seed"),
        (theirs.precision != ours.precision, "its run had another precision"),
        (theirs.memory != ours.memory, "its run kept distances otherwise"),
    ];
    match differs.iter().find(|(differs, _)| *differs) {
        Some((_, what)) => {
            let help = "resume with the same input, parameters, seed and precision; only limits may differ";
            Err(Error::input_at(Place::file(path), *what, help))
        }
        None => Ok(()),
    }
}
