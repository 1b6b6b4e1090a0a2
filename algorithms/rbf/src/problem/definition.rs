//! A partial differential equation with its domain and boundary conditions.

mod checks;
mod exact;
mod paper;
mod unknowns;

use std::sync::Arc;

use firebox_core::{Error, Result, random::Random};

use self::checks::check_coefficients;
pub(super) use self::checks::check_counts;
pub(crate) use self::unknowns::Block;
use super::{
    boundary::{Boundary, BoundaryPoints, Piece, names},
    condition::{BoundaryRule, Condition},
    domain::Domain,
    equation::{Argument, Derivative, Equation, Terms},
    function::Function,
    non_linear::State,
    primitive::axis_name,
    region::{InterfaceRow, Region, Regions},
    time::TimeSlabs,
    unknown::{Measurements, Role, Unknown},
};
use crate::types::Sampling;

/// Boundary points that are checked for a condition when a problem is constructed.
const CHECKED: usize = 1000;

/// Partial differential equations, as many as solutions, with their domain and boundary conditions.
#[derive(Debug, Clone)]
pub struct Problem {
    name: String,
    coordinates: Vec<String>,
    /// Names of the unknowns: solutions, fields, parameters.
    unknowns: Vec<String>,
    roles: Vec<Role>,
    domain: Domain,
    regions: Regions,
    rules: Vec<BoundaryRule>,
    /// The exact solution of each unknown; empty if it is not known.
    exact: Vec<Function>,
    boundary: Boundary,
    /// The regions as they were given.
    given: Vec<Region>,
    time: Option<TimeSlabs>,
    /// The unknowns about which nonlinear equations are linearised; 0 if `None`.
    state: Option<State>,
    measurements: Vec<Measurements>,
    /// Problems to solve before, with their names.
    continuation: Arc<[(String, Self)]>,
}

impl Problem {
    /// Combines an equation on `domain` with its boundary conditions. The first rule that applies to a boundary point
    /// counts.
    ///
    /// # Errors
    ///
    /// [`Error::Input`] unless the equation has each derivative at most once and by coordinates of the domain, every rule
    /// names a shape or face of it, and a rule applies to every checked boundary point.
    pub fn new(
        name: &str,
        domain: Domain,
        equation: Equation,
        rules: Vec<BoundaryRule>,
        exact: Option<Function>,
    ) -> Result<Self> {
        Self::of_system(name, domain, vec!["u".into()], vec![equation], rules, exact.into_iter().collect())
    }

