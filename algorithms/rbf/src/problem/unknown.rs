//! Unknowns of a problem: solutions of equations, and coefficients that measured values determine.

use std::sync::Arc;

use firebox_core::{Error, Result};

use super::function::{Function, format_point};

/// An unknown of a problem.
#[derive(Debug, Clone)]
pub struct Unknown {
    /// Name.
    pub name: String,
    /// Its role in the problem.
    pub role: Role,
}

/// The role of an unknown in a problem.
#[derive(Debug, Clone)]
pub enum Role {
    /// A solution; the problem has an equation for each.
    Solution,
    /// A coefficient that is a function of the coordinates.
    Field {
        /// The function from which the iteration starts.
        start: Function,
        /// Coordinates on which it does not depend, counted from 0.
        constant_along: Vec<usize>,
    },
    /// A coefficient that is a number.
    Parameter {
        /// The number from which the iteration starts.
        start: f64,
    },
}

impl<T: Into<String>> From<T> for Unknown {
    fn from(name: T) -> Self {
        Self { name: name.into(), role: Role::Solution }
    }
}

impl Unknown {
    /// A coefficient that is a function of the coordinates, near `start`.
    pub fn field(name: &str, start: Function) -> Self {
        Self { name: name.into(), role: Role::Field { start, constant_along: Vec::new() } }
    }

    /// A coefficient that is a function of the coordinates other than `axes`, counted from 0, near `start`.
    pub fn field_constant_along(name: &str, axes: &[usize], start: Function) -> Self {
        Self { name: name.into(), role: Role::Field { start, constant_along: axes.to_vec() } }
    }

    /// A coefficient that is a number, near `start`.
    pub fn parameter(name: &str, start: f64) -> Self {
        Self { name: name.into(), role: Role::Parameter { start } }
    }
}

impl Role {
    /// The order of roles within a problem.
    pub(super) fn rank(&self) -> usize {
        match self {
            Self::Solution => 0,
            Self::Field { .. } => 1,
            Self::Parameter { .. } => 2,
        }
    }

    /// Returns `true` if the unknown does not depend on a coordinate.
    pub(crate) fn is_constant_along(&self, axis: usize) -> bool {
        match self {
            Self::Solution => false,
            Self::Field { constant_along, .. } => constant_along.contains(&axis),
            Self::Parameter { .. } => true,
        }
    }

    /// The start of a coefficient.
    pub(crate) fn start(&self) -> Option<Function> {
        match self {
            Self::Solution => None,
            Self::Field { start, .. } => Some(start.clone()),
            Self::Parameter { start } => Some(Function::Constant(*start)),
        }
    }
}

/// Values of an unknown, measured at points.
#[derive(Debug, Clone, PartialEq)]
pub struct Measurements {
    /// Name, for messages: the file.
    pub name: String,
    /// The unknown, counted from 0.
    pub unknown: usize,
    /// The points, row-major n × dims, in the domain or on its boundary.
    pub points: Arc<[f64]>,
    /// The values, one a point.
    pub values: Arc<[f64]>,
    /// Standard deviation of their noise; estimated from the values if `None`.
    pub noise: Option<f64>,
}

impl Measurements {
    /// Fails for numbers that are not finite and counts that do not match.
    pub(super) fn check(&self, dims: usize) -> Result<()> {
        let Self { name, points, values, noise, .. } = self;
        let (n, count) = (values.len(), points.len());
        if n == 0 {
            return Err(Error::input(format!("{name} has no values"), "give some"));
        }
        if count != n * dims {
            let what = format!("{name} has {n} values at points of {count} coordinates");
            return Err(Error::input(what, format!("give {dims} coordinates for each value")));
        }
        let finite =
            |i: &usize| values[*i].is_finite() && points[i * dims..(i + 1) * dims].iter().all(|x| x.is_finite());
        if let Some(i) = (0..n).find(|i| !finite(i)) {
            let at = format_point(&points[i * dims..(i + 1) * dims]);
            let what = format!("{name}: row {} is not finite ({} at {at})", i + 1, values[i]);
            return Err(Error::input(what, "leave it out"));
        }
        if noise.is_some_and(|noise| !(noise.is_finite() && noise >= 0.0)) {
            let what = format!("{name}: noise = {}", noise.unwrap_or_default());
            return Err(Error::input(what, "give a standard deviation of at least 0, or leave it out"));
        }
        Ok(())
    }
}
