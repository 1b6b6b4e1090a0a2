//! Options for writing and resuming states.

use std::path::PathBuf;

/// The files that states are written to and resumed from.
#[derive(Debug, Clone, PartialEq)]
pub struct Checkpoints {
    /// Destination of the state, written at intervals, on cancellation and at the end. It is replaced atomically: a failed
    /// write leaves the previous state in place.
    pub file: Option<PathBuf>,
    /// Seconds between two writes.
    pub every: f64,
    /// A state to resume. Its input, parameters, seed and precision must equal the run's; limits such as the number of
    /// iterations may differ. A state of another backend is resumed with a notice, since backends round differently.
    pub resume: Option<PathBuf>,
}

impl Default for Checkpoints {
    fn default() -> Self {
        Self { file: None, every: 60.0, resume: None }
    }
}
