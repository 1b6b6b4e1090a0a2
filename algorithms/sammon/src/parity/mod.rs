//! Problems for parity tests: every operation against a reference in f64, with derived tolerances.
//!
//! A new operation is one entry in [`cases()`]. Inputs are exact in the backend's floats, so the reference computes
//! from the same numbers; `bounds` derives the errors that a correct implementation may have.

mod bounds;
mod cases;
mod checks;
#[cfg(test)]
mod edge_tests;
mod inputs;
mod problem;
mod reference;
mod shapes;
#[cfg(test)]
mod tests;
#[cfg(not(test))] // Unit tests do not compile every backend again.
mod trials;

pub use crate::ops::Suite;

pub use self::{
    cases::cases,
    problem::Problem,
    shapes::{Shape, shapes},
};
#[cfg(not(test))]
pub use trials::{Operations, trials};
