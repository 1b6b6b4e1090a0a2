//! Functions of space: constants, expressions, tables, and code.

use std::{fmt, sync::Arc};

use firebox_core::{Error, Result, error::Place, watch::Watch};
use rayon::prelude::*;

use super::{expression::Expression, tabulated::Tabulated};
use crate::types::Coefficient;

/// Points per task.
const BLOCK: usize = 1024;

/// Rust code that takes a point of dims coordinates.
type Code = dyn Fn(&[f64]) -> f64 + Send + Sync;
/// An error of code.
type Failure = Box<dyn std::error::Error + Send + Sync>;
/// Code that takes points, row-major n × dims, and dims, and returns n values.
type BatchCode = dyn Fn(&[f64], usize) -> std::result::Result<Vec<f64>, Failure> + Send + Sync;

/// A function of space.
#[derive(Clone)]
pub enum Function {
    /// A constant.
    Constant(f64),
    /// A parsed expression.
    Written(Expression),
    /// Values on a grid.
    Tabulated(Arc<Tabulated>),
    /// Rust code that takes a point of dims coordinates.
    Given(Arc<Code>),
    /// Code that takes many points at once and may fail.
    Batch(Arc<BatchFunction>),
}

/// Code that takes many points at once and may fail.
pub struct BatchFunction {
    name: String,
    code: Box<BatchCode>,
}

impl BatchFunction {
    fn values(&self, points: &[f64], dims: usize) -> Result<Vec<f64>> {
        Watch::current().go_on()?;
        let n = points.len() / dims;
        if n == 0 {
            return Ok(Vec::new());
        }
        let fail = |source| Error::Function { name: self.name.clone(), source };
        let values = (self.code)(points, dims).map_err(fail)?;
        if values.len() != n {
            return Err(fail(format!("it returned {} values for {n} points", values.len()).into()));
        }
        Ok(values)
    }
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Constant(value) => write!(f, "{value}"),
            Self::Written(expression) => write!(f, "'{}'", expression.text()),
            Self::Tabulated(table) => write!(f, "the table '{}'", table.name()),
            Self::Given(_) => f.write_str("a given function"),
            Self::Batch(batch) => write!(f, "the function {}", batch.name),
        }
    }
}

impl Function {
    /// A function in Rust code.
    pub fn given(function: impl Fn(&[f64]) -> f64 + Send + Sync + 'static) -> Self {
        Self::Given(Arc::new(function))
    }

    /// A function in code that takes points, row-major n × dims, and dims, and returns their n values: for code whose calls
    /// are expensive, such as that of an interpreter. `name` is for messages. Several threads may call it at once. An error
    /// ends the solution as [`Error::Function`]; it must occur on all ranks or on none.
    pub fn batch(
        name: impl Into<String>,
        code: impl Fn(&[f64], usize) -> std::result::Result<Vec<f64>, Failure> + Send + Sync + 'static,
    ) -> Self {
        Self::Batch(Arc::new(BatchFunction { name: name.into(), code: Box::new(code) }))
    }

    /// Parses text as a function of the first `dims` of x, y, z.
    pub fn written(text: &str, dims: usize) -> Result<Self> {
        Expression::parse(text, dims).map(Self::of)
    }

    /// The expression, or its constant value if finite; otherwise errors show the expression.
    pub(super) fn of(expression: Expression) -> Self {
        match expression.constant() {
            Some(value) if value.is_finite() => Self::Constant(value),
            _ => Self::Written(expression),
        }
    }

    /// The value of a constant.
    pub fn constant(&self) -> Option<f64> {
        match self {
            Self::Constant(value) => Some(*value),
            _ => None,
        }
    }

    /// Values at points, row-major n × dims.
    ///
    /// # Errors
    ///
    /// [`Error::Cancelled`] if the thread's [`Watch`] stops it, and [`Error::Function`] if code fails.
    pub fn values(&self, points: &[f64], dims: usize) -> Result<Vec<f64>> {
        match self {
            Self::Constant(value) => Ok(vec![*value; points.len() / dims]),
            Self::Written(expression) => each(points, dims, |point| expression.at(point)),
            Self::Tabulated(table) => each(points, dims, |point| table.at(point)),
            Self::Given(function) => each(points, dims, function.as_ref()),
            Self::Batch(batch) => batch.values(points, dims),
        }
    }

    /// The value at one point; `what` names the function in the error if it is not finite.
    pub(super) fn finite_at(&self, point: &[f64], what: &str) -> Result<f64> {
        Ok(self.finite_values(point, point.len(), what)?[0])
    }

    /// Values at points, all finite. Fails for the first that is not, and if the thread's [`Watch`] stops it.
    pub(super) fn finite_values(&self, points: &[f64], dims: usize, what: &str) -> Result<Vec<f64>> {
        let values = self.values(points, dims)?;
        match values.iter().position(|value| !value.is_finite()) {
            Some(i) => Err(not_finite(self, &points[i * dims..(i + 1) * dims], what, values[i])),
            None => Ok(values),
        }
    }

