//! The command line: one command per algorithm, and those of the program itself.

use std::num::NonZero;

use clap::{Arg, Args, Command, value_parser};

use crate::{
    Program,
    args::{Compute, Output, Verbosity},
    commands::{backends, bench, docs, generate},
};

const STREAMS: &str = "\
The result is a table. It goes to OUT if -o names one, else to standard output as CSV. A summary goes to standard \
error, so that standard output holds only the table. With --format json the report is printed on standard output \
instead, and the table only goes to OUT.

Outputs are checked before the run and written after it, each whole or not at all; if one cannot be written, the \
others still are.

Exit codes: 0 done, 1 the run failed or an output could not be written, 2 usage or bad input (nothing was computed), \
130 stopped with Ctrl-C.";

/// Name of the argument that sets the number of threads.
pub(crate) const THREADS: &str = "threads";

fn threads() -> Arg {
    Arg::new(THREADS)
        .long(THREADS)
        .value_name("N")
        .value_parser(value_parser!(NonZero<usize>))
        .global(true)
        .help_heading("Execution")
        .help("Threads that compute on the CPU, at most four for each core; by default one for each core")
}

/// Returns the whole command line of a program.
pub(crate) fn root(program: &Program) -> Command {
    let plugins = program.plugins();
    let algorithms = plugins.iter().map(|plugin| with_common_args(plugin.command()));
    Command::new(program.name())
        .version(env!("CARGO_PKG_VERSION"))
        .about("Neurocomputing algorithms on CPUs and GPUs, on tables of numbers")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .arg(threads())
        .subcommands(algorithms)
        .subcommand(backends::command())
        .subcommand(generate::command())
        .subcommands(bench::command(plugins))
        .subcommand(docs::completions_command())
        .subcommand(docs::man_command())
}

/// Adds the arguments common to all algorithms to a command, or to each of its subcommands.
fn with_common_args(command: Command) -> Command {
    if command.has_subcommands() { command.mut_subcommands(add_common_args) } else { add_common_args(command) }
}

fn add_common_args(command: Command) -> Command {
    let command = Verbosity::augment_args(Output::augment_args(Compute::augment_args(command)));
    // The plugin's own text comes first.
    let after = command.get_after_long_help().map(|text| format!("{text}\n\n"));
    command.after_long_help(after.unwrap_or_default() + STREAMS)
}
