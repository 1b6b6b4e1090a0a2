//! Progress, notices and the wish to stop, between a run and the terminal.

use std::{
    io::{self, IsTerminal, Write},
    sync::{
        Mutex, PoisonError,
        mpsc::{self, RecvTimeoutError, Sender},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use firebox_core::Observer;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::{interrupt, printable};

/// A bar on standard error that only a run of more than a second gets to show, and only on a terminal. Until a run
/// says how far it is, all there is to be seen is that time passes.
pub(crate) struct Progress {
    quiet: bool,
    phase: Mutex<Option<String>>,
    bar: ProgressBar,
    /// Shows the bar when its time has come, whatever long call the run is in; ends when the sender is dropped.
    reveal: Mutex<Option<(Sender<()>, JoinHandle<()>)>>,
}

const PATIENCE: Duration = Duration::from_secs(1);
const TICK: Duration = Duration::from_millis(200);
const WAITING: &str = "{spinner} {msg} {elapsed_precise}";
const COUNTING: &str = "{msg} {wide_bar} {pos}/{len}  {elapsed_precise}  ETA {eta}";

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

impl Progress {
    pub(crate) fn new(quiet: bool) -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        bar.set_style(style(WAITING));
        let seen = !quiet && io::stderr().is_terminal();
        let reveal = seen.then(|| {
            let (sender, ended) = mpsc::channel();
            let bar = bar.clone();
            let thread = thread::spawn(move || {
                if ended.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                    bar.set_draw_target(ProgressDrawTarget::stderr());
                    bar.enable_steady_tick(TICK);
                }
            });
            (sender, thread)
        });
        Self { quiet, phase: Mutex::default(), bar, reveal: Mutex::new(reveal) }
    }

    /// Does `work`, such as printing, with the bar out of the way.
    pub(crate) fn aside<T>(&self, work: impl FnOnce() -> T) -> T {
        self.bar.suspend(work)
    }

    /// Removes the bar.
    pub(crate) fn finish(&self) {
        let reveal = self.reveal.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some((sender, thread)) = reveal {
            drop(sender);
            // So that it shows nothing any more.
            let _ = thread.join();
        }
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
        let mut known = self.phase.lock().unwrap_or_else(PoisonError::into_inner);
        if known.as_deref() != Some(phase) {
            self.bar.reset();
            self.bar.set_message(printable::line(phase));
            *known = Some(phase.to_string());
        }
        // The bar counts from the start, so that it knows the pace once it is seen.
        self.bar.set_length(total);
        self.bar.set_position(done);
        self.bar.set_style(style(if total > 1 { COUNTING } else { WAITING }));
    }

    fn notice(&self, text: &str) {
        if !self.quiet {
            self.aside(|| {
                let _ = writeln!(io::stderr(), "note: {}", printable::line(text));
            });
        }
    }

    fn cancelled(&self) -> bool {
        interrupt::requested()
    }
}
