//! `firebox bench kernels`: each hot loop of all algorithms in isolation.

use clap::{ArgMatches, Args, Command, FromArgMatches};
use firebox_backends::{
    Device,
    bench::kernels::{Selection, measure},
};
use firebox_core::{Observer, Session};

use super::printer::RowPrinter;
use crate::{Program, failure::Failure};

/// Name of the command.
pub(super) const NAME: &str = "kernels";

const NOTE: &str = "\
Examples:
  firebox bench kernels
  firebox bench kernels --points 1000,10000 --repeats 15
  firebox bench kernels --backend wgpu --format json

The device's ceilings are measured first: copying and reading memory, multiply-adds, exponentials and reciprocal \
square roots. The share of a row is the minimum time of its bytes and operations at these ceilings divided by the \
measured time. Calls cycle through several sets of inputs, which together exceed the cache twice (at most 16 sets; a \
single set if a call takes 16 steps or more), so that inputs come from memory. Steps of one call share its inputs, as \
in a run; data that stays in the cache then does not count as memory traffic.

A measurement repeats a case for 5 ms and includes the device's completion. With --format json, docs/ratios.py joins \
the lines with other programs' figures by case and size.";

#[derive(Debug, Args)]
struct KernelArgs {
    /// Only this case; may be repeated. An unknown name lists all cases
    #[arg(long = "case", value_name = "NAME")]
    cases: Vec<String>,
    /// Only these numbers of points (rows, elements)
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = positive)]
    points: Vec<usize>,
    /// Largest number of points
    #[arg(long, value_name = "N")]
    max_points: Option<usize>,
    /// Also measure the sizes meant for GPUs on a CPU
    #[arg(long)]
    large: bool,
    /// Number of measurements, of which the median is shown
    #[arg(long, value_name = "R", default_value_t = 7)]
    repeats: usize,
}

fn positive(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("must be at least 1".into()),
        Ok(count) => Ok(count),
        Err(error) => Err(format!("{error}")),
    }
}

pub(super) fn command() -> Command {
    let about = "Measures each hot loop of all algorithms against the device's ceilings";
    KernelArgs::augment_args(Command::new(NAME).about(about).after_long_help(NOTE))
}

pub(super) fn run(
    program: &Program,
    args: &ArgMatches,
    device: &Device,
    session: &Session,
    printer: &mut RowPrinter<'_>,
) -> Result<(), Failure> {
    let selection = selection(args, device, &*session.observer)?;
    let kernels: Vec<_> = program.benches().map(|(name, bench)| (name, bench.kernels(device, session))).collect();
    Ok(measure(&kernels, &selection, device, session, &mut |row| printer.print(&row))?)
}

/// Returns the cases and sizes to measure on `device`.
fn selection(args: &ArgMatches, device: &Device, observer: &dyn Observer) -> Result<Selection, Failure> {
    let KernelArgs { cases, points, max_points, large, repeats } = KernelArgs::from_arg_matches(args)?;
    let cpu = matches!(device, Device::NdArray(_) | Device::Flex(_)) || device.is_software();
    if cpu && !large && points.is_empty() && max_points.is_none() {
        observer.notice("sizes meant for GPUs are skipped; --large includes them, --points N selects one");
    }
    Ok(Selection { cases, points, max_points, large: large || !cpu, repeats })
}
