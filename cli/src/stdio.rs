//! Standard output, with the failures that the standard library hides.

use std::{
    io::{self, BufWriter, Write},
    sync::atomic::{AtomicBool, Ordering},
};

use firebox_core::{Error, Result};

static CLOSED: AtomicBool = AtomicBool::new(false);

/// Notes whether standard output was closed before the program started. The standard library opens `/dev/null` in its
/// place before `main`, and every write would succeed.
#[cfg(unix)]
#[ctor::ctor(unsafe)]
fn look() {
    // Nothing of the standard library's own state is used: it is not set up yet.
    let state = rustix::io::fcntl_getfd(rustix::stdio::stdout());
    CLOSED.store(state == Err(rustix::io::Errno::BADF), Ordering::Relaxed);
}

fn failed(source: io::Error) -> Error {
    Error::Io { action: "write", path: "standard output".into(), source }
}

/// Fails if standard output was closed when the program started.
pub(crate) fn check() -> Result<()> {
    match CLOSED.load(Ordering::Relaxed) {
        true => Err(failed(io::Error::other("it is closed"))),
        false => Ok(()),
    }
}

/// Writes what `fill` produces to standard output.
pub(crate) fn write(fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    check()?;
    let mut out = BufWriter::new(io::stdout().lock());
    fill(&mut out).and_then(|()| out.flush()).map_err(failed)
}

/// Prints the help or the version that `asked` holds, in colour on a terminal.
pub(crate) fn help(asked: &clap::Error) -> Result<()> {
    check()?;
    asked.print().and_then(|()| io::stdout().flush()).map_err(failed)
}
