//! `firebox bench kernels`: each hot loop of all algorithms in isolation.

use std::io::{Result, Write};

use clap::{ArgMatches, Args, Command, FromArgMatches};
use firebox_backends::{
    Device,
    bench::kernels::{CEILINGS, KernelRow, Selection},
};
use firebox_core::Observer;

use super::row::{Row, milliseconds, size};
use crate::failure::Failure;

/// Name of the command.
pub(super) const NAME: &str = "kernels";

const NOTE: &str = "\
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

fn positive(text: &str) -> std::result::Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("must be at least 1".into()),
        Ok(count) => Ok(count),
        Err(error) => Err(format!("{error}")),
    }
}

/// Returns the command.
pub(super) fn command() -> Command {
    let about = "Measures each hot loop of all algorithms against the device's ceilings";
    KernelArgs::augment_args(Command::new(NAME).about(about).after_long_help(NOTE))
}

/// Returns the cases and sizes to measure on `device`.
pub(super) fn choice(
    args: &ArgMatches,
    device: &Device,
    observer: &dyn Observer,
) -> std::result::Result<Selection, Failure> {
    let KernelArgs { cases, points, max_points, large, repeats } = KernelArgs::from_arg_matches(args)?;
    let cpu = matches!(device, Device::NdArray(_) | Device::Flex(_)) || device.is_software();
    if cpu && !large && points.is_empty() && max_points.is_none() {
        observer.notice("sizes meant for GPUs are skipped; --large includes them, --points N selects one");
    }
    Ok(Selection { cases, points, max_points, large: large || !cpu, repeats })
}

impl Row for KernelRow {
    fn header(out: &mut dyn Write) -> Result<()> {
        let [case, size, ms, spread] = ["case", "size", "ms", "from – to"];
        let [bytes, flops, exps, share] = ["GB/s", "GFLOP/s", "Gexp/s", "share"];
        writeln!(out, "{case:<58} {size:<28} {ms:>9} {spread:>19} {bytes:>7} {flops:>8} {exps:>7} {share:>6}")
    }

    fn text(&self, out: &mut dyn Write) -> Result<()> {
        let case = self.variant.as_ref().map_or(self.case.clone(), |variant| format!("{}: {variant}", self.case));
        let size = size(&self.size);
        let ms = milliseconds(self.ms);
        let spread = format!("{} – {}", milliseconds(self.min_ms), milliseconds(self.max_ms));
        let [bytes, flops, exps] = [self.gb_s, self.gflop_s, self.gexp_s].map(|rate| match rate {
            rate if rate >= 0.01 => milliseconds(rate).chars().take(6).collect::<String>(),
            _ => String::new(),
        });
        let share = self.share.map_or_else(String::new, |share| format!("{:.0} %", 100.0 * share));
        let limit = match self.limit {
            Some(limit) if self.case != CEILINGS => format!(" of {}", limit.name()),
            _ => String::new(),
        };
        writeln!(out, "{case:<58} {size:<28} {ms:>9} {spread:>19} {bytes:>7} {flops:>8} {exps:>7} {share:>6}{limit}")
    }

    fn algorithm(_: &str) -> Option<&str> {
        None
    }
}

#[cfg(test)]
mod tests {
    use firebox_backends::bench::ceilings::Resource;

    use super::*;

    #[test]
    fn a_row_is_one_line_of_text() {
        let mut out = Vec::new();
        let row = KernelRow {
            algorithm: Some("toy".into()),
            case: "nap".into(),
            variant: Some("deep".into()),
            size: vec![10, 2],
            ms: 0.0125,
            min_ms: 0.01,
            max_ms: 1.5,
            repeats: 7,
            calls: 400,
            units: 3,
            sets: 2,
            bytes: 1e6,
            flops: 2e7,
            exps: 0.0,
            roots: 0.0,
            gb_s: 80.0,
            gflop_s: 1600.0,
            gexp_s: 0.0,
            share: Some(0.416),
            limit: Some(Resource::Memory),
            details: serde_json::Map::new(),
        };
        KernelRow::header(&mut out).unwrap();
        row.text(&mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(lines[1].join(" "), "nap: deep 10 × 2 0.01250 0.01000 – 1.500 80.00 1600 42 % of memory");
        assert_eq!(lines[0].join(" "), "case size ms from – to GB/s GFLOP/s Gexp/s share");
    }
}
