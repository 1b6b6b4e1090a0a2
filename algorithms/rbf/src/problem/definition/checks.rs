//! Checks of unknowns and equations against each other.

use firebox_core::{Error, Result};

use crate::problem::{
    domain::Domain,
    equation::{Derivative, Equation},
    function::Function,
    unknown::{Role, Unknown},
};

/// Dimensions up to which functions may depend on some of the coordinates.
const MOST_OF_PARTIAL: usize = 3;
/// Relative difference up to which values are the same.
const SAME: f64 = 1e-9;

/// Fails for derivatives of coefficients along axes on which they do not depend, for numbers that start from one that is not
/// finite, and for functions that depend on no coordinate, not on all of more than three, or start from one of other coordinates.
pub(super) fn check_coefficients(
    names: &[String],
    roles: &[Role],
    equations: &[Equation],
    domain: &Domain,
) -> Result<()> {
    let dims = domain.dims();
    for (name, (unknown, role)) in names.iter().zip(roles.iter().enumerate()) {
        let is_varying = |axis: &usize| !role.is_constant_along(*axis);
        let own = equations.iter().flat_map(Equation::arguments).filter(|it| it.unknown == unknown);
        let mut axes = own.filter(|it| it.derivative != Derivative::Value).flat_map(|it| match it.derivative {
            Derivative::Laplacian => (0..dims).collect(),
            other => other.axes().to_vec(),
        });
        let fixed = axes.find(|axis| !is_varying(axis));
        match role {
            Role::Parameter { .. } if fixed.is_some() => {
                let what = format!("an equation contains a derivative of {name}, which is a number");
                return Err(Error::input(what, "leave it out; a number has no derivatives"));
            }
            Role::Parameter { start } if !start.is_finite() => {
                return Err(Error::input(format!("{name} starts from {start}"), "give a finite number"));
            }
            Role::Field { constant_along, start } if !constant_along.is_empty() => {
                if let Some(axis) = constant_along.iter().find(|axis| **axis >= dims) {
                    let what = format!("{name} does not depend on coordinate {axis}, of {dims}");
                    return Err(Error::input(what, "coordinates are counted from 0"));
                }
                if depends_on(start, constant_along, domain)? {
                    let what = format!("the start of {name} depends on a coordinate on which {name} does not");
                    return Err(Error::input(what, "give one of the other coordinates"));
                }
                if !(0..dims).any(|axis| is_varying(&axis)) {
                    let what = format!("the function {name} depends on no coordinate");
                    return Err(Error::input(what, "make it a number, by [parameters]"));
                }
                if dims > MOST_OF_PARTIAL {
                    let what = format!("the function {name} depends on some of {dims} coordinates");
                    return Err(Error::input(what, "let it depend on all of them, or solve in up to three dimensions"));
                }
                if fixed.is_some() {
                    let what = format!(
                        "an equation contains a derivative of {name} by a coordinate on which it does not depend"
                    );
                    return Err(Error::input(what, "leave it out: it is 0"));
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// Returns `true` if a function differs between ends of some axes.
fn depends_on(function: &Function, axes: &[usize], domain: &Domain) -> Result<bool> {
    let (low, high) = domain.bounds();
    let at = |share: f64| -> Vec<f64> {
        let share = |axis: usize| if axes.contains(&axis) { share } else { 0.4 };
        (0..low.len()).map(|axis| low[axis] + share(axis) * (high[axis] - low[axis])).collect()
    };
    let [first, last] = [0.0, 1.0].map(|share| function.values(&at(share), low.len()));
    let (first, last) = (first?[0], last?[0]);
    Ok((first - last).abs() > SAME * first.abs().max(last.abs()))
}

/// Fails unless there are as many equations as solutions, and as many exact functions as unknowns if there are any.
pub(in crate::problem) fn check_counts(unknowns: &[Unknown], equations: &[Equation], exact: &[Function]) -> Result<()> {
    let count = |n: usize, what: &str| if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") };
    let names = |all: &[&Unknown]| all.iter().map(|it| it.name.as_str()).collect::<Vec<_>>().join(", ");
    let solutions: Vec<&Unknown> = unknowns.iter().filter(|it| matches!(it.role, Role::Solution)).collect();
    if equations.len() != solutions.len() || solutions.is_empty() {
        let (own, names) = (count(equations.len(), "equation"), names(&solutions));
        let what = format!("{own} for {}, {names}", count(solutions.len(), "unknown"));
        return Err(Error::input(what, "give an equation for each unknown"));
    }
    if !exact.is_empty() && exact.len() != unknowns.len() {
        let what = format!("{} for {}", count(exact.len(), "exact solution"), count(unknowns.len(), "unknown"));
        let names = names(&unknowns.iter().collect::<Vec<_>>());
        return Err(Error::input(what, format!("give one for each, in the order {names}")));
    }
    Ok(())
}
