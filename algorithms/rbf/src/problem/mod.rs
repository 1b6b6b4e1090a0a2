//! What is to be solved, and where: operator, domain, boundary conditions, control points.

mod boundary;
mod domain;
mod expression;
mod file;
mod function;
mod grid;
mod index;
mod named;
mod predicate;
mod sampling;
mod shape;
mod token;

use std::path::Path;

pub use boundary::{Boundary, BoundaryPoints, Piece};
pub use domain::Domain;
pub use expression::Expression;
use firebox_core::{Error, Result, random::Random, watch::Watch};
pub use function::Function;
pub use grid::Grid;
pub use predicate::Predicate;
pub use sampling::Sampling;

use crate::{Coefficient, Conditions};

/// Points of the boundary that are tried for a condition when a problem is made.
const TRIED: usize = 1000;

/// a·Δu + b·∇u + c·u = f.
#[derive(Debug, Clone)]
pub struct Equation {
    /// a.
    pub laplacian: Function,
    /// b, a function a dimension.
    pub gradient: Vec<Function>,
    /// c.
    pub value: Function,
    /// f.
    pub rhs: Function,
}

impl Equation {
    /// Δu = f.
    pub fn poisson(rhs: Function, dims: usize) -> Self {
        let zero = Function::Constant(0.0);
        Self { laplacian: Function::Constant(1.0), gradient: vec![zero.clone(); dims], value: zero, rhs }
    }
}

/// What holds on a part of the boundary, n being the outward unit normal.
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

/// A condition and where it holds.
#[derive(Debug, Clone)]
pub struct BoundaryRule {
    /// The shape or face, as [`Piece::is`] has it; none is all.
    pub on: Option<String>,
    /// A test on the points; none is all.
    pub when: Option<Predicate>,
    /// What holds there.
    pub condition: Condition,
}

impl BoundaryRule {
    /// The same condition on the whole boundary.
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
    /// The problems [`Problem::named`] knows.
    pub const NAMES: [&'static str; 8] = named::NAMES;

    /// The problem of that name.
    ///
    /// ```
    /// let problem = firebox_rbf::Problem::named("poisson-disc").unwrap();
    /// assert_eq!(problem.exact(&[0.0, 0.0]), Some(vec![1.0]));
    /// ```
    pub fn named(name: &str) -> Result<Self> {
        named::named(name)
    }

    /// Reads a problem from TOML; `examples/problems/heated-plate.toml` shows all of it.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] if the file cannot be read, else [`Error::Input`] with the file, line and column and what to do.
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        file::read(path.as_ref())
    }

    /// Parses a problem from the text of a TOML file, without access to files; it is called `problem` if it has no name.
    ///
    /// ```
    /// let text = "
    /// equation = { laplacian = 1, rhs = 'sin(x)*sin(y)' }
    /// boundary = [{ condition = 'dirichlet', value = 0 }]
    /// [domain]
    /// type = 'box'
    /// low = [0, 0]
    /// high = ['pi', 'pi']";
    /// assert_eq!(firebox_rbf::Problem::parse(text)?.dims(), 2);
    /// # Ok::<(), firebox_core::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Input`] with the line and column and what to do.
    pub fn parse(text: &str) -> Result<Self> {
        file::parse(text, "problem", None)
    }

    /// A problem; of several rules that apply to a point of the boundary the first one counts.
    ///
    /// # Errors
    ///
    /// [`Error::Input`] unless the gradient has a function a dimension, every rule names a shape or face of the domain,
    /// and there is a rule for every point tried on the boundary.
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
            if !boundary.pieces().iter().any(|piece| piece.is(on)) {
                let what = format!("no shape or face of the domain is called '{on}'");
                return Err(Error::input(what, format!("there are {}", names(boundary.pieces()))));
            }
        }
        let problem = Self { name: name.into(), domain, equation, rules, exact, boundary };
        let tried = problem.boundary_points(TRIED, Sampling::Sobol, &mut Random::new(0, 0))?;
        tried.points.chunks(problem.dims()).zip(&tried.piece).try_for_each(|(p, &i)| problem.rule(p, i).map(|_| ()))?;
        Ok(problem)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Dimensions of space, 2 or 3.
    pub fn dims(&self) -> usize {
        self.domain.dims()
    }

    /// Where the equation holds.
    pub fn domain(&self) -> &Domain {
        &self.domain
    }

    /// The equation.
    pub fn equation(&self) -> &Equation {
        &self.equation
    }

    /// `n` points inside, row-major n × dims ([`Domain::interior_points`]).
    pub fn interior_points(&self, n: usize, sampling: Sampling, random: &mut Random) -> Result<Vec<f64>> {
        self.domain.interior_points(n, sampling, random)
    }

    /// `n` points on the boundary ([`Boundary::points`]).
    pub fn boundary_points(&self, n: usize, sampling: Sampling, random: &mut Random) -> Result<BoundaryPoints> {
        self.boundary.points(n, sampling, random)
    }

    /// The equation at points, row-major n × dims.
    ///
    /// # Errors
    ///
    /// [`Error::Input`] if a coefficient or the right-hand side is not finite at a point; it names both.
    pub fn interior(&self, points: Vec<f64>) -> Result<Conditions> {
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
    /// [`Error::Input`] if a point has no condition, or one that is not finite or asks nothing of u.
    pub fn boundary(&self, at: &BoundaryPoints) -> Result<Conditions> {
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
                let what = format!("the boundary condition at {} asks nothing of u", function::place(point));
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

    /// The same, finite.
    ///
    /// # Errors
    ///
    /// [`Error::Input`] with the first point where it is not.
    pub fn finite_exact(&self, points: &[f64]) -> Result<Option<Vec<f64>>> {
        self.exact.as_ref().map(|exact| exact.finite_values(points, self.dims(), "the exact solution")).transpose()
    }

    /// The first rule for a point on a piece.
    fn rule(&self, point: &[f64], piece: usize) -> Result<&BoundaryRule> {
        let pieces = self.boundary.pieces();
        let applies = |rule: &&BoundaryRule| {
            rule.on.as_ref().is_none_or(|on| pieces.get(piece).is_some_and(|piece| piece.is(on)))
                && rule.when.as_ref().is_none_or(|when| when.holds(point))
        };
        self.rules.iter().find(applies).ok_or_else(|| {
            let on = pieces.get(piece).map(|piece| names(std::slice::from_ref(piece))).unwrap_or_default();
            let what = format!("the boundary has no condition at {} ({on})", function::place(point));
            Error::input(what, "add one without 'on' and 'where' as the last; it holds wherever no other does")
        })
    }
}

/// What pieces can be called, for messages.
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
