//! Problems for parity tests: every operation against [`reference`](mod@reference), with derived tolerances.
//!
//! A new operation is one entry in [`cases()`]. Inputs are exact in the backend's floats, so the reference computes
//! from the same numbers; `bounds` derives the errors that a correct implementation may have.

mod bounds;
mod cases;
mod checks;
mod inputs;
mod many_points;
mod origin;
mod problem;
pub mod reference;
mod shapes;
mod shares;
mod suite;
#[cfg(test)]
mod tests;

pub use self::{
    cases::{Case, Check, cases},
    problem::Problem,
    shapes::{Shape, shapes},
    suite::Suite,
};
