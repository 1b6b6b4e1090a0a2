//! The checks of all operations.

use super::{
    inputs::{KINDS, Kind},
    problem::Problem,
};
use crate::ops::RbfOps;

/// A check of an operation on a problem.
pub type Check<B> = Box<dyn Fn(&Problem<B>) -> Result<(), String> + Send>;

/// A named check of one operation.
pub struct Case<B: RbfOps> {
    /// The operation and its form.
    pub name: String,
    /// Fails with a description of the difference and its position.
    pub check: Check<B>,
}

/// All checks: one per operation and form.
pub fn cases<B: RbfOps>(_device: &B::Device) -> Vec<Case<B>> {
    let mut cases = Vec::new();
    let mut add = |name: String, check: Check<B>| cases.push(Case { name, check });
    for kind in KINDS {
        add(format!("matrix, {}", kind.name()), Box::new(move |p| p.check_matrix(kind)));
        add(format!("residual, {}", kind.name()), Box::new(move |p| p.check_residual(kind)));
        add(format!("transposed, {}", kind.name()), Box::new(move |p| p.check_transposed(kind)));
        add(format!("normal, {}", kind.name()), Box::new(move |p| p.check_normal(kind)));
        add(format!("gradient, {}", kind.name()), Box::new(move |p| p.check_gradient(kind)));
        add(format!("slopes, {}", kind.name()), Box::new(move |p| p.check_slopes(kind)));
    }
    add("normal, stored".into(), Box::new(Problem::check_stored));
    for (inside, edge) in [(Kind::Laplacian, Kind::Value), (Kind::All, Kind::Robin)] {
        let name = format!("{} and {}", inside.name(), edge.name());
        add(format!("descend, {name}"), Box::new(move |p| p.check_descend(inside, edge)));
        add(format!("conjugate, {name}"), Box::new(move |p| p.check_conjugate(inside, edge)));
    }
    cases
}
