//! How a failure is shown, and what the shell gets to know of it.

use std::{
    fmt::Display,
    io::{self, IsTerminal, Write},
};

use firebox_core::Error;
use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme};

use crate::printable;

/// Why the program did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The command line is wrong.
    #[error(transparent)]
    Usage(#[from] clap::Error),
    #[error(transparent)]
    Known(#[from] Error),
    /// A mistake in the program: something panicked.
    #[error("internal error: {0}")]
    Internal(String),
}

/// A failure as a terminal may show it: messages carry text from files.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
struct Shown {
    message: String,
    help: Option<String>,
}

impl Diagnostic for Shown {
    fn help<'a>(&'a self) -> Option<Box<dyn Display + 'a>> {
        self.help.as_ref().map(|help| Box::new(help) as _)
    }
}

impl Failure {
    /// Whether it is only that whoever read our output has read enough.
    fn is_broken_pipe(&self) -> bool {
        matches!(self, Self::Known(Error::Io { source, .. }) if source.kind() == io::ErrorKind::BrokenPipe)
    }

    /// The exit code.
    pub(crate) fn code(&self) -> u8 {
        match self {
            Self::Usage(_) => 2,
            broken if broken.is_broken_pipe() => 0,
            Self::Known(error) => error.exit_code(),
            Self::Internal(_) => 1,
        }
    }

    /// Tells the person.
    pub(crate) fn show(&self) {
        match self {
            Self::Usage(error) => {
                let _ = error.print();
            }
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
        let help = self.help().map(|help| printable::line(&help));
        let shown = Shown { message: printable::line(&self.to_string()), help };
        let mut text = String::new();
        match handler.without_cause_chain().render_report(&mut text, &shown) {
            Ok(()) => text,
            Err(_) => format!("error: {shown}\n"),
        }
    }

    fn help(&self) -> Option<String> {
        match self {
            Self::Usage(_) => None,
            Self::Known(error) => error.help(),
            Self::Internal(_) => Some(
                "this is a mistake in the program, not yours; please report it with the command and what -v logs. \
                 Another --backend may work meanwhile"
                    .into(),
            ),
        }
    }
}

/// The terminal's width, within reason for reading.
fn width() -> usize {
    let columns = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    columns.unwrap_or(100).clamp(40, 120)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message_and_help_are_plain_without_a_terminal() {
        let text = Failure::Known(Error::input("nothing there", "give something")).render(false);
        assert!(text.contains("nothing there") && text.contains("help: give something"), "{text}");
        assert!(!text.contains('\u{1b}'), "{text:?}");
    }

    #[test]
    fn text_from_files_cannot_control_the_terminal() {
        let text = Failure::Known(Error::input("column \u{1b}[2J", "name \u{9b}2J")).render(false);
        assert!(text.contains("column \\u{1b}[2J") && text.contains("help: name \\u{9b}2J"), "{text:?}");
    }
}
