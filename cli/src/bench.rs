//! `firebox bench <algorithm>`: the papers' figures, measured here.

use std::{io::Write, sync::Arc};

use clap::{ArgMatches, Args, Command, FromArgMatches};
use firebox_backends::Device;
use firebox_core::{Error, plugin::BenchRow};
use serde::Serialize;

use crate::{
    Program,
    args::{Compute, Format, Voice},
    cache,
    command::Plugins,
    failure::Failure,
    interrupt,
    job::{Job, Work},
    output,
    progress::Progress,
};

#[derive(Debug, Args)]
struct BenchArgs {
    #[command(flatten)]
    compute: Compute,
    /// A table for a person, or a JSON object a line
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    #[command(flatten)]
    voice: Voice,
}

/// A row with where it was measured.
#[derive(Serialize)]
struct Line<'a> {
    algorithm: &'a str,
    version: &'a str,
    backend: &'a str,
    device: &'a str,
    precision: String,
    seed: u64,
    #[serde(flatten)]
    row: &'a BenchRow,
}

/// The command, if any of the plugins has a benchmark.
pub(crate) fn command(plugins: &Plugins) -> Option<Command> {
    let benches: Vec<Command> = plugins
        .iter()
        .filter_map(|plugin| plugin.bench())
        .map(|bench| BenchArgs::augment_args(bench.command()))
        .collect();
    let command = Command::new("bench")
        .about("Measures an algorithm as its paper did, beside the paper's figures")
        .subcommand_required(true)
        .arg_required_else_help(true);
    (!benches.is_empty()).then(|| command.subcommands(benches))
}

pub(crate) fn run(program: &dyn Program, args: &ArgMatches) -> Result<(), Failure> {
    let Some((name, args)) = args.subcommand() else { return Ok(()) };
    cache::configure();
    let BenchArgs { compute, format, voice } = BenchArgs::from_arg_matches(args)?;
    voice.start();
    let device = Device::find(compute.backend, compute.precision)?;
    let limits = device.limits();
    interrupt::listen(voice.quiet);
    let progress = Arc::new(Progress::new(voice.quiet));

    // The head comes with the first row, so that a bench that is refused prints nothing.
    let (mut printed, mut headless) = (Ok(()), true);
    let mut print = |row: BenchRow| {
        let line = Line {
            algorithm: name,
            version: env!("CARGO_PKG_VERSION"),
            backend: device.backend(),
            device: &limits.device,
            precision: compute.precision.to_string(),
            seed: compute.seed,
            row: &row,
        };
        if printed.is_ok() {
            printed = progress.aside(|| {
                output::stdout(|out| match format {
                    Format::Human => {
                        if std::mem::take(&mut headless) {
                            head(&device, &limits.device, &compute, out)?;
                        }
                        human(&row, out)
                    }
                    Format::Json => Ok(writeln!(out, "{}", serde_json::to_string(&line)?)?),
                })
            });
        }
        if printed.is_err() {
            interrupt::request(); // Nobody is reading any more.
        }
    };
    let job = Job { plugin: name, args, compute: &compute, observer: progress.clone(), work: Work::Bench(&mut print) };
    let done = program.dispatch(&device, job);
    progress.finish();
    printed?;
    done?;
    if interrupt::requested() { Err(Error::Cancelled.into()) } else { Ok(()) }
}

fn head(device: &Device, name: &str, compute: &Compute, out: &mut dyn Write) -> std::io::Result<()> {
    writeln!(out, "{} ({name}), {}, seed {}", device.backend(), compute.precision, compute.seed)?;
    let [table, case, size, ms, paper, times] = ["table", "case", "size", "ms", "paper ms", "faster"];
    writeln!(out, "{table:<10} {case:<36} {size:<16} {ms:>12} {paper:>12} {times:>8}")
}

fn human(row: &BenchRow, out: &mut dyn Write) -> std::io::Result<()> {
    let size = row.size.iter().map(ToString::to_string).collect::<Vec<_>>().join(" × ");
    let paper = row.paper_ms.map_or_else(String::new, milliseconds);
    let times =
        row.paper_ms.filter(|_| row.ms > 0.0).map_or_else(String::new, |paper| format!("{:.1}×", paper / row.ms));
    let ms = milliseconds(row.ms);
    writeln!(out, "{:<10} {:<36} {size:<16} {ms:>12} {paper:>12} {times:>8}", row.table, row.case)
}

/// Four digits that count, or all of those before the point.
fn milliseconds(ms: f64) -> String {
    let digits = if ms > 0.0 { (3 - ms.log10().floor() as i32).clamp(0, 6) } else { 0 };
    format!("{ms:.*}", digits as usize)
}

#[cfg(test)]
mod tests {
    use super::milliseconds;

    #[test]
    fn four_digits_count() {
        for (ms, text) in [(0.0, "0"), (0.00842, "0.008420"), (1.0, "1.000"), (12.345, "12.35"), (123_456.7, "123457")]
        {
            assert_eq!(milliseconds(ms), text);
        }
    }
}
