//! Observer of a run: progress and notices on the terminal, stop requests from signals.

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

/// Progress bar on standard error, shown on terminals only and after [`REVEAL_DELAY`]. Shows the elapsed time until the
/// run reports progress.
pub(crate) struct Progress {
    quiet: bool,
    phase: Mutex<Option<String>>,
    bar: ProgressBar,
    /// Thread that shows the bar after the delay, even during a long call. Dropping the sender ends it.
    reveal: Mutex<Option<(Sender<()>, JoinHandle<()>)>>,
}

const REVEAL_DELAY: Duration = Duration::from_secs(1);
const TICK_INTERVAL: Duration = Duration::from_millis(200);
const SPINNER: &str = "{spinner} {msg} {elapsed_precise}";
const COUNTER: &str = "{msg} {wide_bar} {pos}/{len}  {elapsed_precise}  ETA {eta}";

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

impl Progress {
    pub(crate) fn new(quiet: bool) -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        bar.set_style(style(SPINNER));
        let visible = !quiet && io::stderr().is_terminal();
        let reveal = visible.then(|| {
            let (sender, receiver) = mpsc::channel();
            let bar = bar.clone();
            let thread = thread::spawn(move || {
                if receiver.recv_timeout(REVEAL_DELAY) == Err(RecvTimeoutError::Timeout) {
                    bar.set_draw_target(ProgressDrawTarget::stderr());
                    bar.enable_steady_tick(TICK_INTERVAL);
                }
            });
            (sender, thread)
        });
        Self { quiet, phase: Mutex::default(), bar, reveal: Mutex::new(reveal) }
    }

    /// Hides the bar while `print` writes to the terminal.
    pub(crate) fn suspend<T>(&self, print: impl FnOnce() -> T) -> T {
        self.bar.suspend(print)
    }

    /// Removes the bar.
    pub(crate) fn finish(&self) {
        let reveal = self.reveal.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some((sender, thread)) = reveal {
            drop(sender);
            let _ = thread.join(); // It cannot show the bar any more.
        }
        self.bar.finish_and_clear();
    }
}

impl Drop for Progress {
    /// Removes the bar, also after a panic.
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
        let mut current = self.phase.lock().unwrap_or_else(PoisonError::into_inner);
        if current.as_deref() != Some(phase) {
            self.bar.reset();
            self.bar.set_message(printable::line(phase));
            *current = Some(phase.to_string());
        }
        // The hidden bar counts too, so that its rate is known once it is shown.
        self.bar.set_length(total);
        self.bar.set_position(done);
        self.bar.set_style(style(if total > 1 { COUNTER } else { SPINNER }));
    }

    fn notice(&self, text: &str) {
        if !self.quiet {
            self.suspend(|| {
                let _ = writeln!(io::stderr(), "note: {}", printable::line(text));
            });
        }
    }

    fn cancelled(&self) -> bool {
        interrupt::requested()
    }
}
