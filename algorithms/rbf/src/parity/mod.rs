//! Parity tests: every operation against a reference in f64, with derived error bounds.
//!
//! A new operation is one entry in [`cases`]. Inputs are exact in the backend's floats, so that the reference computes
//! from the same numbers; `bounds` derives the error bounds of single operations, `loops` those of iterations.

mod bounds;
mod decomposition;
mod inputs;
mod loops;
mod operators;
mod problem;
pub(crate) mod reference;
mod size;
mod tensors;
#[cfg(test)]
mod tests;
#[cfg(not(test))] // Unit tests do not compile every backend again.
mod trials;

pub use crate::ops::Suite;
pub use problem::{Problem, cases};
#[cfg(test)]
pub(crate) use size::sizes;
pub use size::{Size, shapes};
#[cfg(not(test))]
pub use trials::{Operations, trials};
