//! Failures of the program: how they are shown, and their exit codes.

use std::io::{self, IsTerminal, Write};

use firebox_core::Error;
use miette::{GraphicalReportHandler, GraphicalTheme, MietteDiagnostic};

use crate::printable;

/// Reason for which the program failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The command line is invalid.
    #[error(transparent)]
    Usage(#[from] clap::Error),
    /// An error reported by a library of Firebox.
    #[error(transparent)]
    Reported(#[from] Error),
    /// The result was written, and falls short of what was asked for; its summary says so.
    #[error("the result is not resolved")]
    Unresolved,
    /// A bug in the program: a thread panicked.
    #[error("internal error: {0}")]
    Internal(String),
}

impl Failure {
    /// Returns whether the reader of standard output closed the pipe, which is not an error.
    fn is_broken_pipe(&self) -> bool {
        matches!(self, Self::Reported(Error::Io { source, .. }) if source.kind() == io::ErrorKind::BrokenPipe)
    }

    /// Returns the exit code of the process.
    pub(crate) fn code(&self) -> u8 {
        match self {
            Self::Usage(_) => 2,
            broken if broken.is_broken_pipe() => 0,
            Self::Reported(error) => error.exit_code(),
            Self::Unresolved => 3,
            Self::Internal(_) => 1,
        }
    }

    /// Prints the failure to standard error.
    pub(crate) fn show(&self) {
        match self {
            Self::Usage(error) => {
                let _ = error.print();
            }
            Self::Unresolved => {}
            broken if broken.is_broken_pipe() => {}
            _ => {
                let _ = io::stderr().write_all(self.render(io::stderr().is_terminal()).as_bytes());
            }
        }
    }

    fn render(&self, terminal: bool) -> String {
        let handler = if terminal {
            let colours = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
            let theme = if colours { GraphicalTheme::unicode() } else { GraphicalTheme::unicode_nocolor() };
            GraphicalReportHandler::new_themed(theme).with_width(width())
        } else {
            GraphicalReportHandler::new_themed(GraphicalTheme::unicode_nocolor()).with_wrap_lines(false)
        };
        // Text from files may contain control characters.
        let mut diagnostic = MietteDiagnostic::new(printable::line(&self.to_string()));
        diagnostic.help = self.help().map(|help| printable::line(&help));
        let mut text = String::new();
        match handler.without_cause_chain().render_report(&mut text, &diagnostic) {
            Ok(()) => text,
            Err(_) => format!("error: {diagnostic}\n"),
        }
    }

    fn help(&self) -> Option<String> {
        match self {
            Self::Usage(_) | Self::Unresolved => None,
            Self::Reported(error @ Error::Config { .. }) => {
                error.help().map(|help| format!("{help}; the command's --help describes it"))
            }
            Self::Reported(error @ Error::Run { .. }) => error.help().map(|help| format!("{help}; -v logs more")),
            Self::Reported(error) => error.help(),
            Self::Internal(_) => Some(
                "this is a bug in the program; please report it with the command and the log of -v. Another --backend \
                 may work in the meantime"
                    .into(),
            ),
        }
    }
}

/// Returns the width of the terminal, limited to a readable range.
fn width() -> usize {
    let columns = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    columns.unwrap_or(100).clamp(40, 120)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message_and_help_are_plain_without_a_terminal() {
        let text = Failure::Reported(Error::input("nothing there", "give something")).render(false);
        assert!(text.contains("nothing there") && text.contains("help: give something"), "{text}");
        assert!(!text.contains('\u{1b}'), "{text:?}");
    }

    #[test]
    fn text_from_files_cannot_control_the_terminal() {
        let text = Failure::Reported(Error::input("column \u{1b}[2J", "name \u{9b}2J")).render(false);
        assert!(text.contains("column \\u{1b}[2J") && text.contains("help: name \\u{9b}2J"), "{text:?}");
    }
}
