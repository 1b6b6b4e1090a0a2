//! Partial differential equations without a mesh: a network of Gaussian radial basis functions, trained so that it
//! fulfils the equation at points inside and its boundary conditions at points on the boundary (Gorbachenko and
//! Artyukhina 2010; Matveeva 2011).

mod conditions;
mod problem;

pub use conditions::{Coefficient, Conditions, System};
pub use problem::{
    Boundary, BoundaryPoints, BoundaryRule, Condition, Domain, Equation, Expression, Function, Grid, Piece, Predicate,
    Problem, Sampling,
};
