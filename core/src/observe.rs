//! How a running algorithm speaks to whoever waits for it, and how it is told to stop.

use crate::error::{Error, Result};

/// Watches a run: progress comes in, a wish to stop goes out. Called between batches of work, never in a hot loop.
pub trait Observer: Send + Sync {
    /// `done` of `total` units of `phase` are behind us.
    fn progress(&self, phase: &str, done: u64, total: u64) {
        let _ = (phase, done, total);
    }

    /// Something the person should know though the run goes on, such as a strategy chosen in place of another.
    fn notice(&self, text: &str) {
        let _ = text;
    }

    /// Whether to stop at the next chance.
    fn cancelled(&self) -> bool {
        false
    }
}

/// Watches nothing and never stops anything.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Observer for Silent {}

/// An observer for what ranks do each at its own pace: told of progress, it stops nobody but a process that is alone. Where
/// all come together, all ask ([`Context::checkpoint`](crate::Context::checkpoint)).
pub struct OwnPace<'a> {
    pub(crate) observer: &'a dyn Observer,
    pub(crate) alone: bool,
}

impl Observer for OwnPace<'_> {
    fn progress(&self, phase: &str, done: u64, total: u64) {
        self.observer.progress(phase, done, total);
    }

    fn notice(&self, text: &str) {
        self.observer.notice(text);
    }

    fn cancelled(&self) -> bool {
        self.alone && self.observer.cancelled()
    }
}

/// Reports progress, then fails with [`Error::Cancelled`] if the observer wants the run stopped.
pub fn checkpoint(observer: &dyn Observer, phase: &str, done: u64, total: u64) -> Result<()> {
    observer.progress(phase, done, total);
    if observer.cancelled() { Err(Error::Cancelled) } else { Ok(()) }
}
