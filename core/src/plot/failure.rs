//! Errors of drawing.

use crate::error::Error;

/// An error of the plotter.
pub(super) fn failed(what: impl std::fmt::Display) -> Error {
    Error::Run { device: "the plotter".into(), phase: "drawing".into(), what: what.to_string() }
}
