//! Ctrl-C: the first asks the run to stop, the second ends the program.

use std::{
    io::Write,
    sync::atomic::{AtomicBool, Ordering},
};

static REQUESTED: AtomicBool = AtomicBool::new(false);

/// From now on Ctrl-C asks the run to stop.
pub(crate) fn listen(quiet: bool) {
    // It fails if there is a handler already; Ctrl-C is in other hands then.
    let _ = ctrlc::set_handler(move || {
        if REQUESTED.swap(true, Ordering::SeqCst) {
            std::process::exit(130);
        }
        if !quiet {
            let _ = writeln!(std::io::stderr(), "\nstopping as soon as possible; Ctrl-C again to stop at once");
        }
    });
}

/// Asks the run to stop.
pub(crate) fn request() {
    REQUESTED.store(true, Ordering::SeqCst);
}

/// Whether the run was asked to stop.
pub(crate) fn requested() -> bool {
    REQUESTED.load(Ordering::SeqCst)
}
