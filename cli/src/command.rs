//! The command line: a command for each algorithm, and those of the program itself.

use std::num::NonZero;

use clap::{Arg, Args, Command, value_parser};

use crate::{
    Listing, Program,
    args::{Compute, Output, Voice},
    backends, bench, docs, generate,
};

const STREAMS: &str = "\
The result is a table. It goes to OUT if -o names one, else to standard output as CSV. A summary for a person goes to \
standard error, so that standard output stays a clean table. With --format json the report is printed on standard \
output instead, and the table only goes to OUT.

Outputs are checked before the run and written after it, each whole or not at all; if one cannot be written, the others \
still are.

Exit codes: 0 done, 1 the run failed or an output could not be written, 2 usage or bad input (nothing was computed), 130 \
stopped with Ctrl-C.";

/// The name of the argument that sets the number of threads.
pub(crate) const THREADS: &str = "threads";

fn threads() -> Arg {
    Arg::new(THREADS)
        .long(THREADS)
        .value_name("N")
        .value_parser(value_parser!(NonZero<usize>))
        .global(true)
        .help_heading("Where it runs")
        .help("Threads that compute on the CPU, at most four for each core; by default one for each core")
}

/// The whole command line of `program`.
pub(crate) fn root(program: &dyn Program) -> Command {
    let plugins = program.listing();
    let algorithms = plugins.iter().map(|plugin| algorithm(plugin.command()));
    Command::new(program.name())
        .version(env!("CARGO_PKG_VERSION"))
        .about("Neurocomputing algorithms on CPUs and GPUs, on tables of numbers")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .arg(threads())
        .subcommands(algorithms)
        .subcommand(backends::command())
        .subcommand(generate::command())
        .subcommands(bench::command(&plugins))
        .subcommand(docs::completions_command())
        .subcommand(docs::man_command())
}

/// An algorithm's command, or each of its subcommands, with the arguments that every algorithm has.
fn algorithm(command: Command) -> Command {
    if command.has_subcommands() { command.mut_subcommands(runnable) } else { runnable(command) }
}

fn runnable(command: Command) -> Command {
    let command = Voice::augment_args(Output::augment_args(Compute::augment_args(command)));
    // What a plugin says there stays, and comes first.
    let after = command.get_after_long_help().map(|own| format!("{own}\n\n"));
    command.after_long_help(after.unwrap_or_default() + STREAMS)
}

/// The plugins of a program, as they are listed.
pub(crate) type Plugins = Vec<Box<dyn firebox_core::Plugin<Listing>>>;
