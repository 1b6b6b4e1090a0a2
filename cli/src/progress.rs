//! Progress, notices and the wish to stop, between a run and the terminal.

use std::{
    io::Write,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use firebox_core::Observer;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::interrupt;

/// A bar on standard error that only a run of more than a second gets to show, and only on a terminal.
pub(crate) struct Progress {
    quiet: bool,
    start: Instant,
    state: Mutex<State>,
    bar: ProgressBar,
}

#[derive(Default)]
struct State {
    phase: Option<String>,
    shown: bool,
}

const PATIENCE: Duration = Duration::from_secs(1);
const TICK: Duration = Duration::from_millis(200);
const TEMPLATE: &str = "{msg} {wide_bar} {pos}/{len}  {elapsed_precise}  ETA {eta}";

impl Progress {
    pub(crate) fn new(quiet: bool) -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        bar.set_style(ProgressStyle::with_template(TEMPLATE).unwrap_or_else(|_| ProgressStyle::default_bar()));
        Self { quiet, start: Instant::now(), state: Mutex::default(), bar }
    }

    /// Does `work`, such as printing, with the bar out of the way.
    pub(crate) fn aside<T>(&self, work: impl FnOnce() -> T) -> T {
        self.bar.suspend(work)
    }

    /// Removes the bar.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

impl Drop for Progress {
    /// No bar is left standing, not even after a panic.
    fn drop(&mut self) {
        self.finish();
    }
}

impl Observer for Progress {
    fn progress(&self, phase: &str, done: u64, total: u64) {
        tracing::trace!(phase, done, total);
        if self.quiet {
            return;
        }
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.phase.as_deref() != Some(phase) {
            self.bar.reset();
            self.bar.set_message(phase.to_string());
            state.phase = Some(phase.to_string());
        }
        // The bar counts from the start, so that it knows the pace once it is seen.
        self.bar.set_length(total);
        self.bar.set_position(done);
        if !state.shown && self.start.elapsed() >= PATIENCE {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
            self.bar.enable_steady_tick(TICK);
            state.shown = true;
        }
    }

    fn notice(&self, text: &str) {
        if !self.quiet {
            self.aside(|| {
                let _ = writeln!(std::io::stderr(), "note: {text}");
            });
        }
    }

    fn cancelled(&self) -> bool {
        interrupt::requested()
    }
}