    /// Combines equations on `domain`, as many as there are solutions among the `unknowns`, with the boundary conditions of each
    /// unknown. For each, the first of its rules that applies to a boundary point counts; an unknown of several may have none.
    /// `exact` has each unknown as it is known, or nothing. Fields follow solutions, and parameters follow fields; both need
    /// [`with_measurements`](Self::with_measurements).
    ///
    /// # Errors
    ///
    /// Those of [`new`](Self::new), and [`Error::Input`] for another number of equations or exact solutions, another order of
    /// unknowns, an unknown that no equation contains, and a condition of a parameter.
    pub fn of_system(
        name: &str,
        domain: Domain,
        unknowns: Vec<Unknown>,
        equations: Vec<Equation>,
        rules: Vec<BoundaryRule>,
        exact: Vec<Function>,
    ) -> Result<Self> {
        check_counts(&unknowns, &equations, &exact)?;
        if !unknowns.is_sorted_by_key(|it| it.role.rank()) {
            return Err(Error::input("the unknowns are not in order", "give solutions, then fields, then parameters"));
        }
        let (unknowns, roles): (Vec<String>, Vec<Role>) = unknowns.into_iter().map(|it| (it.name, it.role)).unzip();
        equations.iter().try_for_each(|equation| equation.check(domain.dims(), unknowns.len()))?;
        check_coefficients(&unknowns, &roles, &equations, &domain)?;
        let is_missing = |k: &usize| !equations.iter().flat_map(Equation::arguments).any(|it| it.unknown == *k);
        if let Some(missing) = (0..unknowns.len()).find(is_missing) {
            let what = format!("no equation contains the unknown {}", unknowns[missing]);
            return Err(Error::input(what, "write it in an equation, or leave it out of the unknowns"));
        }
        if let Some(rule) = rules.iter().find(|rule| rule.unknown >= unknowns.len()) {
            let what = format!("a boundary condition is that of unknown {} of {}", rule.unknown, unknowns.len());
            return Err(Error::input(what, "unknowns are counted from 0"));
        }
        if let Some(rule) = rules.iter().find(|rule| matches!(roles[rule.unknown], Role::Parameter { .. })) {
            let what = format!("{} has a boundary condition, and is a number", unknowns[rule.unknown]);
            return Err(Error::input(what, "remove it"));
        }
        let boundary = Boundary::of(&domain)?;
        for on in rules.iter().filter_map(|rule| rule.on.as_ref()) {
            if !boundary.pieces.iter().any(|piece| piece.is(on)) {
                let what = format!("no shape or face of the domain is called '{on}'");
                return Err(Error::input(what, format!("there are {}", names(&boundary.pieces))));
            }
        }
        let coordinates = (0..domain.dims()).map(axis_name).collect();
        let problem = Self {
            name: name.into(),
            coordinates,
            unknowns,
            roles,
            regions: Regions::single(&domain, equations),
            domain,
            rules,
            exact,
            boundary,
            given: Vec::new(),
            time: None,
            state: None,
            measurements: Vec::new(),
            continuation: Arc::default(),
        };
        for rule in &problem.rules {
            let dims = problem.dims();
            match &rule.condition {
                Condition::Oblique { direction, .. } if direction.len() != dims => {
                    let what = format!("the direction of a condition has {} factors", direction.len());
                    return Err(Error::input(what, format!("give {dims}, one a dimension")));
                }
                Condition::Periodic { axis } if *axis >= dims => {
                    let what = format!("a boundary is periodic along axis {axis}");
                    return Err(Error::input(what, format!("there are {dims}, counted from 0")));
                }
                _ => {}
            }
        }
        let checked = problem.boundary_points(CHECKED, Sampling::Sobol, &mut Random::new(0, 0))?;
        problem.check_partial(&checked)?;
        let mut is_free = true;
        for (i, point) in checked.points.chunks(problem.dims()).enumerate() {
            let normal = &checked.normals[i * problem.dims()..(i + 1) * problem.dims()];
            for unknown in 0..problem.unknowns.len() {
                let rule = problem.rule(unknown, point, normal, checked.piece[i])?;
                is_free &= rule.is_none_or(|rule| matches!(rule.condition, Condition::Free));
            }
        }
        problem.periodic_rows(&checked)?;
        if is_free && problem.solutions() == problem.unknowns.len() {
            let what = "no part of the boundary has a condition other than none";
            return Err(Error::input(what, "give one, such as dirichlet, on a part of it"));
        }
        Ok(problem.with_initial(Vec::new()))
    }

    /// Name, for messages and plots.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Names of the unknowns.
    pub fn unknowns(&self) -> &[String] {
        &self.unknowns
    }

    /// Names the coordinates, which are x, y, z, x4, x5 by default. Names beyond the dimensions are ignored.
    pub fn with_coordinates(mut self, names: &[String]) -> Self {
        self.coordinates.iter_mut().zip(names).for_each(|(own, name)| own.clone_from(name));
        self
    }

    /// Gives regions of the domain equations of their own; the earlier of two that overlap counts, and the problem's equation
    /// in the rest.
    ///
    /// # Errors
    ///
    /// [`Error::Input`] if a region has nothing of the domain, if nothing is left, or for an equation that
    /// [`new`](Self::new) refuses.
    pub fn with_regions(mut self, regions: Vec<Region>) -> Result<Self> {
        if !regions.is_empty() && self.unknowns.len() > 1 {
            let names = self.unknowns.join(", ");
            let what = format!("regions have equations of one unknown, and this problem has {names}");
            return Err(Error::input(what, "leave the regions out; coefficients may vary by if(…, …, …)"));
        }
        if !regions.is_empty() {
            self.given.clone_from(&regions);
            self.regions = self.regions.with(&self.domain, regions)?;
            let (low, high) = self.domain.bounds();
            let middle: Vec<f64> = low.iter().zip(high).map(|(low, high)| 0.5 * (low + high)).collect();
            let equations = (0..self.regions.len()).flat_map(|region| self.equations(region));
            for part in equations.filter_map(|equation| equation.non_linear.as_ref()) {
                if part.has_no_flux(&middle) {
                    let what = format!(
                        "the flux of '{}' at an interface is unknown: its coefficients of second derivatives depend on derivatives of u",
                        part.text()
                    );
                    return Err(Error::input(
                        what,
                        "give regions equations in which they depend on coordinates and u only",
                    ));
                }
            }
        }
        Ok(self)
    }

