//! The boundary conditions of a problem at points.

use firebox_core::{Error, Result, watch::Watch};

use super::{
    boundary::{BoundaryPoints, names},
    condition::{BoundaryRule, Condition, rows_at},
    definition::Problem,
    function::format_point,
};
use crate::types::{Coefficient, Conditions};

/// Component of a unit normal from which on the boundary is across an axis.
const ACROSS: f64 = 1.0 - 1e-6;

/// The point, by its index, and the unknown of a boundary condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Owner {
    pub(crate) point: usize,
    pub(crate) unknown: usize,
}

impl Problem {
    /// The boundary conditions at points.
    ///
    /// # Errors
    ///
    /// [`Error::Input`] if a point has no condition, or one that is not finite or whose coefficients are all 0.
    pub(crate) fn boundary(&self, at: &BoundaryPoints) -> Result<Conditions> {
        self.boundary_rows(at).map(|rows| rows.0)
    }

    /// The boundary conditions at points, and the point and the unknown of each: a point may have any number.
    ///
    /// # Errors
    ///
    /// Those of [`boundary`](Self::boundary).
    pub(crate) fn boundary_rows(&self, at: &BoundaryPoints) -> Result<(Conditions, Vec<Owner>)> {
        let (dims, watch) = (self.dims(), Watch::current());
        let mut points_of = vec![Vec::new(); self.rules().len()];
        for (i, point) in at.points.chunks(dims).enumerate() {
            watch.go_on_at(i)?;
            let normal = &at.normals[i * dims..(i + 1) * dims];
            for unknown in 0..self.unknowns().len() {
                if let Some(rule) = self.rule_at(unknown, point, normal, at.piece[i])? {
                    points_of[rule].push(i);
                }
            }
        }
        let mut rows = Vec::new();
        for (rule, own) in self.rules().iter().zip(points_of).filter(|(_, own)| !own.is_empty()) {
            let of = |all: &[f64]| own.iter().flat_map(|i| &all[i * dims..(i + 1) * dims]).copied().collect::<Vec<_>>();
            for each in rows_at(&rule.condition, &of(&at.points), &of(&at.normals), dims)? {
                let owner = |&point: &usize| Owner { point, unknown: rule.unknown };
                rows.extend(own.iter().map(owner).zip(each));
            }
        }
        // Stable: the rows of a point stay in order.
        rows.sort_by_key(|(owner, _)| owner.point);
        let (mut value, mut target, mut owners) = (Vec::new(), Vec::new(), Vec::new());
        let (mut gradient, mut points) = (Vec::new(), Vec::new());
        for (owner, row) in rows {
            let i = owner.point;
            let point = &at.points[i * dims..(i + 1) * dims];
            if row.value == 0.0 && row.gradient.iter().all(|&b| b == 0.0) {
                let (at, name) = (format_point(point), &self.unknowns()[owner.unknown]);
                let what = format!("the boundary condition at {at} asks nothing of {name}");
                return Err(Error::input(what, "give normal or coefficient a value other than 0 there"));
            }
            gradient.extend(row.gradient);
            points.extend_from_slice(point);
            value.push(row.value);
            target.push(row.target);
            owners.push(owner);
        }
        let conditions = Conditions {
            dims,
            points,
            laplacian: Coefficient::Zero,
            gradient: gradient.iter().any(|&b| b != 0.0).then_some(gradient),
            value: match &value {
                all if all.iter().all(|&c| c == 1.0) => Coefficient::One,
                all if all.iter().all(|&c| c == 0.0) => Coefficient::Zero,
                _ => Coefficient::Each(value),
            },
            target,
        };
        Ok((conditions, owners))
    }

    /// The first rule of an unknown that applies to a point on a piece, where the outward unit normal is `normal`; `None` where
    /// no rule applies to an unknown of a system that has none but [`Condition::Free`] and [`Condition::Periodic`], and across
    /// axes along which the unknown is constant.
    ///
    /// # Errors
    ///
    /// [`Error::Input`] if none of its rules applies.
    pub(super) fn rule(
        &self,
        unknown: usize,
        point: &[f64],
        normal: &[f64],
        piece: usize,
    ) -> Result<Option<&BoundaryRule>> {
        Ok(self.rule_at(unknown, point, normal, piece)?.map(|rule| &self.rules()[rule]))
    }

    /// Returns `true` if an unknown does not depend on the coordinate across whose ends a normal is.
    fn is_constant_across(&self, unknown: usize, normal: &[f64]) -> bool {
        (0..self.dims()).any(|axis| normal[axis].abs() > ACROSS && self.roles()[unknown].is_constant_along(axis))
    }

