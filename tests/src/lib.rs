//! Tests across all crates, and their shared code.

#![allow(clippy::unwrap_used, clippy::panic)]

pub mod program;
pub mod schema;
