//! Arguments and results of operations, conditions, and options.

mod conditions;
mod operands;
mod operators;
mod options;
mod strategy;

/// Maximum number of dimensions of a problem.
pub(crate) const MAX_DIMS: usize = 5;

pub(crate) use conditions::{Coefficient, Conditions, System, root_mean};
pub use operands::{Aim, Form, Rows, Shape, Term, Whole};
pub use operators::{Ellipsoids, Mixed, OperatorRows, RowSums};
pub use options::{Redraw, Sampling, ShapeSolver, Weights, Width};
pub use strategy::{Extent, Strategy, Way};
