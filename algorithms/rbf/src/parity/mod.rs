//! Parity tests: every operation against [`mod@reference`] with derived error bounds.
//!
//! A new operation is one entry in [`cases`]. Inputs are exact in the backend's floats, so that the reference computes
//! from the same numbers; `bounds` derives the error bounds of single operations, `loops` those of iterations.

mod bounds;
mod checks;
mod inputs;
mod loops;
mod operations;
mod problem;
pub mod reference;
mod size;
mod suite;
mod tensors;
#[cfg(test)]
mod tests;

pub use checks::{Case, Check, cases};
pub use problem::Problem;
#[cfg(test)]
pub(crate) use size::sizes;
pub use size::{Size, shapes};
pub use suite::Suite;
