//! The command line of a program: one command per algorithm, and those of the program itself.

mod algorithm;
mod backends;
mod bench;
mod completions;
mod generate;
mod man;
mod predict;

use std::num::NonZero;

use clap::{Arg, ArgMatches, Args, Command, value_parser};

use crate::{
    Program,
    args::{Compute, Output, Verbosity},
    failure::Failure,
    ranks::Ranks,
};

const STREAMS: &str = "\
The result is a table. It goes to OUT if -o names one, else to standard output as CSV. A summary goes to standard \
error, so that standard output holds only the table. With --format json the report is printed on standard output \
instead, and the table only goes to OUT.

Outputs are checked before the run and written after it, each whole or not at all; if one cannot be written, the \
others still are.

Exit codes: 0 done, 1 the run failed or an output could not be written, 2 usage or bad input (nothing was computed), \
130 stopped with Ctrl-C.";

/// The last line of the short help.
const ALL_OPTIONS: &str = "These are the common options; --help shows all of them, with examples.";

/// Name of the argument that sets the number of threads.
pub(crate) const THREADS: &str = "threads";

/// Returns the whole command line of a program.
pub(crate) fn root(program: &Program) -> Command {
    let threads = Arg::new(THREADS)
        .long(THREADS)
        .value_name("N")
        .value_parser(value_parser!(NonZero<usize>))
        .global(true)
        .help_heading("Execution")
        .hide_short_help(true)
        .help("Threads that compute on the CPU, at most four for each core [default: one for each core]");
    let root = Command::new(program.name())
        .version(env!("CARGO_PKG_VERSION"))
        .about("Neurocomputing algorithms on CPUs and GPUs, on tables of numbers")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .arg(threads)
        .subcommands(program.plugins().iter().map(|plugin| with_common_args(plugin.command())))
        .subcommand(with_common_args(predict::command()))
        .subcommand(backends::command())
        .subcommand(generate::command())
        .subcommands(bench::command(program))
        .subcommand(completions::command())
        .subcommand(man::command());
    with_negative_numbers(root)
}

/// Takes a negative number after an option for its value, so that it is refused by the option's name; clap would take it for an
/// unknown option.
fn with_negative_numbers(command: Command) -> Command {
    let with = |arg: Arg| match arg.get_long() {
        Some(_) if arg.get_action().takes_values() => arg.allow_negative_numbers(true),
        _ => arg,
    };
    command.mut_args(with).mut_subcommands(with_negative_numbers)
}

/// Adds the arguments common to all algorithms to a command, or to each of its subcommands.
fn with_common_args(command: Command) -> Command {
    if command.has_subcommands() {
        return command.mut_subcommands(with_common_args);
    }
    let mut command = Verbosity::augment_args(Output::augment_args(Compute::augment_args(command)));
    if command.get_name() == predict::NAME {
        // Predictions have no plot; the options are still parsed, so that their refusal explains it.
        command = ["plot", "theme", "size", "title"]
            .into_iter()
            .fold(command, |command, id| command.mut_arg(id, |arg| arg.hide(true)));
    }
    // The plugin's own text comes first.
    let after = command.get_after_long_help().map(|text| format!("{text}\n\n"));
    command.after_help(ALL_OPTIONS).after_long_help(after.unwrap_or_default() + STREAMS)
}

/// Runs the command that `matches` selects: an algorithm on all ranks, any other command on rank 0.
pub(crate) fn run(program: &Program, matches: &ArgMatches, ranks: &Ranks) -> Result<(), Failure> {
    let Some((name, args)) = matches.subcommand() else { return Ok(()) }; // Clap requires a subcommand.
    if let Some(plugin) = program.plugin(name) {
        return algorithm::run(name, plugin, args, ranks);
    }
    if name == predict::NAME {
        return predict::run(program, args, ranks);
    }
    match name {
        _ if !ranks.is_root() => Ok(()),
        "backends" => backends::run(args),
        "bench" => bench::run(program, args),
        "completions" => completions::run(root(program), args),
        "generate" => generate::run(args),
        "man" => man::run(root(program), args),
        _ => Ok(()), // Clap accepts known names only.
    }
}
