//! `firebox bench`: measures the papers' figures, isolated hot loops, and the growth of cost.

mod cost;
mod kernels;
mod papers;
mod row;

use std::sync::Arc;

use clap::{ArgMatches, Args, Command, FromArgMatches};
use firebox_backends::{
    Device, Plugin,
    bench::{cost as cost_bench, kernels as kernel_bench},
    plugin::Bench,
};
use firebox_core::{Error, Session};
use serde::Serialize;

use crate::{
    Program,
    args::{Compute, Format, Verbosity},
    cache,
    failure::Failure,
    interrupt,
    progress::Progress,
    stdio,
};

use self::row::Row;

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
pub(crate) fn command(plugins: &[Box<dyn Plugin>]) -> Option<Command> {
    let measured: Vec<&dyn Plugin> =
        plugins.iter().map(|plugin| &**plugin).filter(|plugin| plugin.bench().is_some()).collect();
    let names = measured.iter().map(|plugin| plugin.command().get_name().to_owned()).collect();
    let papers = measured.iter().filter_map(|plugin| plugin.bench()).map(|bench| bench.command());
    let common = [kernels::command(), cost::command(names)];
    let benches: Vec<Command> = papers.chain(common).map(BenchArgs::augment_args).collect();
    let command = Command::new("bench")
        .about("Measures algorithms: the papers' figures, isolated hot loops, and the growth of cost")
        .subcommand_required(true)
        .arg_required_else_help(true);
    (!measured.is_empty()).then(|| command.subcommands(benches))
}

pub(crate) fn run(program: &Program, args: &ArgMatches) -> Result<(), Failure> {
    let Some((name, args)) = args.subcommand() else { return Ok(()) };
    cache::configure();
    let BenchArgs { compute, format, verbosity } = BenchArgs::from_arg_matches(args)?;
    verbosity.start_logging();
    let device = Device::find(compute.backend, compute.precision)?;
    let progress = Arc::new(Progress::new(verbosity.quiet));
    let mut printer = RowPrinter {
        name,
        device: &device,
        device_name: device.limits().device,
        compute: &compute,
        format,
        progress: &progress,
        result: Ok(()),
        needs_header: true,
    };
    let session = Session { observer: progress.clone(), ..compute.session() };
    let mut curves = cost::Curves::default();
    let result: firebox_core::Result<()> = match name {
        kernels::NAME => {
            let choice = kernels::choice(args, &device, &*progress)?;
            let all = benches(program).map(|(name, bench)| (name, bench.kernels(&device, &session)));
            kernel_bench::measure(&all.collect::<Vec<_>>(), &choice, &device, &session, &mut |row| printer.print(&row))
        }
        cost::NAME => {
            let selection = cost::selection(args)?;
            curves.set_paths(args)?;
            let selected = |name: &String| selection.algorithms.is_empty() || selection.algorithms.contains(name);
            let all = benches(program).filter(|(name, _)| selected(name));
            let all: Vec<_> = all.map(|(name, bench)| (name, bench.growth(&device, &session))).collect();
            cost_bench::measure(&all, &selection.range, &device, &session, &mut |row| printer.print(curves.add(row)))
        }
        _ => match program.plugin(name).and_then(|plugin| plugin.bench()) {
            Some(bench) => bench.run(args, &device, &session, &mut |row| printer.print(&row)),
            None => Ok(()), // Clap accepts known names only.
        },
    };
    progress.finish();
    printer.result?;
    result?;
    if interrupt::requested() {
        return Err(Error::Cancelled.into());
    }
    Ok(curves.write()?)
}

/// Returns the algorithms that have benchmarks, with their names.
fn benches(program: &Program) -> impl Iterator<Item = (String, &dyn Bench)> {
    program.plugins().iter().filter_map(|plugin| Some((plugin.command().get_name().to_owned(), plugin.bench()?)))
}

/// A row with the version, device and settings of its measurement.
#[derive(Serialize)]
struct Line<'a, R> {
    #[serde(skip_serializing_if = "Option::is_none")]
    algorithm: Option<&'a str>,
    version: &'a str,
    backend: &'a str,
    device: &'a str,
    precision: String,
    seed: u64,
    #[serde(flatten)]
    row: &'a R,
}

/// Writes rows to standard output as they are measured.
struct RowPrinter<'a> {
    name: &'a str,
    device: &'a Device,
    device_name: String,
    compute: &'a Compute,
    format: Format,
    progress: &'a Progress,
    result: Result<(), Error>,
    needs_header: bool,
}

impl RowPrinter<'_> {
    /// Prints a row. The first row is preceded by the header, so that a refused benchmark prints nothing.
    fn print<R: Row>(&mut self, row: &R) {
        let Self { device, compute, .. } = self;
        let (backend, name) = (device.backend(), self.device_name.as_str());
        let precision = compute.precision.to_string();
        if self.result.is_ok() {
            self.result = self.progress.suspend(|| {
                stdio::write(|out| match self.format {
                    Format::Human => {
                        if std::mem::take(&mut self.needs_header) {
                            writeln!(out, "{backend} ({name}), {precision}, seed {}", compute.seed)?;
                            R::header(out)?;
                        }
                        row.text(out)
                    }
                    Format::Json => {
                        let algorithm = R::algorithm(self.name);
                        let version = env!("CARGO_PKG_VERSION");
                        let line =
                            Line { algorithm, version, backend, device: name, precision, seed: compute.seed, row };
                        Ok(writeln!(out, "{}", serde_json::to_string(&line)?)?)
                    }
                })
            });
        }
        if self.result.is_err() {
            interrupt::request(); // The reader has closed the pipe.
        }
    }
}