    /// The domains of the regions, without earlier ones; the last is the rest of the problem's domain.
    pub(crate) fn regions(&self) -> impl Iterator<Item = &Domain> {
        self.regions.domains()
    }

    /// The regions as they were given, without the rest of the domain.
    pub(super) fn given_regions(&self) -> &[Region] {
        &self.given
    }

    pub(super) fn set_continuation(&mut self, earlier: Vec<(String, Self)>) {
        self.continuation = earlier.into();
    }

    /// Problems to solve before, with their names.
    pub(crate) fn continuation(&self) -> &[(String, Self)] {
        &self.continuation
    }

    pub(super) fn set_time_slabs(&mut self, slabs: TimeSlabs) {
        self.time = Some(slabs);
    }

    /// Starts the iteration for nonlinear equations from a function of the coordinates for each solution, instead of from 0;
    /// solutions without a function start from 0. Functions beyond the solutions replace the starts of fields and parameters.
    pub fn with_initial(self, initial: Vec<Function>) -> Self {
        let solutions = self.solutions();
        if initial.is_empty() && solutions == self.unknowns.len() {
            return self;
        }
        let start = |(k, role): (usize, &Role)| {
            let given = || initial.get(k).cloned().unwrap_or(Function::Constant(0.0));
            if k < initial.len() { given() } else { role.start().unwrap_or_else(given) }
        };
        let initial = self.roles.iter().enumerate().map(start).collect();
        let (low, high) = self.domain.bounds();
        let state = State::of_functions(initial, low, high);
        self.about(state)
    }

    /// Returns `true` if all equations are linear.
    pub fn is_linear(&self) -> bool {
        (0..self.regions.len()).flat_map(|region| self.equations(region)).all(|it| it.non_linear.is_none())
    }

    /// The problem with its equations linearised about others.
    pub(crate) fn about(&self, state: State) -> Self {
        Self { state: Some(state), ..self.clone() }
    }

    /// The unknowns about which nonlinear equations are linearised, unless they are 0.
    pub(super) fn state(&self) -> Option<&State> {
        self.state.as_ref()
    }

    /// The unknown of a block about which equations are linearised, at points of its region, row-major.
    pub(crate) fn state_values(&self, block: usize, points: &[f64]) -> Result<Vec<f64>> {
        let zero = || vec![0.0; points.len() / self.dims()];
        let Some(state) = &self.state else { return Ok(zero()) };
        let [region, unknown] = [block / self.unknowns.len(), block % self.unknowns.len()];
        let argument = Argument { unknown, derivative: Derivative::Value };
        Ok(state.values(region, points, &[argument])?.pop().unwrap_or_else(zero))
    }

    /// The division of time, if there is one.
    pub(crate) fn time_slabs(&self) -> Option<TimeSlabs> {
        self.time
    }

    /// The region of a point of the domain or its boundary.
    pub(crate) fn region_of(&self, point: &[f64]) -> usize {
        self.regions.of(point)
    }

    /// Returns `true` at an interface at which u jumps, and so has two values.
    pub(crate) fn is_double(&self, point: &[f64]) -> bool {
        self.regions.is_double(&self.domain, point)
    }

    /// The region beyond a point on the boundary of another one, if their interface is there and counts as that of the
    /// latter.
    pub(crate) fn neighbour(&self, region: usize, at: &[f64], normal: &[f64]) -> Option<usize> {
        self.regions.neighbour(&self.domain, region, at, normal)
    }

