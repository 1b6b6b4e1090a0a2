//! Boundary value problems: operator, domain, boundary conditions, control points.

pub(crate) mod boundary;
mod boundary_rows;
pub(crate) mod condition;
mod contradiction;
pub(crate) mod definition;
mod discontinuity;
pub(crate) mod domain;
pub(crate) mod equation;
pub(crate) mod expression;
mod file;
pub(crate) mod function;
pub(crate) mod grid;
mod index;
mod named;
mod periodic;
mod polygon;
pub(crate) mod predicate;
mod primitive;
pub(crate) mod region;
mod rewriting;
mod sampling;
mod sequence;
mod shape;
mod slab;
pub(crate) mod tabulated;
pub(crate) mod time;
mod token;
