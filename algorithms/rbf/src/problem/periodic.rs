//! Periodic boundaries: opposite faces of the domain's box at which u and its derivative are equal.

use firebox_core::{Error, Result};

use super::{
    boundary::BoundaryPoints,
    condition::Condition,
    definition::Problem,
    equation::{Derivative, Equation},
    function::format_point,
    region::{InterfaceRow, Side},
};

/// Distance from a face up to which a point is on it, in diameters of the domain.
const ON: f64 = 1e-9;
/// Distance of a component of the normal from 1 on a face.
const ALONG: f64 = 1e-9;

impl Problem {
    /// The point on the opposite face of the domain's box along `axis`, if a point of the boundary with a unit normal is on one
    /// of them.
    fn opposite(&self, axis: usize, point: &[f64], normal: &[f64]) -> Option<Vec<f64>> {
        let (low, high) = self.domain().bounds();
        let near = ON * self.domain().diameter();
        let is_at = |face: f64| (point[axis] - face).abs() <= near;
        let to = match [low[axis], high[axis]].map(is_at) {
            _ if normal[axis].abs() < 1.0 - ALONG => return None,
            [true, _] => high[axis],
            [_, true] => low[axis],
            _ => return None,
        };
        let mut opposite = point.to_vec();
        opposite[axis] = to;
        Some(opposite)
    }

    /// Returns `true` if a condition can apply at a point: all but periodic ones, which are those of two faces.
    pub(super) fn applies(&self, condition: &Condition, point: &[f64], normal: &[f64]) -> bool {
        match condition {
            Condition::Periodic { axis } => self.opposite(*axis, point, normal).is_some(),
            _ => true,
        }
    }

    /// The point opposite to one of the boundary, if a periodic condition may apply there.
    pub(crate) fn partner(&self, point: &[f64], normal: &[f64]) -> Option<Vec<f64>> {
        self.rules().iter().find_map(|rule| match rule.condition {
            Condition::Periodic { axis } => self.opposite(axis, point, normal),
            _ => None,
        })
    }

    /// The conditions between opposite points of periodic boundaries, at those of the points that are on the lower face: u is
    /// equal, and where the equation has second derivatives by the axis between them its first derivative.
    ///
    /// # Errors
    ///
    /// [`Error::Input`] if a point of the boundary has no condition, or if there is no boundary opposite to it.
    pub(crate) fn periodic_rows(&self, at: &BoundaryPoints) -> Result<Vec<InterfaceRow>> {
        let dims = self.dims();
        let mut rows = Vec::new();
        for (i, point) in at.points.chunks_exact(dims).enumerate() {
            let normal = &at.normals[i * dims..(i + 1) * dims];
            for unknown in 0..self.unknowns().len() {
                let rule = self.rule(unknown, point, normal, at.piece[i])?;
                let Some(Condition::Periodic { axis }) = rule.map(|rule| &rule.condition) else { continue };
                let Some(opposite) = self.opposite(*axis, point, normal) else { continue };
                self.check_opposite(point, &opposite)?;
                if normal[*axis] < 0.0 {
                    let pairs = self.between(unknown, *axis, [point, &opposite]);
                    rows.extend(pairs.map(|sides| InterfaceRow { at: i, sides, target: 0.0 }));
                }
            }
        }
        Ok(rows)
    }

    /// The conditions of an unknown between two opposite points along an axis.
    fn between(&self, unknown: usize, axis: usize, points: [&[f64]; 2]) -> impl Iterator<Item = [Side; 2]> {
        let regions = points.map(|point| self.region_of(point));
        let has_second = |&region: &usize| {
            let arguments = self.equations(region).iter().flat_map(Equation::arguments);
            arguments.filter(|it| it.unknown == unknown).any(|it| match it.derivative {
                Derivative::Laplacian => true,
                Derivative::Second(i, j) => i == axis || j == axis,
                Derivative::Value | Derivative::First(_) => false,
            })
        };
        let blocks = regions.map(|region| self.block(region, unknown));
        let row = move |value: f64, derivative: f64| {
            let side = |k: usize, sign: f64| {
                let mut gradient = vec![0.0; points[k].len()];
                gradient[axis] = sign * derivative;
                Side { block: blocks[k], point: points[k].to_vec(), value: sign * value, gradient }
            };
            [side(0, 1.0), side(1, -1.0)]
        };
        let of_derivative = regions.iter().any(has_second).then(|| row(0.0, 1.0));
        [row(1.0, 0.0)].into_iter().chain(of_derivative)
    }

