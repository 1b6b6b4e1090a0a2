//! Partial differential equations without a mesh: a network of Gaussian radial basis functions, trained so that it
//! fulfils the equation at points inside and its boundary conditions at points on the boundary (Gorbachenko and
//! Artyukhina 2010; Matveeva 2011).

mod accuracy;
mod assemble;
mod bits;
pub mod cases;
mod conditions;
mod fusion;
mod gauss;
mod householder;
mod kernel;
mod lm;
mod lsqr;
mod ndarray;
mod network;
pub mod ops;
mod problem;
mod qr;
pub mod reference;
#[cfg(test)]
mod samples;
mod saved;
mod subset;
mod tensor_ops;
mod triangular;
mod trust;
mod width;

pub use accuracy::{Accuracy, accuracy};
pub use assemble::{Weighted, residual};
pub use conditions::{Coefficient, Conditions, System};
pub use lm::{Lm, Moved};
pub use lsqr::{Lsqr, Operator, Preconditioner, lsqr};
pub use network::RbfNetwork;
pub use ops::RbfOps;
pub use problem::{
    Boundary, BoundaryPoints, BoundaryRule, Condition, Domain, Equation, Expression, Function, Grid, Piece, Predicate,
    Problem, Sampling,
};
pub use qr::{Fit, fit};
pub use saved::NetworkFormat;
pub use width::{Tried, WidthSearch, search_width};
