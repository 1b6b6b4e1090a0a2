//! The part of a problem between two times.

use firebox_core::{Error, Result, random::Random};

use super::{
    boundary::BoundaryPoints,
    condition::{BoundaryRule, Condition},
    definition::Problem,
    equation::{Derivative, Equation},
    function::{Function, format_point},
    primitive::axis_name,
    time::TimeSlabs,
    unknown::Unknown,
};

/// Points on each face of the domain's box that stand for all of them.
const CHECKED: f64 = 300.0;
/// Maximum number of slabs.
const MAX_SLABS: usize = 10_000;

impl Problem {
    /// Solves the problem in slabs of time, each from the solution at the end of the one before.
    ///
    /// # Errors
    ///
    /// [`Error::Input`] for a domain of other shapes than boxes and extrusions along time that last all of it, and for a
    /// condition at the final time.
    pub fn with_time_slabs(mut self, slabs: TimeSlabs) -> Result<Self> {
        let TimeSlabs { axis, count } = slabs;
        if !self.measurements().is_empty() {
            let what = "problems with measured values are not solved in slabs of time";
            return Err(Error::input(what, "leave out time; the problem is solved in one piece"));
        }
        if !self.continuation().is_empty() {
            let what = "continuation and slabs of time exclude each other";
            return Err(Error::input(what, "leave out continuation: a slab starts from the one before"));
        }
        if axis >= self.dims() {
            let what = format!("coordinate {axis} is time, in a problem of {} dimensions", self.dims());
            return Err(Error::input(what, "coordinates are counted from 0"));
        }
        if count.is_some_and(|count| !(1..=MAX_SLABS).contains(&count)) {
            return Err(Error::input(format!("time has {} slabs", count.unwrap_or(0)), "give 1 to 10000"));
        }
        let (low, high) = self.time_span(axis);
        self.domain().between(axis, low, high)?;
        for region in self.given_regions() {
            region.shape.between(axis, low, high).map_err(|error| {
                let what = format!("region {}: {error}", region.name);
                Error::input(what, error.help().unwrap_or_default())
            })?;
        }
        let at = self.outline()?;
        for (i, point) in at.points.chunks_exact(self.dims()).enumerate() {
            let normal = &at.normals[i * self.dims()..(i + 1) * self.dims()];
            for unknown in (0..self.unknowns().len()).filter(|_| normal[axis] > 0.5) {
                let rule = self.rule(unknown, point, normal, at.piece[i])?;
                if rule.is_some_and(|rule| !matches!(rule.condition, Condition::Free)) {
                    let what = format!("the final time has a condition, at {}", format_point(point));
                    return Err(Error::input(what, "slabs of time need the condition none there"));
                }
            }
        }
        self.set_time_slabs(slabs);
        Ok(self)
    }

    /// The coordinate that is time: that of the slabs, or the one called t.
    pub(crate) fn time_axis(&self) -> Option<usize> {
        let named = || self.coordinates().iter().position(|name| name == "t");
        self.time_slabs().map(|slabs| slabs.axis).or_else(named)
    }

    /// Points on the boundary, as many on a face as on others however small it is.
    pub(crate) fn outline(&self) -> Result<BoundaryPoints> {
        let (low, high) = self.domain().bounds();
        let face = |_: &[f64], normal: &[f64]| -> f64 {
            let across = (0..normal.len()).max_by(|&i, &j| normal[i].abs().total_cmp(&normal[j].abs()));
            (0..normal.len()).filter(|&i| Some(i) != across).map(|i| high[i] - low[i]).product()
        };
        self.boundary_by_density(CHECKED, face, &mut Random::new(0, 0))
    }

    /// Start and end of time.
    pub(crate) fn time_span(&self, axis: usize) -> (f64, f64) {
        let (low, high) = self.domain().bounds();
        (low[axis], high[axis])
    }

    /// Start and end of slab k of `count`.
    pub(crate) fn slab_ends(&self, axis: usize, (k, count): (usize, usize)) -> (f64, f64) {
        let (low, high) = self.time_span(axis);
        let at = |k: usize| if k == count { high } else { low + (high - low) * k as f64 / count as f64 };
        (at(k), at(k + 1))
    }

