//! Rows of benchmark tables as text.

use std::io::{Result, Write};

use firebox_backends::bench::{
    BenchRow,
    cost::CostRow,
    kernels::{CEILINGS, KernelRow},
    score::{Outcome, ScoreRow},
};
use serde::Serialize;

/// A measurement as a row of a table.
pub(super) trait Row: Serialize {
    /// Writes the table's header.
    fn header(out: &mut dyn Write) -> Result<()>;
    /// Writes the row as text.
    fn text(&self, out: &mut dyn Write) -> Result<()>;
}

/// Formats a size as `1000 × 2`.
fn size(numbers: &[usize]) -> String {
    numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(" × ")
}

/// Formats milliseconds with four significant digits, or all integer digits if there are more.
fn milliseconds(ms: f64) -> String {
    let digits = if ms > 0.0 { (3 - ms.log10().floor() as i32).clamp(0, 6) } else { 0 };
    format!("{ms:.*}", digits as usize)
}

/// A paper's table or figure, with the paper's times and ours.
impl Row for BenchRow {
    fn header(out: &mut dyn Write) -> Result<()> {
        let [table, case, size, ms, paper, speedup] = ["table", "case", "size", "ms", "paper ms", "faster"];
        writeln!(out, "{table:<10} {case:<36} {size:<16} {ms:>12} {paper:>12} {speedup:>8}")
    }

    fn text(&self, out: &mut dyn Write) -> Result<()> {
        let (size, ms) = (size(&self.size), milliseconds(self.ms));
        let paper = self.paper_ms.map_or_else(String::new, milliseconds);
        let speedup = self.paper_ms.filter(|_| self.ms > 0.0);
        let speedup = speedup.map_or_else(String::new, |paper| format!("{:.1}×", paper / self.ms));
        let note = self.note.as_ref().map_or_else(String::new, |note| format!("  {note}"));
        writeln!(out, "{:<10} {:<36} {size:<16} {ms:>12} {paper:>12} {speedup:>8}{note}", self.table, self.case)
    }
}

impl Row for KernelRow {
    fn header(out: &mut dyn Write) -> Result<()> {
        let [case, size, ms, spread] = ["case", "size", "ms", "from – to"];
        let [bytes, flops, exps, share] = ["GB/s", "GFLOP/s", "Gexp/s", "share"];
        writeln!(out, "{case:<58} {size:<28} {ms:>9} {spread:>19} {bytes:>7} {flops:>8} {exps:>7} {share:>6}")
    }

    fn text(&self, out: &mut dyn Write) -> Result<()> {
        let case = self.variant.as_ref().map_or(self.case.clone(), |variant| format!("{}: {variant}", self.case));
        let (size, ms) = (size(&self.size), milliseconds(self.ms));
        let spread = format!("{} – {}", milliseconds(self.min_ms), milliseconds(self.max_ms));
        let [bytes, flops, exps] = [self.gb_s, self.gflop_s, self.gexp_s].map(|rate| match rate {
            rate if rate >= 0.01 => milliseconds(rate).chars().take(6).collect::<String>(),
            _ => String::new(),
        });
        let share = self.share.map_or_else(String::new, |share| format!("{:.0} %", 100.0 * share));
        let limit = self.limit.filter(|_| self.case != CEILINGS);
        let limit = limit.map_or_else(String::new, |limit| format!(" of {}", limit.name()));
        writeln!(out, "{case:<58} {size:<28} {ms:>9} {spread:>19} {bytes:>7} {flops:>8} {exps:>7} {share:>6}{limit}")
    }
}

impl Row for CostRow {
    fn header(out: &mut dyn Write) -> Result<()> {
        let [case, size, ms, bytes] = ["case", "points", "ms", "MB planned"];
        writeln!(out, "{case:<36} {size:>10} {ms:>12} {bytes:>12}")
    }

