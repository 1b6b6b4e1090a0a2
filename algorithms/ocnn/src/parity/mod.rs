//! Parity tests: every operation against [`reference`](mod@reference), with derived error bounds.
//!
//! A new operation is one entry in [`cases`](fn@cases). Inputs are exact in the backend's floats, so the reference
//! computes from the same numbers; u is the backend's unit roundoff.

mod cases;
mod compare;
mod graph;
mod problem;
pub mod reference;
mod steps;
mod sync;
#[cfg(not(test))] // Unit tests do not compile every backend again.
mod trials;

pub use crate::ops::Suite;
pub use cases::cases;
pub use problem::{Problem, Shape, shapes};
#[cfg(not(test))]
pub use trials::{Operations, trials};

#[cfg(test)]
mod tests;
