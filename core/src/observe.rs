//! The observer of a run: it receives progress and notices, and requests cancellation.

/// Observes a run. Called between batches of work, never in a hot loop.
pub trait Observer: Send + Sync {
    /// Receives progress: `done` of `total` units of `phase`.
    fn progress(&self, phase: &str, done: u64, total: u64) {
        let _ = (phase, done, total);
    }

    /// Receives a notice for the user, such as the choice of another strategy. The run continues.
    fn notice(&self, text: &str) {
        let _ = text;
    }

    /// True if the run should stop at its next checkpoint.
    fn cancelled(&self) -> bool {
        false
    }
}

/// Ignores progress and notices, and never cancels.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Observer for Silent {}