    /// Fails unless a point is on the boundary.
    fn check_opposite(&self, point: &[f64], opposite: &[f64]) -> Result<()> {
        if self.domain().signed_distance(opposite).abs() <= ON * self.domain().diameter() {
            return Ok(());
        }
        let [from, to] = [point, opposite].map(format_point);
        let what = format!("the boundary is periodic at {from}, and {to} opposite to it is not on the boundary");
        Err(Error::input(what, "give the part without an opposite another condition, before the periodic one"))
    }
}

#[cfg(test)]
mod tests {
    use firebox_core::random::Random;

    use super::*;
    use crate::types::Sampling;

    fn problem(equation: &str, domain: &str) -> Result<Problem> {
        Problem::parse(&format!(
            "coordinates = ['x', 't']\nequation = {{ terms = {equation} }}\ndomain = {domain}\n\
             boundary = [{{ condition = 'periodic', on = 'x' }}, {{ condition = 'none', on = 't=high' }},\n\
             {{ condition = 'dirichlet', value = 'x' }}]"
        ))
    }

    const BOX: &str = "{ type = 'box', low = [1, 0], high = [3, 1] }";

    fn rows(problem: &Problem) -> Result<Vec<InterfaceRow>> {
        problem.periodic_rows(&problem.boundary_points(60, Sampling::Sobol, &mut Random::new(1, 0))?)
    }

    #[test]
    fn opposite_points_are_equal_in_u_and_its_derivative_where_the_equation_has_a_second_one() {
        let heat = problem("{ u_t = 1, u_xx = -1 }", BOX).unwrap();
        let both = rows(&heat).unwrap();
        assert!(both.len() > 10 && both.len().is_multiple_of(2));
        for pair in both.chunks(2) {
            for (row, value) in pair.iter().zip([1.0, 0.0]) {
                let [low, high] = &row.sides;
                assert_eq!((low.point[0], high.point[0], row.target), (1.0, 3.0, 0.0));
                assert_eq!((low.point[1], low.value, high.value), (high.point[1], value, -value));
                let derivative = 1.0 - value;
                assert_eq!((&low.gradient, &high.gradient), (&vec![derivative, 0.0], &vec![-derivative, 0.0]));
            }
        }
        let advection = problem("{ u_t = 1, u_x = 1 }", BOX).unwrap();
        assert!(rows(&advection).unwrap().iter().all(|row| row.sides[0].value == 1.0));
        let at = advection.boundary_points(60, Sampling::Sobol, &mut Random::new(1, 0)).unwrap();
        let (conditions, _) = advection.boundary_rows(&at).unwrap();
        assert!(!conditions.is_empty() && (0..conditions.len()).all(|i| conditions.point(i)[1] == 0.0));
        assert!(heat.check_paper().is_err());
    }

    #[test]
    fn boundaries_without_an_opposite_are_refused() {
        let disc = "{ type = 'disc', centre = [0, 0], radius = 1 }";
        let cut =
            format!("{{ type = 'difference', parts = [{BOX}, {{ type = 'disc', centre = [3, 0.5], radius = 0.2 }}] }}");
        let equation = "{ u_t = 1, u_xx = -1 }";
        let error = problem(equation, &cut).unwrap_err().to_string();
        assert!(
            error.contains("the boundary is periodic at (1, 0.") && error.contains("not on the boundary"),
            "{error}"
        );
        // Nothing of a disc is on a face of its box.
        assert!(problem(equation, disc).unwrap_err().to_string().contains("no shape or face of the domain"));
    }
}
