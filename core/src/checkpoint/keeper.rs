//! Periodic writing of states; failures never end the run.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use super::format::Checkpoint;
use crate::communicator::Communicator;
use crate::context::Session;
use crate::error::{Error, Result};
use crate::observe::Observer;

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

/// Writes a run's states to its file. A failed write leaves the previous state in place and gives a notice, unless the
/// write before it failed too; later states are still tried. [`finish`](Self::finish) returns whether the file is stale
/// at the end of the run.
pub struct Keeper<'a> {
    path: Option<&'a Path>,
    every: Duration,
    last: Instant,
    /// Position of the run when the state in the file was written.
    written: Option<String>,
    /// True if the last write failed.
    failed: bool,
    observer: Arc<dyn Observer>,
    ranks: Arc<dyn Communicator>,
}

impl<'a> Keeper<'a> {
    /// Creates a keeper whose first state is due after one interval.
    pub fn new(checkpoints: &'a Checkpoints, session: &Session) -> Self {
        Self {
            path: checkpoints.file.as_deref(),
            every: Duration::try_from_secs_f64(checkpoints.every).unwrap_or(Duration::MAX),
            last: Instant::now(),
            written: None,
            failed: false,
            observer: session.observer.clone(),
            ranks: session.communicator.clone(),
        }
    }

    /// True if states are written.
    pub fn is_on(&self) -> bool {
        self.path.is_some()
    }

    /// True if the interval since the last state has passed on this rank. Ranks that share a run must broadcast one answer.
    pub fn is_due(&self) -> bool {
        self.is_on() && self.last.elapsed() >= self.every
    }

    /// Writes the state that `make` returns; `at` is the position of the run, such as `iteration 12`. Collective: only
    /// rank 0 creates and writes the state, and the others wait, since a rank that exits ends the job and the writer.
    ///
    /// Fails as `make` does, but not if the state cannot be written.
    pub fn save(&mut self, at: impl Into<String>, make: impl FnOnce() -> Result<Checkpoint>) -> Result<()> {
        let Some(path) = self.path else { return Ok(()) };
        if self.ranks.rank() == 0 {
            let result = make()?.write(path);
            let failed_before = std::mem::replace(&mut self.failed, result.is_err());
            let path = path.display();
            match result {
                Err(error) if !failed_before => {
                    let why = reason(&error);
                    self.observer.notice(&format!("the state cannot be written to {path}: {why}; the run continues"));
                }
                Ok(()) if failed_before => self.observer.notice(&format!("states can be written to {path} again")),
                _ => {}
            }
            if !self.failed {
                self.written = Some(at.into());
            }
        }
        self.ranks.broadcast(Vec::new());
        self.last = Instant::now();
        Ok(())
    }

    /// True, with a notice, if the last write failed, so that the file does not hold the final state. `at` is the final
    /// position of the run, as in [`save`](Self::save).
    pub fn finish(&self, at: impl Into<String>) -> bool {
        let Some(path) = self.path.filter(|_| self.failed) else { return false };
        let (path, end) = (path.display(), at.into());
        let text = match &self.written {
            Some(at) => format!(
                "{path} is stale: it holds the state at {at}, and the run ended at {end}; no later state could be written"
            ),
            None => format!("no state of this run could be written to {path}"),
        };
        self.observer.notice(&text);
        true
    }
}

/// The cause of a failed write, without the path and the system's error number.
fn reason(error: &Error) -> String {
    let text = match error {
        Error::Io { source, .. } => source.to_string(),
        other => other.to_string(),
    };
    text.split_once(" (os error ").map_or(text.as_str(), |(text, _)| text).to_string()
}