    /// Fails for a condition of a function of some coordinates that is on ends of the others only.
    pub(super) fn check_partial(&self, at: &BoundaryPoints) -> Result<()> {
        for rule in self.rules() {
            let unknown = rule.unknown;
            let is_on = |point: &usize| rule.on.as_ref().is_none_or(|on| self.pieces()[at.piece[*point]].is(on));
            let mut own = (0..at.piece.len()).filter(is_on).peekable();
            let applies = match rule.condition {
                Condition::Free => true,
                Condition::Periodic { axis } => !self.roles()[unknown].is_constant_along(axis),
                _ => {
                    own.peek().is_none()
                        || own.any(|point| !self.is_constant_across(unknown, at.normal(point, self.dims())))
                }
            };
            if !applies {
                let name = &self.unknowns()[unknown];
                let what = format!(
                    "a condition of {name} never applies: {name} does not depend on the coordinate that ends there"
                );
                return Err(Error::input(what, "remove it"));
            }
        }
        Ok(())
    }

    /// Index of [`rule`](Self::rule).
    fn rule_at(&self, unknown: usize, point: &[f64], normal: &[f64], piece: usize) -> Result<Option<usize>> {
        // The end of a coordinate is no boundary of a function that does not depend on it.
        if self.is_constant_across(unknown, normal) {
            return Ok(None);
        }
        let is_system = self.unknowns().len() > 1;
        let pieces = self.pieces();
        let applies = |rule: &BoundaryRule| {
            rule.unknown == unknown
                && rule.on.as_ref().is_none_or(|on| pieces.get(piece).is_some_and(|piece| piece.is(on)))
                && rule.when.as_ref().is_none_or(|when| when.holds(point))
                && self.applies(&rule.condition, point, normal)
        };
        let found = self.rules().iter().position(applies);
        if is_system && found.is_none() && !self.is_bounded(unknown) {
            return Ok(None);
        }
        found.map(Some).ok_or_else(|| {
            let on = pieces.get(piece).map(|piece| names(std::slice::from_ref(piece))).unwrap_or_default();
            let of = if is_system { format!(" of {}", self.unknowns()[unknown]) } else { String::new() };
            let what = format!("the boundary has no condition{of} at {} ({on})", format_point(point));
            Error::input(what, "add one without 'on' and 'where' as the last; it holds wherever no other does")
        })
    }
}

#[cfg(test)]
mod tests {
    use firebox_core::random::Random;

    use super::Owner;
    use crate::{
        problem::{definition::Problem, function::Function},
        types::Sampling,
    };

    #[test]
    fn functions_of_many_points_give_the_rows_of_expressions_in_the_order_of_the_points() {
        let parsed = |normal: &str, value: &str| {
            let text = format!(
                "domain = {{ type = 'box', low = [0, 0], high = [1, 2] }}\n\
                 equation = {{ laplacian = 1 }}\n\
                 boundary = [{{ on = 'left', condition = 'robin', normal = {normal}, coefficient = 'y', value = {value} }},\n\
                 {{ where = 'x > y', condition = 'neumann', value = 'y' }}, {{ condition = 'dirichlet', value = {value} }}]"
            );
            let normal = Function::batch("normal", |p, dims| Ok(p.chunks(dims).map(|p| 2.0 + p[0]).collect()));
            let value = Function::batch("value", |p, dims| Ok(p.chunks(dims).map(|p| p[0] - p[1]).collect()));
            Problem::parse_with(&text, &[normal, value]).unwrap()
        };
        let [expressions, functions] = [parsed("'2 + x'", "'x - y'"), parsed("{ function = 0 }", "{ function = 1 }")];
        let at = expressions.boundary_points(300, Sampling::Uniform, &mut Random::new(0, 0)).unwrap();
        let (rows, owners) = expressions.boundary_rows(&at).unwrap();
        assert_eq!(functions.boundary_rows(&at).unwrap(), (rows.clone(), owners.clone()));
        let expected = (0..300).map(|point| Owner { point, unknown: 0 }).collect();
        assert_eq!((owners, &rows.points), (expected, &at.points));
        for (i, point) in at.points.chunks(2).enumerate() {
            let expected = if point[0] > 0.0 && point[0] > point[1] { point[1] } else { point[0] - point[1] };
            assert_eq!(rows.target[i], expected, "{point:?}");
        }
    }
}
