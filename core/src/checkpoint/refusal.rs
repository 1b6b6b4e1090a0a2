//! The errors of states that cannot be resumed because of their content.

use std::fmt::Display;

use crate::error::{Error, Result};

/// Largest count in a state, far above any run's and far below an overflow.
pub const MAX_COUNT: usize = 1 << 53;

/// The error for a state that cannot be resumed because of its content.
pub fn refuse(what: impl Into<String>) -> Error {
    Error::input(what, "give the file as `checkpoint` wrote it, or start the run anew without `resume`")
}

/// The error for a state whose content contradicts itself or the run, as `what` describes.
pub(super) fn inconsistent(what: impl Display) -> Error {
    refuse(format!("this state is inconsistent: {what}"))
}

/// Fails unless a condition on a state holds; `what` describes its violation.
pub fn require(holds: bool, what: &str) -> Result<()> {
    if holds { Ok(()) } else { Err(inconsistent(what)) }
}
