//! Writing states on the way, without ever ending the run that they are of.

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use burn::tensor::backend::Backend;

use super::{Checkpoint, Checkpoints};
use crate::{Communicator, Context, Error, Observer, Result};

/// Writes a run's states to its file. A write that fails gives a notice and leaves the previous state in place; later
/// ones are still tried, and [`finish`](Self::finish) says whether the file is behind the run at its end.
pub struct Keeper<'a> {
    path: Option<&'a Path>,
    every: Duration,
    last: Instant,
    /// Where the run was when the state in the file was written.
    written: Option<String>,
    /// Whether the last write failed.
    failed: bool,
    observer: Arc<dyn Observer>,
    ranks: Arc<dyn Communicator>,
}

impl<'a> Keeper<'a> {
    /// A keeper of states at `checkpoints`, the first due after one interval.
    pub fn new<B: Backend>(checkpoints: &'a Checkpoints, context: &Context<B>) -> Self {
        Self {
            path: checkpoints.file.as_deref(),
            every: Duration::try_from_secs_f64(checkpoints.every).unwrap_or(Duration::MAX),
            last: Instant::now(),
            written: None,
            failed: false,
            observer: context.observer.clone(),
            ranks: context.communicator.clone(),
        }
    }

    /// Whether states are kept at all.
    pub fn is_on(&self) -> bool {
        self.path.is_some()
    }

    /// Whether the interval since the last state has passed on this rank; ranks that share a run must agree on it.
    pub fn is_due(&self) -> bool {
        self.is_on() && self.last.elapsed() >= self.every
    }

    /// Writes the state that `make` returns; `at` says where the run is, such as `iteration 12`. Rank 0 alone makes and
    /// writes it, and the others wait, since a rank that ended the job meanwhile would end the writer.
    ///
    /// Fails as `make` does. A state that cannot be written is no failure.
    pub fn save(&mut self, at: impl Into<String>, make: impl FnOnce() -> Result<Checkpoint>) -> Result<()> {
        let Some(path) = self.path else { return Ok(()) };
        if self.ranks.rank() == 0 {
            let state = make()?;
            match state.write(path) {
                Ok(()) => {
                    if self.failed {
                        self.observer.notice(&format!("states can be written to {} again", path.display()));
                    }
                    (self.failed, self.written) = (false, Some(at.into()));
                }
                Err(error) => {
                    if !self.failed {
                        let (path, why) = (path.display(), reason(&error));
                        let text = format!("the state cannot be written to {path}: {why}; the run continues");
                        self.observer.notice(&text);
                    }
                    self.failed = true;
                }
            }
        }
        self.ranks.broadcast(Vec::new());
        self.last = Instant::now();
        Ok(())
    }

    /// Whether the last state could not be written, so that the file does not hold where the run ended; gives a notice
    /// if so. `at` is where the run ended, in the words of [`save`](Self::save).
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

/// Why a state could not be written, without what the notice says anyway.
fn reason(error: &Error) -> String {
    let text = match error {
        Error::Io { source, .. } => source.to_string(),
        other => other.to_string(),
    };
    match text.split_once(" (os error ") {
        Some((text, _)) => text.into(),
        None => text,
    }
}
