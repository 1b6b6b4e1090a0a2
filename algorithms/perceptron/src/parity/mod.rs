//! Parity tests: every operation against the [`reference`](mod@reference), within derived error bounds.
//!
//! A new operation is one entry in [`cases`]. Inputs are exact in the float under test, so that the reference computes from
//! equal numbers; u is the unit roundoff of that float.

mod adam;
mod bounds;
mod checks;
#[cfg(test)]
mod gradients;
mod prediction;
mod problem;
pub mod reference;
#[cfg(not(test))] // Unit tests do not compile every backend again.
mod trials;

pub use crate::ops::Suite;
pub use checks::cases;
pub use problem::{Problem, Shape, shapes};
#[cfg(not(test))]
pub use trials::{Operations, trials};

#[cfg(test)]
mod tests;
