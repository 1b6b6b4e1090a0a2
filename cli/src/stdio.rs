//! Standard output, including failures that the standard library hides.

use std::{
    io::{self, BufWriter, Write},
    sync::atomic::{AtomicBool, Ordering},
};

use firebox_core::{Error, Result};

static STDOUT_CLOSED: AtomicBool = AtomicBool::new(false);

/// Records whether standard output was closed when the program started. The standard library replaces it by `/dev/null`
/// before `main`, so that writes would succeed.
#[cfg(unix)]
#[ctor::ctor(unsafe)]
fn detect_closed_stdout() {
    // Runs before the standard library is initialised, hence the direct system call.
    let flags = rustix::io::fcntl_getfd(rustix::stdio::stdout());
    STDOUT_CLOSED.store(flags == Err(rustix::io::Errno::BADF), Ordering::Relaxed);
}

fn write_error(source: io::Error) -> Error {
    Error::Io { action: "write", path: "standard output".into(), source }
}

/// Fails if standard output was closed when the program started.
pub(crate) fn check() -> Result<()> {
    match STDOUT_CLOSED.load(Ordering::Relaxed) {
        true => Err(write_error(io::Error::other("it is closed"))),
        false => Ok(()),
    }
}

/// Writes what `fill` produces to standard output.
pub(crate) fn write(fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    check()?;
    let mut out = BufWriter::new(io::stdout().lock());
    fill(&mut out).and_then(|()| out.flush()).map_err(write_error)
}

/// Prints the help or version text in `help`, in colour on a terminal.
pub(crate) fn print_help(help: &clap::Error) -> Result<()> {
    check()?;
    help.print().and_then(|()| io::stdout().flush()).map_err(write_error)
}
