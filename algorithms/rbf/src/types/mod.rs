//! Arguments and results of operations, conditions, and options.

mod conditions;
mod operands;
mod options;
mod strategy;

pub(crate) use conditions::{Coefficient, Conditions, System, root_mean};
pub use operands::{Aim, Form, Rows, Shape, Term, Whole};
pub use options::{Redraw, Sampling, ShapeSolver, Weights, Width};
pub use strategy::{Extent, Strategy, Way};
