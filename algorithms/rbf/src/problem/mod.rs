//! Boundary value problems: operator, domain, boundary conditions, control points.

mod affine;
pub(crate) mod boundary;
pub(crate) mod boundary_rows;
pub(crate) mod condition;
mod continuation;
mod contradiction;
pub(crate) mod definition;
mod derivative;
mod discontinuity;
pub(crate) mod domain;
mod dual;
pub(crate) mod equation;
pub(crate) mod expression;
mod file;
pub(crate) mod function;
pub(crate) mod grid;
mod index;
#[cfg(test)]
mod inverse_file_tests;
mod named;
pub(crate) mod non_linear;
mod operators;
mod periodic;
mod polygon;
pub(crate) mod predicate;
mod primitive;
pub(crate) mod region;
mod residual_text;
mod rewriting;
mod sampling;
mod sequence;
mod shape;
mod slab;
#[cfg(test)]
mod system_tests;
pub(crate) mod tabulated;
pub(crate) mod time;
mod token;
pub(crate) mod unknown;
mod variation;
