//! `firebox bench cost`: growth of time and memory of whole runs with the number of points.

use std::{
    io::{self, Write},
    path::{Path, PathBuf},
    time::Duration,
};

use clap::{ArgMatches, Args, Command, FromArgMatches, builder::PossibleValuesParser};
use firebox_backends::bench::cost::{CostRow, SizeRange};
use firebox_core::{
    Result,
    atomic::Staged,
    plot::{Image, Lines, Plot, Series},
};

use super::row::{Row, milliseconds};
use crate::failure::Failure;

/// Name of the command.
pub(super) const NAME: &str = "cost";

const NOTE: &str = "\
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
    #[arg(long, value_name = "S", default_value_t = 10, allow_negative_numbers = true)]
    seconds: u64,
    /// Plot time against points (.svg, .png)
    #[arg(long, value_name = "P")]
    plot: Option<PathBuf>,
    /// Plot memory against points (.svg, .png)
    #[arg(long, value_name = "P")]
    plot_memory: Option<PathBuf>,
}

/// The algorithms and sizes to measure.
pub(super) struct Selection {
    pub(super) algorithms: Vec<String>,
    pub(super) range: SizeRange,
}

/// Returns the command for the algorithms with these names.
pub(super) fn command(names: Vec<String>) -> Command {
    let about = "Measures the growth of time and memory of whole runs with the number of points";
    let command = CostArgs::augment_args(Command::new(NAME).about(about).after_long_help(NOTE));
    command.mut_arg("algorithms", |arg| arg.value_parser(PossibleValuesParser::new(names)))
}

pub(super) fn selection(args: &ArgMatches) -> std::result::Result<Selection, Failure> {
    let CostArgs { algorithms, from, to, each_decade, seconds, .. } = CostArgs::from_arg_matches(args)?;
    let range = SizeRange { from, to, each_decade, max_time: Duration::from_secs(seconds) };
    Ok(Selection { algorithms, range })
}

/// The measured rows, and the files for their plots.
#[derive(Default)]
pub(super) struct Curves {
    rows: Vec<CostRow>,
    time: Option<PathBuf>,
    memory: Option<PathBuf>,
}

impl Curves {
    /// Reads the plots' paths from the arguments; fails if they cannot be written.
    pub(super) fn set_paths(&mut self, args: &ArgMatches) -> std::result::Result<(), Failure> {
        let CostArgs { plot, plot_memory, .. } = CostArgs::from_arg_matches(args)?;
        (self.time, self.memory) = (plot, plot_memory);
        let mut staged = Staged::default();
        for path in self.time.iter().chain(&self.memory) {
            Image::of(path)?;
            staged.add(path, |_| Ok(()))?;
        }
        Ok(())
    }

    pub(super) fn add(&mut self, row: CostRow) -> &CostRow {
        let index = self.rows.len();
        self.rows.push(row);
        &self.rows[index]
    }

    /// Writes the requested plots.
    pub(super) fn write(&self) -> Result<()> {
        let mut staged = Staged::default();
        let mut draw = |path: &Option<PathBuf>, lines: Lines| {
            path.as_deref().map_or(Ok(()), |path: &Path| {
                let bytes = Plot::Lines(lines).render(Image::of(path)?)?;
                staged.add(path, |out| out.write_all(&bytes))
            })
        };
        let seconds = |row: &CostRow| row.ms / 1e3;
        draw(&self.time, self.lines("Time of a run", "seconds", seconds, |row| row.exponent))?;
        let bytes = |row: &CostRow| row.peak_device_bytes as f64;
        draw(&self.memory, self.lines("Memory of a run", "bytes planned", bytes, |row| row.memory_exponent))?;
        staged.commit()
    }

    /// Returns a curve for each case, labelled with its exponent.
    fn lines(
        &self,
        title: &str,
        y_label: &str,
        value: fn(&CostRow) -> f64,
        exponent: fn(&CostRow) -> Option<f64>,
    ) -> Lines {
        let curve = |rows: &[CostRow]| {
            let name = match (rows.first(), rows.last().and_then(exponent)) {
                (Some(row), Some(exponent)) => format!("{}: N^{exponent:.2}", row.case),
                (Some(row), None) => row.case.clone(),
                (None, _) => String::new(),
            };
            Series::new(name, rows.iter().map(|row| (row.size[0] as f64, value(row))))
        };
        Lines {
            title: title.into(),
            x_label: "points N".into(),
            y_label: y_label.into(),
            log_x: true,
            log_y: true,
            series: self.rows.chunk_by(|a, b| a.case == b.case).map(curve).collect(),
        }
    }
}

impl Row for CostRow {
    fn header(out: &mut dyn Write) -> io::Result<()> {
        let [case, size, ms, bytes] = ["case", "points", "ms", "MB planned"];
        writeln!(out, "{case:<36} {size:>10} {ms:>12} {bytes:>12}")
    }

    fn text(&self, out: &mut dyn Write) -> io::Result<()> {
        let [ms, mega] = [self.ms, self.peak_device_bytes as f64 / 1e6].map(milliseconds);
        writeln!(out, "{:<36} {:>10} {ms:>12} {mega:>12}", self.case, self.size[0])?;
        match (self.exponent, self.memory_exponent) {
            (Some(time), Some(memory)) => writeln!(out, "{:<36} time N^{time:.2}, memory N^{memory:.2}", self.case),
            _ => Ok(()),
        }
    }

    fn algorithm(_: &str) -> Option<&str> {
        None
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
        let folder = tempfile::tempdir().unwrap();
        let mut curves = Curves { time: Some(folder.path().join("t.svg")), ..Curves::default() };
        for (case, n, exponent) in [("a", 10, None), ("a", 100, Some(1.0)), ("b", 10, None)] {
            curves.add(row(case, n, exponent));
        }
        let plot = curves.lines("t", "s", |row| row.ms, |row| row.exponent);
        let names: Vec<&str> = plot.series.iter().map(|series| series.name.as_str()).collect();
        assert_eq!((names.as_slice(), plot.series[0].points.len()), (["a: N^1.00", "b"].as_slice(), 2));
        curves.write().unwrap();
        assert!(std::fs::read(folder.path().join("t.svg")).unwrap().starts_with(b"<svg"));
        let mut out = Vec::new();
        CostRow::header(&mut out).unwrap();
        curves.rows[1].text(&mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!((text.lines().count(), text.contains("time N^1.00, memory N^1.00")), (3, true), "{text}");
    }
}