    /// The problem between two times, which begins with u and ∂u/∂t of each unknown in `start`, if that is given, and ends
    /// without a condition. Unknowns without derivatives by time begin without a condition, but for those that are determined up to a
    /// constant, as a pressure: their constant is that of `start`.
    ///
    /// # Errors
    ///
    /// Those of [`of_system`](Self::of_system), and of [`with_regions`](Self::with_regions) for a region that does not last all
    /// time.
    pub(crate) fn slab(&self, axis: usize, ends: (f64, f64), start: Option<Vec<[Function; 2]>>) -> Result<Self> {
        let rule = |end: &str, unknown: usize, condition: Condition| BoundaryRule {
            on: Some(format!("{}={end}", axis_name(axis))),
            unknown,
            ..BoundaryRule::everywhere(condition)
        };
        let open = if start.is_some() { self.open_unknowns()? } else { Vec::new() };
        let first = start.into_iter().flatten().enumerate().map(|(unknown, [value, rate])| {
            let condition = match self.order_by(axis, unknown) {
                0 if !open.contains(&unknown) => Condition::Free,
                0 | 1 => Condition::Dirichlet { value },
                _ => Condition::Initial { value, rate },
            };
            rule("low", unknown, condition)
        });
        let last = (0..self.unknowns().len()).map(|unknown| rule("high", unknown, Condition::Free));
        let rules = first.chain(last).chain(self.rules().iter().cloned()).collect();
        let domain = self.domain().between(axis, ends.0, ends.1)?;
        let unknowns = self.unknowns().iter().zip(self.roles());
        let unknowns = unknowns.map(|(name, role)| Unknown { name: name.clone(), role: role.clone() }).collect();
        let rest = self.equations(self.regions().count() - 1).to_vec();
        let slab = Self::of_system(self.name(), domain, unknowns, rest, rules, self.exact_functions().to_vec())?
            .with_coordinates(self.coordinates())
            .with_regions(self.given_regions().to_vec())?;
        Ok(match self.state() {
            Some(state) => slab.about(state.clone()),
            None => slab,
        })
    }

