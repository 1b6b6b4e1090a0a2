//! Arguments and results of operations and solvers.

mod conditions;
mod operands;
mod options;
mod strategy;

pub(crate) use conditions::root_mean;
pub use conditions::{Coefficient, Conditions, System};
pub use operands::{Aim, Form, Rows, Shape, Term, Whole};
pub use options::{Redraw, Sampling, ShapeSolver, Weights, Width};
pub use strategy::{Extent, Strategy, Way};
