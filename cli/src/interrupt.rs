//! Ctrl-C and SIGTERM: the first asks the run to stop, the second ends the program. A run that does not stop in time is
//! ended, whatever it is doing.

use std::{
    io::{self, IsTerminal, Write},
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    thread,
    time::Duration,
};

use firebox_core::data::atomic;

static REQUESTED: AtomicBool = AtomicBool::new(false);
static QUIET: AtomicBool = AtomicBool::new(false);
static PATIENCE_MS: AtomicU64 = AtomicU64::new(900);

/// How long a run may take to stop if it writes a state or a model then.
const SAVING: Duration = Duration::from_secs(10);

/// From now on Ctrl-C asks the run to stop.
pub(crate) fn listen() {
    // It fails if there is a handler already, whose task Ctrl-C is then.
    let _ = ctrlc::set_handler(|| {
        if REQUESTED.swap(true, Ordering::SeqCst) {
            end();
        }
        if !QUIET.load(Ordering::SeqCst) {
            let _ = writeln!(io::stderr(), "\nstopping as soon as possible; Ctrl-C again to stop at once");
        }
        let watch = thread::Builder::new().spawn(|| {
            thread::sleep(Duration::from_millis(PATIENCE_MS.load(Ordering::SeqCst)));
            let line = if io::stderr().is_terminal() { "\r\x1b[2Kstopped on request" } else { "stopped on request" };
            let _ = writeln!(io::stderr(), "{line}");
            end();
        });
        if watch.is_err() {
            end();
        }
    });
}

/// Without the notice that the run is about to stop.
pub(crate) fn be_quiet() {
    QUIET.store(true, Ordering::SeqCst);
}

/// Gives the run time to write what it keeps when it is stopped.
pub(crate) fn wait_for_state() {
    PATIENCE_MS.store(SAVING.as_millis() as u64, Ordering::SeqCst);
}

/// Ends the program without a trace of unfinished files.
fn end() -> ! {
    atomic::abandon();
    std::process::exit(130)
}

/// Asks the run to stop.
pub(crate) fn request() {
    REQUESTED.store(true, Ordering::SeqCst);
}

/// Whether the run was asked to stop.
pub(crate) fn requested() -> bool {
    REQUESTED.load(Ordering::SeqCst)
}
