//! Arguments common to all algorithms.
//!
//! The `Args` structs have plain comments: clap uses their doc comments as the description of the whole command.

use std::path::PathBuf;

use clap::{ArgAction, ValueEnum, ValueHint};
use firebox_backends::Choice;
use firebox_core::{
    Error, Precision, Session,
    plot::{Size, Style, Theme},
};

// Backend, precision, seed and memory limit.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Execution")]
pub(crate) struct Compute {
    /// auto, ndarray, flex, wgpu[:i], cuda[:i] or rocm[:i]; auto is the best present: CUDA, then wgpu on a real GPU,
    /// then ndarray. The command 'backends' lists what there is
    #[arg(long, value_name = "BACKEND", default_value = "auto")]
    pub backend: Choice,
    /// The width of floating-point numbers; f64 is for ndarray and cuda
    #[arg(long, value_enum, default_value_t, hide_short_help = true)]
    pub precision: Precision,
    /// Seeds everything random: same seed, backend and device, same result, unless an option says that it is not
    /// deterministic
    #[arg(long, value_name = "S", default_value_t = 0, hide_short_help = true)]
    pub seed: u64,
    /// Limit of device memory: bytes, or a number with a unit (512MiB, 2GB, 1G)
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes, hide_short_help = true)]
    pub memory_limit: Option<u64>,
}

// Destinations of the results.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct Output {
    /// Write the result's table to a file (.csv, .tsv, .txt, .dat, .npy, .parquet, .arrow, .lrn, .cls); - is standard output,
    /// as CSV
    #[arg(short, long, value_name = "OUT", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,
    /// Draw the result (.svg, .png; .gif animates one that changes over time)
    #[arg(long, value_name = "P", value_hint = ValueHint::FilePath)]
    pub plot: Option<PathBuf>,
    #[command(flatten)]
    pub style: StyleArgs,
    /// Write everything about the run as JSON: parameters, device, timings, result
    #[arg(long, value_name = "R", value_hint = ValueHint::FilePath, hide_short_help = true)]
    pub report: Option<PathBuf>,
    /// human: the table on standard output, unless -o names a file; on a terminal its first rows. json: the report on
    /// standard output, the table only in OUT
    #[arg(long, value_enum, default_value_t, hide_short_help = true)]
    pub format: Format,
}

// Appearance of all plots of a command.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct StyleArgs {
    /// Colours of the plots
    #[arg(long, value_enum, default_value_t, hide_short_help = true)]
    theme: Theme,
    /// Width and height of each plot in pixels, from 240x240 to 8000x8000 [default: as the plot needs]
    #[arg(long, value_name = "WxH", value_parser = parse_size, hide_short_help = true)]
    size: Option<Size>,
    /// Title of the plots instead of their own; none if empty
    #[arg(long, value_name = "TEXT", hide_short_help = true)]
    title: Option<String>,
}

impl StyleArgs {
    /// True if an argument differs from its default.
    pub(crate) fn is_given(&self) -> bool {
        self.style() != Style::default()
    }

    /// Returns the appearance that the arguments describe.
    pub(crate) fn style(&self) -> Style {
        Style { theme: self.theme, size: self.size, title: self.title.clone() }
    }
}

impl Compute {
    /// Returns a session with these settings, one rank and no observer.
    pub(crate) fn session(&self) -> Session {
        let Self { precision, seed, memory_limit, .. } = *self;
        Session { precision, seed, memory_limit, ..Session::default() }
    }
}

/// Format of standard output.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Plain text
    #[default]
    Human,
    /// JSON
    Json,
}

// Amount of text on standard error.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub(crate) struct Verbosity {
    /// Print errors only: no summary, no notices, no progress
    #[arg(short, long, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Log to standard error; more with -vv and -vvv
    #[arg(short, long, action = ArgAction::Count, hide_short_help = true)]
    pub verbose: u8,
}

impl Verbosity {
    /// Starts logging to standard error if `--verbose` is set.
    pub(crate) fn start_logging(self) {
        let level = match self.verbose {
            0 => return,
            1 => tracing::Level::INFO,
            2 => tracing::Level::DEBUG,
            _ => tracing::Level::TRACE,
        };
        // Fails if a subscriber is already installed, which then receives the log.
        let _ = tracing_subscriber::fmt().with_max_level(level).with_writer(std::io::stderr).try_init();
    }
}

/// Parses the size of a plot. Its error lacks the field and the value, which clap adds.
fn parse_size(text: &str) -> Result<Size, String> {
    text.parse().map_err(|error| match error {
        Error::Config { reason, .. } => reason,
        other => other.to_string(),
    })
}

/// Parses a size in bytes: `512MiB`, `2GB`, `1.5G` or a plain number. Binary units are KiB, MiB, … and K, M, …; decimal
/// units KB, MB, ….
fn parse_bytes(text: &str) -> Result<u64, String> {
    let invalid =
        || format!("'{text}' is not a size; write bytes, or a number with K, M, G, T, KiB, MiB, … or KB, MB, …");
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
        _ => return Err(invalid()),
    };
    let factor = base.pow(power);
    let whole = number.parse::<u64>().ok();
    let bytes = match whole {
        Some(whole) => whole.checked_mul(factor),
        None => {
            number.parse::<f64>().ok().map(|n| n * factor as f64).filter(|&n| n < u64::MAX as f64).map(|n| n as u64)
        }
    };
    bytes.ok_or_else(invalid)
}

#[cfg(test)]
mod tests {
    use super::parse_bytes;

    #[test]
    fn sizes_with_units_are_parsed() {
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
            assert_eq!(parse_bytes(text), Ok(expected), "{text}");
        }
        for text in ["", "x", "1X", "-1", "GB", ".", "1..2G", "99999999999999T", "18446744073709551616", "1e3"] {
            assert!(parse_bytes(text).is_err(), "{text}");
        }
    }
}
