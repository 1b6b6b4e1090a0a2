//! Ctrl-C and SIGTERM: the first signal requests that the run stops, the second ends the process. So does a watchdog if
//! the run does not stop within the grace period.

use std::{
    io::{self, IsTerminal, Write},
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    thread,
    time::Duration,
};

use firebox_core::atomic;

static REQUESTED: AtomicBool = AtomicBool::new(false);
static QUIET: AtomicBool = AtomicBool::new(false);
static GRACE_MS: AtomicU64 = AtomicU64::new(900);

/// Grace period of a run that writes a state or a document when it is stopped.
const SAVE_GRACE: Duration = Duration::from_secs(10);

/// Installs the signal handler.
pub(crate) fn listen() {
    // Fails if a handler is already installed, which then handles Ctrl-C.
    let _ = ctrlc::set_handler(|| {
        if REQUESTED.swap(true, Ordering::SeqCst) {
            exit();
        }
        if !QUIET.load(Ordering::SeqCst) {
            let _ = writeln!(io::stderr(), "\nstopping as soon as possible; Ctrl-C again to stop at once");
        }
        let watchdog = thread::Builder::new().spawn(|| {
            thread::sleep(Duration::from_millis(GRACE_MS.load(Ordering::SeqCst)));
            let line = if io::stderr().is_terminal() { "\r\x1b[2Kstopped on request" } else { "stopped on request" };
            let _ = writeln!(io::stderr(), "{line}");
            exit();
        });
        if watchdog.is_err() {
            exit();
        }
    });
}

/// Suppresses the notice that the run is about to stop.
pub(crate) fn suppress_notice() {
    QUIET.store(true, Ordering::SeqCst);
}

/// Extends the grace period so that the run can write its state.
pub(crate) fn extend_grace_period() {
    GRACE_MS.store(SAVE_GRACE.as_millis() as u64, Ordering::SeqCst);
}

/// Removes temporary files and exits with code 130.
fn exit() -> ! {
    atomic::abandon();
    std::process::exit(130)
}

/// Requests that the run stops.
pub(crate) fn request() {
    REQUESTED.store(true, Ordering::SeqCst);
}

/// Returns whether a stop was requested.
pub(crate) fn requested() -> bool {
    REQUESTED.load(Ordering::SeqCst)
}
