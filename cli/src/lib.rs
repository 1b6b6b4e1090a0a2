//! The `firebox` program as a library: give it algorithms, get a program.
//!
//! [`Algorithms`] are those of `firebox` itself. A program of others is one line per algorithm:
//!
//! ```ignore
//! firebox_cli::firebox! {
//!     firebox_ocnn::OcnnPlugin,
//!     my_crate::MyPlugin,
//! }
//! ```
//!
//! Each is a type that implements [`Plugin`] for every backend that is compiled in, and `Default`. The program has
//! a command for each of them, and `backends`, `bench`, `completions`, `generate` and `man`.
//!
//! # Streams and exit codes
//!
//! The result is a table. It goes to standard output as CSV unless `-o` names a file; everything for a person
//! (summary, notices, progress, errors, logs) goes to standard error. With `--format json` the report takes the
//! table's place on standard output. Outputs are checked before the run and written after it, each whole or not at all.
//! Exit codes: 0 done (a reader that closed the pipe included), 1 the run failed or an output could not be written, 2 usage
//! or bad input, 130 stopped.

mod algorithms;
mod args;
mod backends;
mod bench;
mod cache;
mod command;
mod docs;
mod environment;
mod failure;
mod generate;
mod interrupt;
mod job;
mod output;
mod panics;
mod printable;
mod progress;
mod ranks;
mod registry;
mod run;
mod stdio;
mod threads;

use std::{
    io::{self, Write},
    num::NonZero,
    panic::AssertUnwindSafe,
    process::ExitCode,
};

use clap::ArgMatches;

pub use algorithms::Algorithms;
pub use firebox_core::Plugin;
pub use job::Job;
pub use registry::{Listing, Program, Registry};

use failure::Failure;
use ranks::Ranks;

/// What the macros need of other crates.
#[doc(hidden)]
pub mod __private {
    pub use burn::tensor::backend::Backend;
    pub use firebox_backends::{Device, with_backend};
    pub use firebox_core::{Outcome, Result};
}

/// Runs the program on the command line's arguments, from the first line of `main` to its exit code.
pub fn run(program: &dyn Program) -> ExitCode {
    environment::settle();
    panics::silence();
    let ranks = match Ranks::start() {
        Ok(ranks) => ranks,
        Err(error) => {
            let failure = Failure::Known(error);
            failure.show();
            return failure.code().into();
        }
    };
    interrupt::listen();
    let ended = std::panic::catch_unwind(AssertUnwindSafe(|| start(program, &ranks)))
        .unwrap_or_else(|payload| Err(panics::failure(&payload)));
    ranks.end(ended.map_err(panics::explain))
}

fn start(program: &dyn Program, ranks: &Ranks) -> Result<(), Failure> {
    let matches = match command::root(program).try_get_matches() {
        Ok(matches) => matches,
        Err(asked) if asked.use_stderr() => return Err(asked.into()),
        Err(_) if !ranks.is_first() => return Ok(()),
        Err(asked) => return Ok(stdio::help(&asked)?),
    };
    let chosen = deepest(&matches);
    let quiet = !ranks.is_first() || chosen.try_get_one::<bool>("quiet").ok().flatten().is_some_and(|quiet| *quiet);
    if quiet {
        interrupt::be_quiet();
    }
    let threads = chosen.try_get_one::<NonZero<usize>>(command::THREADS).ok().flatten().copied();
    if let Some(notice) = threads::start(threads, ranks.local_size())?.filter(|_| !quiet) {
        let _ = writeln!(io::stderr(), "note: {notice}");
    }
    match matches.subcommand() {
        Some((name, args)) => dispatch(program, name, args, ranks),
        None => Ok(()), // Clap asks for one.
    }
}

/// The arguments of the command that runs.
fn deepest(matches: &ArgMatches) -> &ArgMatches {
    matches.subcommand().map_or(matches, |(_, below)| deepest(below))
}

fn dispatch(program: &dyn Program, name: &str, args: &ArgMatches, ranks: &Ranks) -> Result<(), Failure> {
    let alone = ["backends", "bench", "completions", "generate", "man"];
    if alone.contains(&name) && !ranks.is_first() {
        return Ok(());
    }
    match name {
        "backends" => backends::run(args),
        "bench" => bench::run(program, args),
        "completions" => docs::completions(program, args),
        "generate" => generate::run(args),
        "man" => docs::man(program, args),
        algorithm => run::run(program, algorithm, args, ranks),
    }
}