    fn text(&self, out: &mut dyn Write) -> Result<()> {
        let [ms, mega] = [self.ms, self.peak_device_bytes as f64 / 1e6].map(milliseconds);
        writeln!(out, "{:<36} {:>10} {ms:>12} {mega:>12}", self.case, self.size[0])?;
        match (self.exponent, self.memory_exponent) {
            (Some(time), Some(memory)) => writeln!(out, "{:<36} time N^{time:.2}, memory N^{memory:.2}", self.case),
            _ => Ok(()),
        }
    }
}

impl Row for ScoreRow {
    fn header(out: &mut dyn Write) -> Result<()> {
        let [case, error, estimate, seconds, neurons] = ["case", "error", "estimate", "seconds", "neurons"];
        writeln!(out, "{case:<16} {error:>8} {estimate:>16} {seconds:>8} {neurons:>8}")
    }

    fn text(&self, out: &mut dyn Write) -> Result<()> {
        let [error, mut estimate] =
            [self.error, self.estimate].map(|it| it.map_or_else(String::new, |it| format!("{it:.1e}")));
        match self.outcome {
            Outcome::Missed => estimate = format!("missed, {estimate}"),
            Outcome::Failed => estimate = "failed".into(),
            Outcome::Unsupported => estimate = "unsupported".into(),
            Outcome::Resolved => {}
        }
        let seconds = self.seconds.map_or_else(String::new, |it| format!("{it:.1}"));
        let neurons = self.neurons.map_or_else(String::new, |it| it.to_string());
        let options = Some(&self.options).filter(|it| !it.is_empty()).cloned();
        let notes: Vec<String> = options.into_iter().chain(self.note.clone()).collect();
        let line =
            format!("{:<16} {error:>8} {estimate:>16} {seconds:>8} {neurons:>8}  {}", self.case, notes.join("; "));
        writeln!(out, "{}", line.trim_end())
    }
}

#[cfg(test)]
mod tests {
    use firebox_backends::bench::ceilings::Resource;

    use super::*;

    /// Returns the words of the header and of a row.
    fn table<R: Row>(row: &R) -> Vec<String> {
        let mut out = Vec::new();
        R::header(&mut out).unwrap();
        row.text(&mut out).unwrap();
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        String::from_utf8(out).unwrap().lines().map(words).collect()
    }

    #[test]
    fn milliseconds_have_four_significant_digits() {
        for (ms, text) in [(0.0, "0"), (0.00842, "0.008420"), (1.0, "1.000"), (12.345, "12.35"), (123_456.7, "123457")]
        {
            assert_eq!(milliseconds(ms), text);
        }
    }

    #[test]
    fn a_kernel_is_one_line_of_text() {
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
        let header = "case size ms from – to GB/s GFLOP/s Gexp/s share";
        assert_eq!(table(&row), [header, "nap: deep 10 × 2 0.01250 0.01000 – 1.500 80.00 1600 42 % of memory"]);
    }

    #[test]
    fn a_score_says_what_was_missed() {
        let row = ScoreRow {
            case: "heat".into(),
            options: "--target-error 1e-2".into(),
            outcome: Outcome::Missed,
            error: Some(0.0123),
            estimate: Some(0.5),
            seconds: Some(2.0),
            neurons: Some(81),
            note: Some("in two dimensions".into()),
        };
        let header = "case error estimate seconds neurons";
        assert_eq!(table(&row), [header, "heat 1.2e-2 missed, 5.0e-1 2.0 81 --target-error 1e-2; in two dimensions"]);
        let note = Some("no time".into());
        let row = ScoreRow {
            options: String::new(),
            outcome: Outcome::Unsupported,
            error: None,
            estimate: None,
            seconds: None,
            neurons: None,
            note,
            ..row
        };
        assert_eq!(table(&row), [header, "heat unsupported no time"]);
    }

    #[test]
    fn exponents_follow_the_last_size() {
        let row = CostRow {
            algorithm: "toy".into(),
            case: "a".into(),
            size: vec![100],
            ms: 100.0,
            peak_device_bytes: 800,
            exponent: Some(1.0),
            memory_exponent: Some(2.0),
        };
        let expected = ["case points ms MB planned", "a 100 100.0 0.000800", "a time N^1.00, memory N^2.00"];
        assert_eq!(table(&row), expected);
    }
}
