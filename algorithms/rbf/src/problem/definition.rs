//! A partial differential equation with its domain and boundary conditions.

use firebox_core::{Communicator, Error, Result, random::Random, watch::Watch};

use super::{
    boundary::{Boundary, BoundaryPoints, Piece},
    domain::Domain,
    function::{self, Function},
    predicate::Predicate,
};
use crate::types::{Coefficient, Conditions, Sampling, System};

/// Boundary points that are checked for a condition when a problem is constructed.
const CHECKED: usize = 1000;

/// The equation a·Δu + b·∇u + c·u = f.
#[derive(Debug, Clone)]
pub struct Equation {
    /// a.
    pub laplacian: Function,
    /// b, one function per dimension.
    pub gradient: Vec<Function>,
    /// c.
    pub value: Function,
    /// f.
    pub rhs: Function,
}

impl Equation {
    /// Poisson's equation Δu = f.
    pub fn poisson(rhs: Function, dims: usize) -> Self {
        let zero = Function::Constant(0.0);
        Self { laplacian: Function::Constant(1.0), gradient: vec![zero.clone(); dims], value: zero, rhs }
    }
}

/// A boundary condition; n is the outward unit normal.
#[derive(Debug, Clone)]
pub enum Condition {
    /// u = value.
    Dirichlet {
        /// Right-hand side.
        value: Function,
    },
    /// ∂u/∂n = value.
    Neumann {
        /// Right-hand side.
        value: Function,
    },
    /// normal·∂u/∂n + coefficient·u = value.
    Robin {
        /// Factor of the normal derivative.
        normal: Function,
        /// Factor of u.
        coefficient: Function,
        /// Right-hand side.
        value: Function,
    },
}

/// A boundary condition and where it holds.
#[derive(Debug, Clone)]
pub struct BoundaryRule {
    /// A shape, a face (`left`, `right`, `bottom`, `top`, in three dimensions also `front` and `back` of a box,
    /// `edge-1`, … of a polygon), or both as `shape.face`; all if `None`.
    pub on: Option<String>,
    /// A predicate on points; all if `None`.
    pub when: Option<Predicate>,
    /// The condition.
    pub condition: Condition,
}

impl BoundaryRule {
    /// `condition` on the whole boundary.
    pub fn everywhere(condition: Condition) -> Self {
        Self { on: None, when: None, condition }
    }
}

/// A partial differential equation with its domain and boundary conditions.
#[derive(Debug, Clone)]
pub struct Problem {
    name: String,
    domain: Domain,
    equation: Equation,
    rules: Vec<BoundaryRule>,
    exact: Option<Function>,
    boundary: Boundary,
}

impl Problem {
    /// Combines an equation on `domain` with its boundary conditions. The first rule that applies to a boundary point
    /// counts.
    ///
    /// # Errors
    ///
    /// [`Error::Input`] unless the gradient has one function per dimension, every rule names a shape or face of the
    /// domain, and a rule applies to every checked boundary point.
    pub fn new(
        name: &str,
        domain: Domain,
        equation: Equation,
        rules: Vec<BoundaryRule>,
        exact: Option<Function>,
    ) -> Result<Self> {
        if equation.gradient.len() != domain.dims() {
            let what = format!("the gradient has {} coefficients", equation.gradient.len());
            return Err(Error::input(what, format!("give {}, one a dimension", domain.dims())));
        }
        let nothing = equation.gradient.iter().chain([&equation.laplacian, &equation.value]);
        if nothing.map(Function::constant).all(|constant| constant == Some(0.0)) {
            let what = "the equation asks nothing of u: all its coefficients are 0";
            return Err(Error::input(what, "give laplacian, gradient or value a coefficient"));
        }
        let boundary = Boundary::of(&domain)?;
        for on in rules.iter().filter_map(|rule| rule.on.as_ref()) {
            if !boundary.pieces.iter().any(|piece| piece.is(on)) {
                let what = format!("no shape or face of the domain is called '{on}'");
                return Err(Error::input(what, format!("there are {}", names(&boundary.pieces))));
            }
        }
        let problem = Self { name: name.into(), domain, equation, rules, exact, boundary };
        let checked = problem.boundary_points(CHECKED, Sampling::Sobol, &mut Random::new(0, 0))?;
        let mut points = checked.points.chunks(problem.dims()).zip(&checked.piece);
        points.try_for_each(|(point, &piece)| problem.rule(point, piece).map(drop))?;
        Ok(problem)
    }

    /// Name, for messages and plots.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Dimensions of space, 2 or 3.
    pub fn dims(&self) -> usize {
        self.domain.dims()
    }

    /// Domain of the equation.
    pub fn domain(&self) -> &Domain {
        &self.domain
    }

    /// The conditions at N points inside and K on the boundary: a rank's part, where every condition belongs to exactly
    /// one rank.
    pub(crate) fn system(
        &self,
        [inside, outside]: [usize; 2],
        sampling: Sampling,
        penalty: f64,
        random: &mut Random,
        ranks: &dyn Communicator,
    ) -> Result<System> {
        let interior = self.interior(self.domain.interior_points(inside, sampling, random, ranks)?)?;
        // Boundary points are few: every rank draws all of them.
        let boundary = self.boundary(&self.boundary_points(outside, sampling, random)?)?;
        let boundary = if ranks.size() == 1 { boundary } else { boundary.part(ranks.share()) };
        Ok(System { interior, boundary, penalty })
    }

    /// Draws `n` points on the boundary ([`Boundary::points`]).
    pub(crate) fn boundary_points(&self, n: usize, sampling: Sampling, random: &mut Random) -> Result<BoundaryPoints> {
        self.boundary.points(n, sampling, random)
    }

