//! State files: what a run writes on its way so that a later run can go on from there.
//!
//! All algorithms share one format ([`decode`]) and one set of rules for when a state may be resumed
//! ([`Identity::check`]). A state that cannot be written never ends a run ([`Keeper`]).

mod fingerprint;
mod format;
mod identity;
mod keeper;
pub mod number;
mod tensors;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

pub use fingerprint::Fingerprint;
pub use format::{Checkpoint, VERSION, decode, resume, seal};
pub use identity::Identity;
pub use keeper::Keeper;
pub use tensors::Tensors;

use crate::Error;

/// Files that a run's state is written to and resumed from.
#[derive(Debug, Clone, PartialEq)]
pub struct Checkpoints {
    /// The file that the state is written to at intervals, when the run is cancelled, and at its end. It is replaced as
    /// a whole: a write that fails leaves the previous state in place.
    pub file: Option<PathBuf>,
    /// Seconds between two writes.
    pub every: f64,
    /// A state to resume. Its input, parameters, seed and precision must be the run's; limits such as the number of
    /// iterations may differ. On another backend the run goes on with a notice, since its results are rounded
    /// differently there.
    pub resume: Option<PathBuf>,
}

impl Default for Checkpoints {
    fn default() -> Self {
        Self { file: None, every: 60.0, resume: None }
    }
}

/// The largest count that a state may hold, far above what any run reaches and far below an overflow.
pub const MAX_COUNT: usize = 1 << 53;

/// The error for a state that cannot be resumed because of what it holds.
pub fn refuse(what: impl Into<String>) -> Error {
    Error::input(what, "give the file as --checkpoint wrote it, or start the run anew without --resume")
}

/// Fails with [`refuse`] unless a condition on a state holds.
pub fn require(holds: bool, what: &str) -> crate::Result<()> {
    if holds { Ok(()) } else { Err(refuse(format!("this state is inconsistent: {what}"))) }
}
