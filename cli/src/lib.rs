//! The `firebox` program as a library, which makes a program of any set of algorithms.
//!
//! [`Program::firebox`] is `firebox` itself. Another program takes one line per algorithm:
//!
//! ```ignore
//! fn main() -> ExitCode {
//!     let plugins: Vec<Box<dyn Plugin>> = vec![Box::new(firebox_ocnn::OcnnPlugin), Box::new(my_crate::MyPlugin)];
//!     firebox_cli::run(&Program::new("mine", plugins))
//! }
//! ```
//!
//! The program has a command for each algorithm, and `backends`, `bench`, `completions`, `generate` and `man`.
//!
//! # Streams and exit codes
//!
//! The result is a table. It goes to standard output as CSV unless `-o` names a file; summary, notices, progress,
//! errors and logs go to standard error. With `--format json` the report replaces the table on standard output. Outputs
//! are checked before the run and written after it, each whole or not at all. Exit codes: 0 done (even if the reader of
//! standard output closed the pipe), 1 the run failed or an output could not be written, 2 usage or bad input, 3 the
//! outputs were written and the result falls short of what was asked for, 130 stopped.

mod args;
#[cfg(feature = "cube")]
mod cache;
#[cfg(not(feature = "cube"))]
mod cache {
    /// Without kernels there is nothing to cache.
    pub(crate) fn configure() {}
}
mod commands;
mod environment;
mod failure;
mod flags;
mod interrupt;
mod output;
mod panics;
mod preview;
mod printable;
mod program;
mod progress;
mod ranks;
mod stdio;
mod threads;

use std::{
    ffi::OsString,
    io::{self, Write},
    num::NonZero,
    panic::AssertUnwindSafe,
    process::ExitCode,
};

use clap::{
    ArgMatches,
    error::{ContextKind, ContextValue},
};

pub use firebox_backends::Plugin;
pub use program::Program;

use failure::Failure;
use ranks::Ranks;

/// Runs the program with the arguments of the command line and returns its exit code. Must be called first in `main`.
pub fn run(program: &Program) -> ExitCode {
    environment::configure();
    panics::install_hook();
    let ranks = match Ranks::start() {
        Ok(ranks) => ranks,
        Err(error) => {
            let failure = Failure::Reported(error);
            failure.show();
            return failure.code().into();
        }
    };
    interrupt::listen();
    let result = std::panic::catch_unwind(AssertUnwindSafe(|| start(program, &ranks)))
        .unwrap_or_else(|payload| Err(panics::failure(&payload)));
    ranks.exit(result.map_err(panics::with_first_panic))
}

fn start(program: &Program, ranks: &Ranks) -> Result<(), Failure> {
    let mut root = commands::root(program);
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let matches = match root.try_get_matches_from_mut(&arguments) {
        Ok(matches) => matches,
        Err(error) if error.use_stderr() => return Err(absence(program, &error).unwrap_or_else(|| error.into())),
        Err(_) if !ranks.is_root() => return Ok(()),
        Err(help) => return Ok(stdio::print_help(&help)?),
    };
    flags::register(&root, &matches);
    let selected = innermost(&matches);
    let quiet = !ranks.is_root() || selected.try_get_one::<bool>("quiet").ok().flatten().is_some_and(|quiet| *quiet);
    if quiet {
        interrupt::suppress_notice();
    }
    if let Some(notice) = flags::renamed(&root, &matches, &arguments).filter(|_| !quiet) {
        let _ = writeln!(io::stderr(), "note: {}", printable::line(&notice));
    }
    let threads = selected.try_get_one::<NonZero<usize>>(commands::THREADS).ok().flatten().copied();
    if let Some(notice) = threads::start(threads, ranks.local_size())?.filter(|_| !quiet) {
        let _ = writeln!(io::stderr(), "note: {notice}");
    }
    commands::run(program, &matches, ranks)
}

/// Returns the failure that a command line has because the program was built without one of its algorithms.
fn absence(program: &Program, error: &clap::Error) -> Option<Failure> {
    match error.get(ContextKind::InvalidSubcommand)? {
        ContextValue::String(name) => program.absence(name).map(Failure::Reported),
        _ => None,
    }
}

/// Returns the arguments of the innermost subcommand.
fn innermost(matches: &ArgMatches) -> &ArgMatches {
    matches.subcommand().map_or(matches, |(_, inner)| innermost(inner))
}
