//! The error type: a cause, its location and advice.

use std::{
    io::ErrorKind,
    path::{Path, PathBuf},
};

/// A result with Firebox's [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

/// Location in an input. Lines, rows and columns count from 1, as in editors.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Place {
    /// The file, if the input came from one.
    pub file: Option<PathBuf>,
    /// The line or the row.
    pub at: Option<At>,
    /// Column by name if it has one, else by number.
    pub column: Option<String>,
}

/// Vertical position in an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum At {
    /// Line of the file's text.
    Line(usize),
    /// Row of numbers; headers, comments and empty lines are not counted.
    Row(usize),
}

impl Place {
    /// A whole file.
    pub fn file(path: impl Into<PathBuf>) -> Self {
        Self { file: Some(path.into()), ..Self::default() }
    }

    /// The same place, narrowed to a line.
    pub fn line(mut self, line: usize) -> Self {
        self.at = Some(At::Line(line));
        self
    }

    /// The same place, narrowed to a row of numbers.
    pub fn row(mut self, row: usize) -> Self {
        self.at = Some(At::Row(row));
        self
    }

    /// The same place, narrowed to a column.
    pub fn column(mut self, column: impl Into<String>) -> Self {
        self.column = Some(column.into());
        self
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut parts: Vec<String> = self.file.iter().map(|file| file.display().to_string()).collect();
        parts.extend(self.at.map(|at| match at {
            At::Line(line) => format!("line {line}"),
            At::Row(row) => format!("row {row}"),
        }));
        parts.extend(self.column.iter().map(|column| format!("column {column}")));
        f.write_str(&parts.join(", "))
    }
}

/// Any failure of Firebox, with advice ([`Error::help`]).
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The input data cannot be used.
    #[error("{}{what}", prefix(place))]
    Input {
        /// The cause.
        what: String,
        /// Its location.
        place: Place,
        /// Advice.
        help: String,
    },
    /// A parameter is missing or out of its range.
    #[error("{}: {reason}", setting(field, value))]
    Config {
        /// The parameter's name, as in the configuration.
        field: &'static str,
        /// The value; empty if the parameter is missing.
        value: String,
        /// Why it is invalid.
        reason: String,
    },
    /// The chosen backend or device cannot be used.
    #[error("{backend}: {what}")]
    Device {
        /// The backend as the user named it.
        backend: String,
        /// The cause.
        what: String,
        /// Advice.
        help: String,
    },
    /// The work does not fit into memory; nothing was allocated.
    #[error("{device} cannot hold this: {purpose} needs {} ({needed} bytes), and {} ({available} bytes) {limit}", human_bytes(*needed), human_bytes(*available))]
    Memory {
        /// The device.
        device: String,
        /// Purpose of the memory.
        purpose: String,
        /// Bytes needed.
        needed: u64,
        /// Bytes available.
        available: u64,
        /// Kind of limit: "are free", "is the largest buffer", "is the `memory_limit`".
        limit: &'static str,
        /// Advice.
        help: String,
    },
    /// A file could not be read or written.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// "read" or "write".
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// Some outputs of a run could not be written; the others were.
    #[error("{}", outputs(failed, written))]
    Outputs {
        /// One error for each output that was not written.
        failed: Vec<Error>,
        /// The outputs that were written.
        written: Vec<PathBuf>,
    },
    /// The device failed during the run.
    #[error("{device} failed during {phase}: {what}")]
    Run {
        /// The device.
        device: String,
        /// Phase of the run.
        phase: String,
        /// The driver's message.
        what: String,
    },
    /// A function in code, which a problem or a configuration was given, failed.
    #[error("the function {name} failed: {source}")]
    Function {
        /// Its name.
        name: String,
        /// Its error.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The user cancelled the run.
    #[error("stopped on request")]
    Cancelled,
}

fn setting(field: &str, value: &str) -> String {
    if value.is_empty() { format!("{field} is missing") } else { format!("{field} = {value}") }
}

fn outputs(failed: &[Error], written: &[PathBuf]) -> String {
    let failed: Vec<String> = failed.iter().map(Error::to_string).collect();
    let written: Vec<String> = written.iter().map(|path| path.display().to_string()).collect();
    let rest = if written.is_empty() { "no output was written" } else { "written: " };
    format!("{}; {rest}{}", failed.join("; "), written.join(", "))
}

/// Advice on a file that could not be read or written.
fn io_help(action: &str, kind: ErrorKind) -> String {
    match kind {
        ErrorKind::NotFound if action == "write" => "create the folder first, or correct the path".into(),
        ErrorKind::NotFound => "correct the path: the file does not exist".into(),
        ErrorKind::PermissionDenied => format!("get permission to {action} it, or name another file"),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
            "free space on that disk, or name a file on another".into()
        }
        ErrorKind::IsADirectory => "name a file instead of a folder".into(),
        ErrorKind::OutOfMemory => "the file is larger than the memory that is free".into(),
        _ => format!("check that the path can be {}", if action == "write" { "written" } else { "read" }),
    }
}