    /// Values at points as a coefficient.
    pub(super) fn coefficient(&self, points: &[f64], dims: usize, what: &str) -> Result<Coefficient> {
        match self.constant() {
            Some(0.0) => Ok(Coefficient::Zero),
            Some(1.0) => Ok(Coefficient::One),
            _ => self.finite_values(points, dims, what).map(Coefficient::Each),
        }
    }
}

fn each(points: &[f64], dims: usize, at: impl Fn(&[f64]) -> f64 + Sync) -> Result<Vec<f64>> {
    let (mut values, watch) = (vec![0.0; points.len() / dims], Watch::current());
    let block = |(values, points): (&mut [f64], &[f64])| {
        values.iter_mut().zip(points.chunks(dims)).for_each(|(value, point)| *value = at(point));
    };
    if values.len() <= BLOCK {
        block((&mut values, points));
    } else {
        let blocks = values.par_chunks_mut(BLOCK).zip(points.par_chunks(BLOCK * dims));
        blocks.filter(|_| !watch.stopped()).for_each(block);
    }
    watch.go_on()?;
    Ok(values)
}

/// A point as `(x, y)`, for messages.
pub(crate) fn format_point(point: &[f64]) -> String {
    let numbers: Vec<String> = point.iter().map(f64::to_string).collect();
    format!("({})", numbers.join(", "))
}

fn not_finite(function: &Function, point: &[f64], what: &str, value: f64) -> Error {
    if let Function::Tabulated(_) = function {
        let what = format!("{what}, {function:?}, has no value at {}", format_point(point));
        return Error::input(what, "extend the table: it must cover the whole domain");
    }
    let size = if value.is_nan() { "not a number" } else { "infinite" };
    let what = format!("{what}, {function:?}, is {size} ({value}) at {}", format_point(point));
    let at = match function {
        Function::Written(expression) => expression.place().clone(),
        _ => Place::default(),
    };
    Error::input_at(at, what, "give a function that is finite in the whole domain and on its boundary")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_at_many_points_match_single_ones() {
        let function = Function::written("y - 2*x", 2).unwrap();
        let points: Vec<f64> = (0..20_000).map(f64::from).collect();
        let values = function.values(&points, 2).unwrap();
        assert!(values.len() == 10_000 && values.iter().zip(points.chunks(2)).all(|(v, p)| *v == p[1] - 2.0 * p[0]));
        let constant = |text: &str| Expression::parse(text, 2).unwrap().constant();
        assert_eq!((function.constant(), constant("y - 2*x"), constant("2*pi/pi")), (None, None, Some(2.0)));
        let batch = Function::batch("line", |points, dims| {
            assert!(!points.is_empty());
            Ok(points.chunks(dims).map(|point| point[1] - 2.0 * point[0]).collect())
        });
        assert_eq!(batch.values(&points, 2).unwrap(), values);
        assert_eq!((batch.values(&[], 2).unwrap(), batch.finite_at(&[3.0, 5.0], "the rhs").unwrap()), (vec![], -1.0));
    }

    #[test]
    fn code_that_fails_or_returns_too_few_values_is_named() {
        let failing = Function::batch("source", |_, _| Err("no network".into()));
        let error = failing.finite_values(&[0.0; 6], 2, "the rhs").unwrap_err();
        assert_eq!(error.to_string(), "the function source failed: no network");
        let short = Function::batch("source", |_, _| Ok(vec![1.0; 2]));
        let error = short.values(&[0.0; 6], 2).unwrap_err();
        assert_eq!(error.to_string(), "the function source failed: it returned 2 values for 3 points");
        let infinite = Function::batch("source", |points, _| Ok(points.iter().map(|x| 1.0 / x).collect()));
        let error = infinite.coefficient(&[2.0, 0.0], 1, "the rhs").unwrap_err();
        assert_eq!(error.to_string(), "the rhs, the function source, is infinite (inf) at (0)");
    }

    #[test]
    fn constants_specialise_and_what_is_not_finite_is_named() {
        let points = [0.0, 1.0, 2.0, 3.0];
        let coefficient = |text: &str| Function::written(text, 2).unwrap().coefficient(&points, 2, "the rhs");
        assert_eq!(coefficient("2 - 1").unwrap(), Coefficient::One);
        assert_eq!(coefficient("0").unwrap(), Coefficient::Zero);
        assert_eq!(coefficient("x + 1").unwrap(), Coefficient::Each(vec![1.0, 3.0]));
        let error = coefficient("ln(x)").unwrap_err().to_string();
        assert_eq!(error, "the rhs, 'ln(x)', is infinite (-inf) at (0, 1)");
        let error = coefficient("1/0").unwrap_err().to_string();
        assert_eq!(error, "the rhs, '1/0', is infinite (inf) at (0, 1)");
        let error = coefficient("sqrt(1-x)").unwrap_err().to_string();
        assert_eq!(error, "the rhs, 'sqrt(1-x)', is not a number (NaN) at (2, 3)");
        let placed = Expression::parse("1/x", 2).unwrap().at_place(Place::file("a.toml").line(3).column("7"));
        let error = Function::of(placed).finite_at(&[0.0, 0.5], "the rhs").unwrap_err().to_string();
        assert_eq!(error, "a.toml, line 3, column 7: the rhs, '1/x', is infinite (inf) at (0, 0.5)");
    }
}