    /// The highest order of derivatives of an unknown by an axis alone or with others.
    fn order_by(&self, axis: usize, unknown: usize) -> usize {
        let equations = (0..self.regions().count()).flat_map(|region| self.equations(region));
        let own = equations.flat_map(Equation::arguments).filter(|it| it.unknown == unknown);
        let order = own.map(|it| match it.derivative {
            Derivative::Value => 0,
            Derivative::First(i) => usize::from(i == axis),
            Derivative::Second(i, j) => usize::from(i == axis) + usize::from(j == axis),
            Derivative::Laplacian => 2,
        });
        order.max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::Sampling;

    fn text(terms: &str, domain: &str, end: &str) -> String {
        format!(
            "coordinates = ['x', 't']\nequation = {{ terms = {terms} }}\ndomain = {domain}\ntime = {{ slabs = 4 }}\n\
             boundary = [{{ condition = '{end}' }}, {{ condition = 'dirichlet', value = 'x + t' }}]"
        )
    }

    fn problem(terms: &str, domain: &str, end: &str) -> Result<Problem> {
        Problem::parse(&text(terms, domain, end))
    }

    const BOX: &str = "{ type = 'box', low = [0, 0], high = [1, 8] }";
    const END: &str = "none', on = 't=high";

    #[test]
    fn a_slab_begins_with_the_given_solution_and_ends_without_a_condition() {
        for (terms, rows) in [("{ u_t = 1, u_xx = -1 }", 1), ("{ u_tt = 1, u_xx = -1 }", 2)] {
            let all = problem(terms, BOX, END).unwrap();
            let start = [Function::given(|x| 10.0 + x[0]), Function::Constant(7.0)];
            let slab = all.slab(1, (2.0, 4.0), Some(vec![start])).unwrap();
            assert_eq!(slab.domain().bounds(), (&[0.0, 2.0][..], &[1.0, 4.0][..]));
            let at = slab.boundary_points(200, Sampling::Sobol, &mut Random::new(1, 0)).unwrap();
            let (conditions, owners) = slab.boundary_rows(&at).unwrap();
            let mut starts = 0;
            for (i, &owner) in owners.iter().enumerate() {
                let x = conditions.point(i);
                assert!(at.normals[2 * owner.point + 1] < 0.5);
                if at.normals[2 * owner.point + 1] < -0.5 {
                    starts += 1;
                    let of_u = conditions.value.at(i) == 1.0;
                    assert_eq!(conditions.target[i], if of_u { 10.0 + x[0] } else { 7.0 });
                } else {
                    assert_eq!(conditions.target[i], x[0] + x[1]);
                }
            }
            let points = owners
                .iter()
                .map(|owner| owner.point)
                .filter(|&point| at.normals[2 * point + 1] < -0.5)
                .collect::<std::collections::BTreeSet<_>>();
            assert_eq!(starts, rows * points.len());
        }
    }

    /// Of u_t, v_tt and p, the first begins with its value, the second with its derivative too, and p with nothing.
    #[test]
    fn unknowns_of_a_system_begin_by_the_order_of_their_equations() {
        let text = "coordinates = ['x', 't']\nunknowns = ['u', 'v', 'p']\ntime = { slabs = 4 }\n\
            domain = { type = 'box', low = [0, 0], high = [1, 8] }\n\
            boundary = [{ on = 't=high', condition = 'none' }, { of = ['u', 'v', 'p'], on = 't=low', condition = 'none' }, \
            { of = ['u', 'v'], condition = 'dirichlet', value = 5 }]\n\
            [[equation]]\nresidual = 'u_t - p_x'\n[[equation]]\nresidual = 'v_tt - v_xx + u*p'\n\
            [[equation]]\nresidual = 'p - u_x'\n";
        let start = [1.0, 2.0, 3.0].map(|k| [Function::Constant(k), Function::Constant(10.0 * k)]);
        let slab = Problem::parse(text).unwrap().slab(1, (2.0, 4.0), Some(start.to_vec())).unwrap();
        let at = slab.boundary_points(200, Sampling::Sobol, &mut Random::new(1, 0)).unwrap();
        let (conditions, owners) = slab.boundary_rows(&at).unwrap();
        for (point, normal) in at.normals.chunks_exact(2).enumerate() {
            let own = owners.iter().enumerate().filter(|(_, owner)| owner.point == point);
            let found: Vec<(usize, f64)> = own.map(|(row, owner)| (owner.unknown, conditions.target[row])).collect();
            let expected: &[(usize, f64)] = match normal[1] {
                first if first < -0.5 => &[(0, 1.0), (1, 2.0), (1, 20.0)],
                last if last > 0.5 => &[],
                _ => &[(0, 5.0), (1, 5.0)],
            };
            assert_eq!(found, expected, "{normal:?}");
        }
    }

    #[test]
    fn other_problems_are_refused() {
        let heat = "{ u_t = 1, u_xx = -1 }";
        let fixed = format!("{BOX}\nexact = 'x'");
        let error = problem(heat, &fixed, "dirichlet', on = 't=high").unwrap_err().to_string();
        assert!(error.contains("the final time has a condition, at (") && error.contains("line 5"), "{error}");
        let long = "{ type = 'box', low = [0, 0], high = [0.001, 3600] }";
        let error = problem(heat, long, "robin', coefficient = 1, on = 't=high', value = '0").unwrap_err().to_string();
        assert!(error.contains("the final time has a condition, at ("), "{error}");
        let disc = "{ type = 'disc', centre = [0, 0], radius = 1 }";
        let error = problem(heat, disc, "dirichlet', where = 'x < 2', value = '0").unwrap_err().to_string();
        assert!(error.contains("neither a box nor an extrusion along time"), "{error}");
        let late = "{ type = 'union', parts = [{ type = 'box', low = [0, 0], high = [1, 8] }, \
                    { type = 'box', low = [1, 4], high = [2, 8] }] }";
        let error = problem(heat, late, END).unwrap_err().to_string();
        assert!(error.contains("does not last from 0 to 8"), "{error}");
        let region = format!(
            "{}\nregion = [{{ name = 'late', shape = {{ type = 'box', low = [0, 4], high = [0.5, 8] }}, \
             equation = {{ terms = {heat} }} }}]",
            text(heat, BOX, END)
        );
        let error = Problem::parse(&region).unwrap_err().to_string();
        assert!(error.contains("region late: a shape") && error.contains("does not last from 0 to 8"), "{error}");
        for (time, expected) in [
            ("slabs = 'some'", "line 4, column 18: slabs = \"some\""),
            ("slabs = -2", "line 4, column 18: slabs = -2"),
            ("slabs = 2.5", "line 4, column 18: slabs = 2.5"),
            ("slabs = 0", "line 4, column 8: time has 0 slabs"),
            ("coordinate = 'z', slabs = 2", "line 4, column 23: 'z' is not a coordinate"),
        ] {
            let error = Problem::parse(&text(heat, BOX, END).replace("slabs = 4", time)).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