    /// Draws points on a two-dimensional boundary ([`Boundary::points_by_density`]).
    pub(crate) fn boundary_by_density(
        &self,
        count: f64,
        side: impl Fn(&[f64; 2], &[f64; 2]) -> f64,
        random: &mut Random,
    ) -> Result<BoundaryPoints> {
        self.boundary.points_by_density(
            count,
            |point, normal| side(&[point[0], point[1]], &[normal[0], normal[1]]),
            random,
        )
    }

    /// The equation at points, row-major n × dims.
    ///
    /// # Errors
    ///
    /// [`Error::Input`] naming a coefficient or right-hand side and the point where it is not finite.
    pub(crate) fn interior(&self, points: Vec<f64>) -> Result<Conditions> {
        let dims = self.dims();
        let Equation { laplacian, gradient, value, rhs } = &self.equation;
        let laplacian = laplacian.coefficient(&points, dims, "the coefficient of the laplacian")?;
        let value = value.coefficient(&points, dims, "the coefficient of u")?;
        let target = rhs.finite_values(&points, dims, "the right-hand side")?;
        let gradient = if gradient.iter().all(|b| b.constant() == Some(0.0)) {
            None
        } else {
            let mut all = vec![0.0; points.len()];
            for (axis, function) in gradient.iter().enumerate() {
                let what = format!("the coefficient of ∂u/∂{}", ["x", "y", "z"][axis]);
                let values = function.finite_values(&points, dims, &what)?;
                all.chunks_mut(dims).zip(values).for_each(|(row, value)| row[axis] = value);
            }
            Some(all)
        };
        Ok(Conditions { dims, points, laplacian, gradient, value, target })
    }

    /// The boundary conditions at points.
    ///
    /// # Errors
    ///
    /// [`Error::Input`] if a point has no condition, or one that is not finite or whose coefficients are all 0.
    pub(crate) fn boundary(&self, at: &BoundaryPoints) -> Result<Conditions> {
        let dims = self.dims();
        let n = at.piece.len();
        let (mut value, mut target) = (Vec::with_capacity(n), Vec::with_capacity(n));
        let mut gradient = vec![0.0; n * dims];
        let watch = Watch::current();
        for (i, point) in at.points.chunks(dims).enumerate() {
            watch.go_on_at(i)?;
            let (normal_factor, factor, right) = match &self.rule(point, at.piece[i])?.condition {
                Condition::Dirichlet { value } => (0.0, 1.0, value),
                Condition::Neumann { value } => (1.0, 0.0, value),
                Condition::Robin { normal, coefficient, value } => (
                    normal.finite_at(point, "the factor of a Robin condition's normal derivative")?,
                    coefficient.finite_at(point, "the coefficient of a Robin condition")?,
                    value,
                ),
            };
            if normal_factor == 0.0 && factor == 0.0 {
                let what = format!("the boundary condition at {} asks nothing of u", function::format_point(point));
                return Err(Error::input(what, "give normal or coefficient a value other than 0 there"));
            }
            let row = i * dims..(i + 1) * dims;
            gradient[row.clone()].iter_mut().zip(&at.normals[row]).for_each(|(b, n)| *b = normal_factor * n);
            value.push(factor);
            target.push(right.finite_at(point, "the value of a boundary condition")?);
        }
        Ok(Conditions {
            dims,
            points: at.points.clone(),
            laplacian: Coefficient::Zero,
            gradient: gradient.iter().any(|&b| b != 0.0).then_some(gradient),
            value: match &value {
                all if all.iter().all(|&c| c == 1.0) => Coefficient::One,
                all if all.iter().all(|&c| c == 0.0) => Coefficient::Zero,
                _ => Coefficient::Each(value),
            },
            target,
        })
    }

    /// The exact solution at points, row-major n × dims, if it is known.
    pub fn exact(&self, points: &[f64]) -> Option<Vec<f64>> {
        self.exact.as_ref().map(|exact| exact.values(points, self.dims()))
    }

    /// [`exact`](Self::exact), checked to be finite.
    ///
    /// # Errors
    ///
    /// [`Error::Input`] with the first point where it is not.
    pub(crate) fn finite_exact(&self, points: &[f64]) -> Result<Option<Vec<f64>>> {
        self.exact.as_ref().map(|exact| exact.finite_values(points, self.dims(), "the exact solution")).transpose()
    }

    /// The first rule that applies to a point on a piece.
    fn rule(&self, point: &[f64], piece: usize) -> Result<&BoundaryRule> {
        let pieces = &self.boundary.pieces;
        let applies = |rule: &&BoundaryRule| {
            rule.on.as_ref().is_none_or(|on| pieces.get(piece).is_some_and(|piece| piece.is(on)))
                && rule.when.as_ref().is_none_or(|when| when.holds(point))
        };
        self.rules.iter().find(applies).ok_or_else(|| {
            let on = pieces.get(piece).map(|piece| names(std::slice::from_ref(piece))).unwrap_or_default();
            let what = format!("the boundary has no condition at {} ({on})", function::format_point(point));
            Error::input(what, "add one without 'on' and 'where' as the last; it holds wherever no other does")
        })
    }
}

/// Names of pieces, for messages.
fn names(pieces: &[Piece]) -> String {
    let name = |piece: &Piece| match (&piece.shape, &piece.face) {
        (Some(shape), Some(face)) => format!("{shape}.{face}"),
        (shape, face) => shape.clone().or(face.clone()).unwrap_or_else(|| "a disc or ball without a name".into()),
    };
    let mut all: Vec<String> = pieces.iter().map(name).collect();
    all.dedup();
    let more = all.len().saturating_sub(12);
    all.truncate(12);
    if more > 0 {
        all.push(format!("{more} more"));
    }
    all.join(", ")
}
