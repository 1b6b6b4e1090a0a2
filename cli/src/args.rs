//! The arguments that every algorithm has.
//!
//! Clap takes the doc comment of an `Args` struct for the whole command's description; so these have plain comments.

use std::path::PathBuf;

use clap::{ArgAction, ValueEnum, ValueHint};
use firebox_backends::{Choice, Precision};

// Where it runs.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Where it runs")]
pub(crate) struct Compute {
    /// auto, ndarray, flex, wgpu[:i], cuda[:i] or rocm[:i]; auto is the best present: CUDA, then wgpu on a real GPU,
    /// then ndarray. The command 'backends' lists what there is
    #[arg(long, value_name = "BACKEND", default_value = "auto")]
    pub backend: Choice,
    /// The width of floating-point numbers; f64 is for ndarray and cuda
    #[arg(long, value_enum, default_value_t)]
    pub precision: Precision,
    /// Seeds everything random: same seed, backend and device, same result, unless an option says that it is not
    /// deterministic
    #[arg(long, value_name = "S", default_value_t = 0)]
    pub seed: u64,
    /// Use at most so much memory on the device: bytes, or a number with a unit (512MiB, 2GB, 1G)
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    pub memory_limit: Option<u64>,
}

// What comes out.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "What comes out")]
pub(crate) struct Output {
    /// Write the result's table to a file (.csv, .tsv, .txt, .dat, .npy, .lrn, .cls); - is standard output, as CSV
    #[arg(short, long, value_name = "OUT", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,
    /// Draw the result (.svg, .png)
    #[arg(long, value_name = "P", value_hint = ValueHint::FilePath)]
    pub plot: Option<PathBuf>,
    /// Write everything about the run as JSON: parameters, device, timings, result
    #[arg(long, value_name = "R", value_hint = ValueHint::FilePath)]
    pub report: Option<PathBuf>,
    /// human: the table on standard output, unless -o names a file. json: the report on standard output, the table only
    /// in OUT
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

/// Who reads standard output.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For a person
    #[default]
    Human,
    /// For a program
    Json,
}

// How much is said on standard error.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub(crate) struct Voice {
    /// Say nothing but errors: no summary, no notices, no progress
    #[arg(short, long, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Log to standard error; more with -vv and -vvv
    #[arg(short, long, action = ArgAction::Count)]
    pub verbose: u8,
}

impl Voice {
    /// Starts the log, if it was asked for.
    pub(crate) fn start(self) {
        let level = match self.verbose {
            0 => return,
            1 => tracing::Level::INFO,
            2 => tracing::Level::DEBUG,
            _ => tracing::Level::TRACE,
        };
        // It fails if there is a log already, which is as good.
        let _ = tracing_subscriber::fmt().with_max_level(level).with_writer(std::io::stderr).try_init();
    }
}

/// Reads `512MiB`, `2GB`, `1.5G` or a plain number. Binary units are KiB, MiB, … and K, M, …; decimal ones KB, MB, ….
fn bytes(text: &str) -> Result<u64, String> {
    let wrong = || format!("'{text}' is no size; write bytes, or a number with K, M, G, T, KiB, MiB, … or KB, MB, …");
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let (base, power) = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => (1u64, 0),
        "k" | "kib" => (1024, 1),
        "m" | "mib" => (1024, 2),
        "g" | "gib" => (1024, 3),
        "t" | "tib" => (1024, 4),
        "kb" => (1000, 1),
        "mb" => (1000, 2),
        "gb" => (1000, 3),
        "tb" => (1000, 4),
        _ => return Err(wrong()),
    };
    let factor = base.pow(power);
    let whole = number.parse::<u64>().ok();
    let bytes = match whole {
        Some(whole) => whole.checked_mul(factor),
        None => {
            number.parse::<f64>().ok().map(|n| n * factor as f64).filter(|&n| n < u64::MAX as f64).map(|n| n as u64)
        }
    };
    bytes.ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::bytes;

    #[test]
    fn sizes_are_read_as_people_write_them() {
        for (text, expected) in [
            ("0", 0),
            ("123", 123),
            ("512MiB", 512 << 20),
            ("2GB", 2_000_000_000),
            ("1G", 1 << 30),
            ("1.5 GiB", 3 << 29),
            ("10b", 10),
            ("1kb", 1000),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(bytes(text), Ok(expected), "{text}");
        }
        for text in ["", "x", "1X", "-1", "GB", ".", "1..2G", "99999999999999T", "18446744073709551616", "1e3"] {
            assert!(bytes(text).is_err(), "{text}");
        }
    }
}