fn prefix(place: &Place) -> String {
    match place.to_string() {
        text if text.is_empty() => text,
        text => format!("{text}: "),
    }
}

/// Quotes text from a file for a message, escaped and cut to 40 characters.
pub fn shown(text: &str) -> String {
    format!("{:?}", cut(text.trim()))
}

/// Cuts text to 40 characters.
pub(crate) fn cut(text: &str) -> String {
    const MAX: usize = 40;
    let more = if text.chars().nth(MAX).is_some() { "…" } else { "" };
    text.chars().take(MAX).chain(more.chars()).collect()
}

/// Formats a number of bytes in the largest binary unit of which there is at least 1, with two decimals.
pub fn human_bytes(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let unit = (bytes.max(1).ilog2() as usize / 10).min(UNITS.len() - 1);
    if unit == 0 {
        format!("{bytes} B")
    } else {
        format!("{:.2} {}", bytes as f64 / 1024f64.powi(unit as i32), UNITS[unit])
    }
}

impl Error {
    /// Invalid input without a location.
    pub fn input(what: impl Into<String>, help: impl Into<String>) -> Self {
        Self::input_at(Place::default(), what, help)
    }

    /// Invalid input at a location.
    pub fn input_at(place: Place, what: impl Into<String>, help: impl Into<String>) -> Self {
        Self::Input { what: what.into(), place, help: help.into() }
    }

    /// Adds the file to the location of invalid input, unless it has one.
    pub fn in_file(mut self, path: &Path) -> Self {
        if let Self::Input { place, .. } = &mut self {
            place.file.get_or_insert_with(|| path.to_path_buf());
        }
        self
    }

    /// Exit status: 2 for invalid usage or input, work that does not fit into memory, and a result that its file format
    /// cannot hold; 1 for a failed run or an output that could not be written; 130 for cancellation (128 + SIGINT, by the
    /// shells' convention).
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Outputs { failed, .. } => failed.iter().map(Self::exit_code).min().unwrap_or(1),
            Self::Io { action: "write", .. } | Self::Run { .. } | Self::Function { .. } => 1,
            Self::Input { .. } | Self::Config { .. } | Self::Device { .. } | Self::Memory { .. } | Self::Io { .. } => 2,
            Self::Cancelled => 130,
        }
    }

    /// Advice for the user.
    pub fn help(&self) -> Option<String> {
        match self {
            Self::Input { help, .. } | Self::Device { help, .. } | Self::Memory { help, .. } => Some(help.clone()),
            Self::Config { field, value, .. } if value.is_empty() => Some(format!("give `{field}`")),
            Self::Config { field, .. } => Some(format!("change `{field}`")),
            Self::Io { action, source, .. } => Some(io_help(action, source.kind())),
            Self::Outputs { failed, .. } => failed.first().and_then(Error::help),
            Self::Run { .. } => Some("try a smaller problem or another `backend`".into()),
            Self::Function { .. } | Self::Cancelled => None,
        }
        .filter(|help| !help.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_lists_file_line_and_column() {
        let place = Place::file("a.csv").line(3).column("x");
        let error = Error::input_at(place, "not a number", "");
        assert_eq!(error.to_string(), "a.csv, line 3, column x: not a number");
        assert_eq!(error.help(), None);
        assert_eq!(Place::file("a.npy").row(3).column("C1").to_string(), "a.npy, row 3, column C1");
    }

    #[test]
    fn a_missing_parameter_is_called_missing() {
        let error = |value: &str| Error::Config { field: "threshold", value: value.into(), reason: "is needed".into() };
        assert_eq!(error("").to_string(), "threshold is missing: is needed");
        assert_eq!(error("").help().unwrap(), "give `threshold`");
        assert_eq!(error("2").to_string(), "threshold = 2: is needed");
    }

    #[test]
    fn failed_outputs_are_listed_with_those_written() {
        let full = || Error::Io { action: "write", path: "a.csv".into(), source: ErrorKind::StorageFull.into() };
        let error = Error::Outputs { failed: vec![full()], written: vec!["b.svg".into(), "c.json".into()] };
        assert_eq!(error.to_string(), format!("{}; written: b.svg, c.json", full()));
        assert!(error.help().unwrap().starts_with("free space on that disk"), "{:?}", error.help());
        assert_eq!(error.exit_code(), 1);
        let error = Error::Outputs { failed: vec![full()], written: Vec::new() };
        assert!(error.to_string().ends_with("; no output was written"));
        let unsuitable = || Error::input("a .cls holds one column", "write it to a .csv");
        let code = |failed| Error::Outputs { failed, written: Vec::new() }.exit_code();
        assert_eq!((code(vec![unsuitable()]), code(vec![unsuitable(), full()])), (2, 1));
    }

    #[test]
    fn bytes_have_binary_units() {
        let found = [0, 1023, 1024, 1536, 40_000_000_000, (1 << 60) - 1, u64::MAX].map(human_bytes);
        assert_eq!(found, ["0 B", "1023 B", "1.00 KiB", "1.50 KiB", "37.25 GiB", "1024.00 PiB", "16384.00 PiB"]);
    }
}
