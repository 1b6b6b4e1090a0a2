//! The unknowns of a problem, their blocks of columns, and their measured values.

use firebox_core::{Error, Result};

use super::Problem;
use crate::problem::{
    condition::{BoundaryRule, Condition},
    domain::Domain,
    equation::{Derivative, Equation},
    function::format_point,
    unknown::{Measurements, Role},
};
use crate::types::MAX_DIMS;

/// Distance up to which points outside count as boundary, in diameters.
const EDGE: f64 = 1e-9;

/// A block of columns: an unknown in a region.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Block<'a> {
    /// The domain of the region.
    pub(crate) domain: &'a Domain,
    /// Axes along which the unknown is constant.
    pub(crate) constant: [bool; MAX_DIMS],
}

impl Block<'_> {
    /// Returns `true` if the unknown is a number.
    pub(crate) fn is_number(&self) -> bool {
        self.constant[..self.domain.dims()].iter().all(|is_constant| *is_constant)
    }
}

impl Problem {
    /// The block of an unknown in a region, and of an equation of the region: they are numbered by region, then by unknown.
    pub(crate) fn block(&self, region: usize, unknown: usize) -> usize {
        region * self.unknowns.len() + unknown
    }

    /// The blocks in their order.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = Block<'_>> {
        let constant = |role: &Role| std::array::from_fn(|axis| role.is_constant_along(axis));
        self.regions().flat_map(move |domain| self.roles.iter().map(move |it| Block { domain, constant: constant(it) }))
    }

    /// Number of the unknowns that equations have as solutions, which are the first.
    pub(crate) fn solutions(&self) -> usize {
        self.roles.iter().filter(|role| matches!(role, Role::Solution)).count()
    }

    /// Names of the unknowns that are functions of the coordinates, which precede those that are numbers.
    pub fn function_names(&self) -> &[String] {
        let count = self.roles.iter().filter(|role| !matches!(role, Role::Parameter { .. })).count();
        &self.unknowns[..count]
    }

    /// Returns `true` if an unknown has boundary conditions with values.
    pub(crate) fn is_bounded(&self, unknown: usize) -> bool {
        let has_values = |rule: &BoundaryRule| !matches!(rule.condition, Condition::Free | Condition::Periodic { .. });
        self.rules.iter().any(|rule| rule.unknown == unknown && has_values(rule))
    }

    /// The role of each unknown.
    pub(crate) fn roles(&self) -> &[Role] {
        &self.roles
    }

    /// Measured values.
    pub fn measurements(&self) -> &[Measurements] {
        &self.measurements
    }

    /// Adds measured values, which determine fields and parameters.
    ///
    /// # Errors
    ///
    /// [`Error::Input`] for values that are not finite, of an unknown that is not a function, outside the domain, or of a problem
    /// in slabs of time.
    pub fn with_measurements(mut self, measurements: Measurements) -> Result<Self> {
        let Measurements { name, unknown, points, .. } = &measurements;
        measurements.check(self.dims())?;
        if self.time.is_some() {
            let what = format!("{name} has measured values, and the problem is solved in slabs of time");
            return Err(Error::input(what, "leave out the slabs"));
        }
        if *unknown >= self.function_names().len() {
            let what = format!("{name} measures unknown {unknown}, which is not a function");
            return Err(Error::input(what, format!("give one of {}", self.function_names().join(", "))));
        }
        let edge = EDGE * self.domain.diameter();
        let outside = |point: &&[f64]| self.domain.signed_distance(point) > edge;
        if let Some(point) = points.chunks_exact(self.dims()).find(outside) {
            let what = format!("{name} has a value at {}, outside the domain", format_point(point));
            return Err(Error::input(what, "leave it out"));
        }
        // The problems of a continuation have the same coefficients.
        let with = |(name, earlier): &(String, Self)| {
            Ok((name.clone(), earlier.clone().with_measurements(measurements.clone())?))
        };
        self.continuation = self.continuation.iter().map(with).collect::<Result<Vec<_>>>()?.into();
        self.measurements.push(measurements);
        Ok(self)
    }

    /// Fails if there are coefficients to find, and no measured values.
    pub(crate) fn check_measured(&self) -> Result<()> {
        let coefficients = &self.unknowns[self.solutions()..];
        if coefficients.is_empty() || !self.measurements.is_empty() {
            return Ok(());
        }
        let what = format!("nothing determines {}: there are no measured values", coefficients.join(", "));
        Err(Error::input(what, "give data: [[data]] file = \"…\" in a problem's file, or arrays in code"))
    }

    /// The unknowns that the equations and boundary conditions of a system contain in derivatives only, as a pressure: they
    /// are determined up to a constant.
    ///
    /// # Errors
    ///
    /// Those of [`boundary`](Self::boundary).
    pub(crate) fn open_unknowns(&self) -> Result<Vec<usize>> {
        if self.unknowns.len() == 1 {
            return Ok(Vec::new());
        }
        let mut is_open = vec![true; self.unknowns.len()];
        self.measurements.iter().for_each(|it| is_open[it.unknown] = false);
        for argument in (0..self.regions.len()).flat_map(|it| self.equations(it)).flat_map(Equation::arguments) {
            is_open[argument.unknown] &= argument.derivative != Derivative::Value;
        }
        let (rows, owners) = self.boundary_rows(&self.outline()?)?;
        for (i, owner) in owners.iter().enumerate() {
            is_open[owner.unknown] &= rows.value.at(i) == 0.0;
        }
        Ok((0..is_open.len()).filter(|&unknown| is_open[unknown]).collect())
    }
}
