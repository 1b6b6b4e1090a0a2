//! `firebox bench`: measures the papers' figures, errors of published problems, isolated hot loops, and the growth of cost.

mod cost;
mod kernels;
mod printer;
mod rows;

use std::sync::Arc;

use clap::{ArgMatches, Args, Command, FromArgMatches};
use firebox_backends::Device;
use firebox_core::{Error, Session};

use crate::{
    Program,
    args::{Compute, Format, Verbosity},
    cache,
    failure::Failure,
    interrupt,
    progress::Progress,
};

use self::printer::RowPrinter;

const EXAMPLES: &str = "\
Examples:
  firebox bench kernels --max-points 10000
  firebox bench pde burgers1d wave1d
  firebox bench cost --to 100000 --plot time.svg --plot-memory memory.svg
  firebox bench cost --format json";

#[derive(Debug, Args)]
struct BenchArgs {
    #[command(flatten)]
    compute: Compute,
    /// A table as plain text, or a JSON object per line
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    #[command(flatten)]
    verbosity: Verbosity,
}

/// Returns the command, if any algorithm has a benchmark.
pub(super) fn command(program: &Program) -> Option<Command> {
    let names: Vec<String> = program.benches().map(|(name, _)| name).collect();
    let command = Command::new("bench")
        .about("Measures algorithms: the papers' figures, errors of published problems, isolated hot loops, and the growth of cost")
        .after_long_help(EXAMPLES)
        .subcommand_required(true)
        .arg_required_else_help(true);
    let papers = program.benches().map(|(_, bench)| bench.command());
    let scoreboards = program.scoreboards().map(|(_, scoreboard)| scoreboard.command());
    (!names.is_empty()).then(|| {
        let benches = papers.chain(scoreboards).chain([kernels::command(), cost::command(names)]);
        command.subcommands(benches.map(with_shared_options))
    })
}

/// Adds the options of every bench, which its own subcommands take too.
fn with_shared_options(bench: Command) -> Command {
    let shared = BenchArgs::augment_args(Command::new("shared"));
    bench.args(shared.get_arguments().map(|arg| arg.clone().global(true)))
}

pub(super) fn run(program: &Program, args: &ArgMatches) -> Result<(), Failure> {
    let Some((name, args)) = args.subcommand() else { return Ok(()) };
    cache::configure();
    let BenchArgs { mut compute, format, verbosity } = BenchArgs::from_arg_matches(args)?;
    verbosity.start_logging();
    let device = Device::find(compute.backend, compute.precision)?;
    let progress = Arc::new(Progress::new(verbosity.quiet));
    let session = Session { observer: progress.clone(), ..compute.session() };
    let scoreboard = program.scoreboards().find(|(_, scoreboard)| scoreboard.command().get_name() == name);
    // Rows of these two benchmarks contain the algorithm's name.
    let mut algorithm = Some(name).filter(|name| ![kernels::NAME, cost::NAME].contains(name));
    if let Some((name, scoreboard)) = &scoreboard {
        algorithm = Some(name);
        compute.precision = scoreboard.precision();
    }
    let mut printer = RowPrinter::new(algorithm, &device, &compute, format, &progress);
    let result = if let Some((_, scoreboard)) = &scoreboard {
        scoreboard.run(args, &device, &session, &mut |row| printer.print(&row)).map_err(Failure::from)
    } else {
        match name {
            kernels::NAME => kernels::run(program, args, &device, &session, &mut printer),
            cost::NAME => cost::run(program, args, &device, &session, &mut printer),
            _ => program
                .plugin(name)
                .and_then(|plugin| plugin.bench())
                .map_or(Ok(()), |bench| Ok(bench.run(args, &device, &session, &mut |row| printer.print(&row))?)),
        }
    };
    progress.finish();
    printer.finish()?;
    result?;
    if interrupt::requested() {
        return Err(Error::Cancelled.into());
    }
    Ok(())
}
