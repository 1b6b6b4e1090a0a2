//! Helpers for tests in several modules.

pub(crate) mod ranks;
pub(crate) mod reference;
pub(crate) mod samples;
