//! Arguments for writing and resuming states.

use super::paths::{StateIn, StateOut};
use crate::checkpoint::keeper::Checkpoints;
use crate::error::{Error, Result};

/// Arguments for writing and resuming states, to be flattened into those of a command.
#[derive(Debug, Clone, PartialEq, clap::Args)]
pub struct CheckpointArgs {
    /// Keep the run's state in a file, to go on from with --resume
    #[arg(long, value_name = "FILE")]
    pub checkpoint: Option<StateOut>,
    /// Seconds between two states
    #[arg(long, value_name = "S", default_value_t = Checkpoints::default().every)]
    pub checkpoint_every: f64,
    /// Go on from a state, to the same bits as a run that was not interrupted
    #[arg(long, value_name = "FILE")]
    pub resume: Option<StateIn>,
}

impl CheckpointArgs {
    /// Validates the arguments. Fails with [`Error::Config`] if the interval is not a number of seconds above 0.
    pub fn checkpoints(&self) -> Result<Checkpoints> {
        let every = self.checkpoint_every;
        if !(every > 0.0 && every.is_finite()) {
            let reason = "must be a number of seconds above 0".into();
            return Err(Error::Config { field: "checkpoint_every", value: every.to_string(), reason });
        }
        let file = self.checkpoint.clone().map(Into::into);
        Ok(Checkpoints { file, every, resume: self.resume.clone().map(Into::into) })
    }
}
