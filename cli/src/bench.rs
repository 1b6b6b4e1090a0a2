//! `firebox bench`: the papers' figures, hot loops by themselves, and how cost grows, measured here.

mod cost;
mod kernels;
mod papers;

use std::{io::Write, sync::Arc};

use clap::{ArgMatches, Args, Command, FromArgMatches};
use firebox_backends::Device;
use firebox_core::{Error, Sharers, Solo};
use serde::Serialize;

use crate::{
    Program,
    args::{Compute, Format, Voice},
    cache,
    command::Plugins,
    failure::Failure,
    interrupt,
    job::{Job, Work},
    progress::Progress,
    stdio,
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

/// The command, if any of the plugins has something to measure.
pub(crate) fn command(plugins: &Plugins) -> Option<Command> {
    let papers = plugins.iter().filter_map(|plugin| plugin.bench()).map(|bench| bench.command());
    let benches: Vec<Command> =
        papers.chain(kernels::command(plugins)).chain(cost::command(plugins)).map(BenchArgs::augment_args).collect();
    let command = Command::new("bench")
        .about("Measures algorithms: the papers' figures, hot loops by themselves, and how cost grows")
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
    let progress = Arc::new(Progress::new(voice.quiet));
    let mut sheet = Sheet {
        name,
        device: &device,
        device_name: device.limits().device,
        compute: &compute,
        format,
        progress: &progress,
        printed: Ok(()),
        headless: true,
    };
    let job = |work| Job {
        plugin: name,
        args,
        compute: &compute,
        observer: progress.clone(),
        communicator: Arc::new(Solo),
        sharers: Sharers::default(),
        peers: None,
        work,
    };
    let mut curves = cost::Curves::default();
    let done = match name {
        kernels::NAME => {
            let choice = kernels::choice(args, &device, &*progress)?;
            program.dispatch(&device, job(Work::Kernels(choice, &mut |row| sheet.print(&row))))
        }
        cost::NAME => {
            let wanted = cost::wanted(args)?;
            curves.check(args)?;
            let row = &mut |row| sheet.print(curves.add(row));
            program.dispatch(&device, job(Work::Cost(wanted.algorithms, wanted.range, row)))
        }
        _ => program.dispatch(&device, job(Work::Bench(&mut |row| sheet.print(&row)))),
    };
    progress.finish();
    sheet.printed?;
    done?;
    if interrupt::requested() {
        return Err(Error::Cancelled.into());
    }
    Ok(curves.write()?)
}

/// What a person reads of a measurement.
trait Row: Serialize {
    /// The head of the table's columns.
    fn head(out: &mut dyn Write) -> std::io::Result<()>;
    /// The row.
    fn human(&self, out: &mut dyn Write) -> std::io::Result<()>;
    /// The algorithm, where the row does not say.
    fn algorithm(name: &str) -> Option<&str>;
}

/// A row with where it was measured.
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

/// Standard output, row by row.
struct Sheet<'a> {
    name: &'a str,
    device: &'a Device,
    device_name: String,
    compute: &'a Compute,
    format: Format,
    progress: &'a Progress,
    printed: Result<(), Error>,
    headless: bool,
}

impl Sheet<'_> {
    /// The head comes with the first row, so that a bench that is refused prints nothing.
    fn print<R: Row>(&mut self, row: &R) {
        let Self { device, compute, .. } = self;
        let (backend, name) = (device.backend(), self.device_name.as_str());
        let precision = compute.precision.to_string();
        if self.printed.is_ok() {
            self.printed = self.progress.aside(|| {
                stdio::write(|out| match self.format {
                    Format::Human => {
                        if std::mem::take(&mut self.headless) {
                            writeln!(out, "{backend} ({name}), {precision}, seed {}", compute.seed)?;
                            R::head(out)?;
                        }
                        row.human(out)
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
        if self.printed.is_err() {
            interrupt::request(); // The reader has gone.
        }
    }
}

/// Numbers of a size, as a person writes them.
fn size(numbers: &[usize]) -> String {
    numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(" × ")
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
