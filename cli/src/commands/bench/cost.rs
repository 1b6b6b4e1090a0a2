//! `firebox bench cost`: growth of time and memory of whole runs with the number of points.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use clap::{ArgMatches, Args, Command, FromArgMatches, builder::PossibleValuesParser};
use firebox_backends::{
    Device,
    bench::cost::{CostRow, SizeRange, measure},
};
use firebox_core::{
    Error, Session,
    atomic::Staged,
    plot::{Image, Lines, Plot, Series, Style},
};

use super::printer::RowPrinter;
use crate::{Program, args::StyleArgs, failure::Failure, interrupt, output};

/// Name of the command.
pub(super) const NAME: &str = "cost";

const NOTE: &str = "\
Examples:
  firebox bench cost
  firebox bench cost --from 1000 --to 100000 --plot time.svg --plot-memory memory.svg

Every size is run twice, and the second run is timed. The exponent is that of a power law in the number of points, \
fitted by least squares in logarithms over the upper half of the sizes. Memory is the planned device memory. A series \
ends before the size that is expected to take longer than --seconds or does not fit.";

#[derive(Debug, Args)]
struct CostArgs {
    /// Only this algorithm; may be given again
    #[arg(long = "algorithm", value_name = "NAME")]
    algorithms: Vec<String>,
    /// Smallest number of points
    #[arg(long, value_name = "N", default_value_t = 1000)]
    from: usize,
    /// Largest number of points
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    to: usize,
    /// Number of sizes per power of ten
    #[arg(long, value_name = "K", default_value_t = 4)]
    each_decade: usize,
    /// Maximum expected duration of a run in seconds
    #[arg(long, value_name = "S", default_value_t = 10)]
    seconds: u64,
    /// Plot time against points (.svg, .png)
    #[arg(long, value_name = "P")]
    plot: Option<PathBuf>,
    /// Plot memory against points (.svg, .png)
    #[arg(long, value_name = "P")]
    plot_memory: Option<PathBuf>,
    #[command(flatten)]
    style: StyleArgs,
}

/// Returns the command for the algorithms with these names.
pub(super) fn command(names: Vec<String>) -> Command {
    let about = "Measures the growth of time and memory of whole runs with the number of points";
    let command = CostArgs::augment_args(Command::new(NAME).about(about).after_long_help(NOTE));
    command.mut_arg("algorithms", |arg| arg.value_parser(PossibleValuesParser::new(names)))
}

pub(super) fn run(
    program: &Program,
    args: &ArgMatches,
    device: &Device,
    session: &Session,
    printer: &mut RowPrinter<'_>,
) -> Result<(), Failure> {
    let args = CostArgs::from_arg_matches(args)?;
    let plots = [&args.plot, &args.plot_memory].map(Option::as_deref);
    check(plots)?;
    let range = SizeRange {
        from: args.from,
        to: args.to,
        each_decade: args.each_decade,
        max_time: Duration::from_secs(args.seconds),
    };
    let selected = |name: &String| args.algorithms.is_empty() || args.algorithms.contains(name);
    let benches = program.benches().filter(|(name, _)| selected(name));
    let runs: Vec<_> = benches.map(|(name, bench)| (name, bench.growth(device, session))).collect();
    let mut rows = Vec::new();
    measure(&runs, &range, device, session, &mut |row| {
        printer.print(&row);
        rows.push(row);
    })?;
    if interrupt::requested() {
        return Err(Error::Cancelled.into());
    }
    Ok(write(plots, &rows, &args.style.style())?)
}

/// Fails if a plot cannot be written.
fn check(plots: [Option<&Path>; 2]) -> firebox_core::Result<()> {
    let mut staged = Staged::default();
    plots.into_iter().flatten().try_for_each(|path| {
        Image::still(path)?;
        staged.add(path, |_| Ok(()))
    })
}

/// Plots time and memory to the requested files.
fn write([time, memory]: [Option<&Path>; 2], rows: &[CostRow], style: &Style) -> firebox_core::Result<()> {
    let mut staged = Staged::default();
    if let Some(path) = time {
        let time = lines(rows, "Time of a run", "seconds", |row| row.ms / 1e3, |row| row.exponent);
        output::draw(&mut staged, path, &Plot::Lines(time), style)?;
    }
    if let Some(path) = memory {
        let bytes = |row: &CostRow| row.peak_device_bytes as f64;
        let memory = lines(rows, "Memory of a run", "bytes planned", bytes, |row| row.memory_exponent);
        output::draw(&mut staged, path, &Plot::Lines(memory), style)?;
    }
    staged.commit()
}

/// Returns a curve for each case, labelled with its exponent.
fn lines(
    rows: &[CostRow],
    title: &str,
    y_label: &str,
    value: impl Fn(&CostRow) -> f64,
    exponent: impl Fn(&CostRow) -> Option<f64>,
) -> Lines {
    let curve = |rows: &[CostRow]| {
        let exponent = rows.last().and_then(&exponent).map(|exponent| format!(": N^{exponent:.2}"));
        let name = rows.first().map_or_else(String::new, |row| row.case.clone()) + &exponent.unwrap_or_default();
        Series::new(name, rows.iter().map(|row| (row.size[0] as f64, value(row))))
    };
    Lines {
        title: title.into(),
        x_label: "points N".into(),
        y_label: y_label.into(),
        log_x: true,
        log_y: true,
        series: rows.chunk_by(|a, b| a.case == b.case).map(curve).collect(),
        ..Lines::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_case_is_a_curve_with_its_exponent() {
        let row = |case: &str, n: usize, exponent| CostRow {
            algorithm: "toy".into(),
            case: case.into(),
            size: vec![n],
            ms: n as f64,
            peak_device_bytes: 8 * n as u64,
            exponent,
            memory_exponent: exponent,
        };
        let rows = [row("a", 10, None), row("a", 100, Some(1.0)), row("b", 10, None)];
        let plot = lines(&rows, "t", "s", |row| row.ms, |row| row.exponent);
        let names: Vec<&str> = plot.series.iter().map(|series| series.name.as_str()).collect();
        assert_eq!((names.as_slice(), plot.series[0].points.len()), (["a: N^1.00", "b"].as_slice(), 2));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.svg");
        write([Some(&path), None], &rows, &Style::default()).unwrap();
        assert!(std::fs::read(path).unwrap().starts_with(b"<svg"));
    }
}