    /// Draws points on the boundary of a region with a density ([`Boundary::points_by_density`]).
    pub(crate) fn interface_by_density(
        &self,
        region: usize,
        count: f64,
        section: impl Fn(&[f64], &[f64]) -> f64 + Sync,
        random: &mut Random,
    ) -> Result<BoundaryPoints> {
        self.regions.by_density(region, count, section, random)
    }

    /// The conditions of a region's interfaces at those of the points that are on one.
    ///
    /// # Errors
    ///
    /// [`Error::Input`] for a coefficient or a jump that is not finite.
    pub(crate) fn interface_rows(&self, region: usize, at: &BoundaryPoints) -> Result<Vec<InterfaceRow>> {
        self.regions.rows(&self.domain, region, at, |region, point| self.terms(region, point).map(|it| it.0))
    }

    /// Names of the coordinates.
    pub fn coordinates(&self) -> &[String] {
        &self.coordinates
    }

    /// Dimensions, 1 to 5.
    pub fn dims(&self) -> usize {
        self.domain.dims()
    }

    /// Domain of the equation.
    pub fn domain(&self) -> &Domain {
        &self.domain
    }

    /// Draws `n` points on the boundary ([`Boundary::points`]).
    pub(crate) fn boundary_points(&self, n: usize, sampling: Sampling, random: &mut Random) -> Result<BoundaryPoints> {
        self.boundary.points(n, sampling, random)
    }

    /// Draws points on the boundary with a density ([`Boundary::points_by_density`]).
    pub(crate) fn boundary_by_density(
        &self,
        count: f64,
        section: impl Fn(&[f64], &[f64]) -> f64 + Sync,
        random: &mut Random,
    ) -> Result<BoundaryPoints> {
        self.boundary.points_by_density(count, section, random)
    }

    /// The terms of the equation of a block at points, row-major n × dims, and its right-hand side; those of its linearisation
    /// about the [`state`](Self::state) if the equation is not linear.
    ///
    /// # Errors
    ///
    /// [`Error::Input`] naming a coefficient or right-hand side and the point where it is not finite.
    pub(crate) fn terms(&self, block: usize, points: &[f64]) -> Result<(Terms, Vec<f64>)> {
        let (region, equation, dims) = (block / self.unknowns.len(), self.equation(block), self.dims());
        let term = |(argument, function): &(Argument, Function)| {
            Ok((*argument, function.coefficient(points, dims, &self.term_name(*argument))?))
        };
        let mut terms: Terms = equation.terms.iter().map(term).collect::<Result<_>>()?;
        let mut rhs = equation.rhs.finite_values(points, dims, "the right-hand side")?;
        if let Some(part) = &equation.non_linear {
            let (own, values) = part.linearised(points, dims, |arguments| match &self.state {
                Some(state) => state.values(region, points, arguments),
                None => Ok(vec![vec![0.0; points.len() / dims]; arguments.len()]),
            })?;
            terms.extend(own);
            rhs.iter_mut().zip(values).for_each(|(rhs, value)| *rhs += value);
        }
        Ok((terms, rhs))
    }

    /// The equation of a block.
    pub(super) fn equation(&self, block: usize) -> &Equation {
        &self.equations(block / self.unknowns.len())[block % self.unknowns.len()]
    }

    /// The equations of a region, as many as unknowns.
    pub(super) fn equations(&self, region: usize) -> &[Equation] {
        self.regions.equations(region)
    }

    /// The coefficient of a derivative, for messages.
    pub(super) fn term_name(&self, argument: Argument) -> String {
        let (u, name) = (&self.unknowns[argument.unknown], |axis: usize| &self.coordinates[axis]);
        match argument.derivative {
            Derivative::Laplacian => "the coefficient of the laplacian".into(),
            Derivative::Value => format!("the coefficient of {u}"),
            Derivative::First(i) => format!("the coefficient of ∂{u}/∂{}", name(i)),
            Derivative::Second(i, j) => format!("the coefficient of ∂²{u}/∂{}∂{}", name(i), name(j)),
        }
    }

    /// The faces of the domain, to which rules refer.
    pub(super) fn pieces(&self) -> &[Piece] {
        &self.boundary.pieces
    }

    pub(super) fn rules(&self) -> &[BoundaryRule] {
        &self.rules
    }
}
