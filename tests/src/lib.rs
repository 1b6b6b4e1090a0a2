//! Tests of the whole; see `tests/`.

#![allow(clippy::unwrap_used, clippy::panic)]

pub mod parity;
pub mod program;
