//! Functions of the coordinates, parsed from text.
//!
//! The crate exmex parses and evaluates. It reports no positions of errors and reads `-x^2` as (−x)²; tokens are
//! therefore checked first, and calls and signs rewritten with parentheses or operators of their own.

use std::{fmt, sync::Arc};

use exmex::{Express, FlatEx};
use firebox_core::{Error, Result, error::Place};

use super::{
    dual::Dual,
    operators::{Number, Operators},
    rewriting::rewrite,
    token::Variables,
};
use crate::types::MAX_DIMS;

/// Maximum number of characters of an expression.
const MAX_CHARS: usize = 10_000;

/// A function of coordinates: numbers, `pi`, `e`, `+ - * / ^` or `**`, parentheses, functions such as `sin(x)` and
/// `atan2(y, x)`, and `if(x < 1 and y >= 0, a, b)`.
#[derive(Clone)]
pub struct Expression {
    text: String,
    code: Code,
    /// The position of its text, if known.
    place: Arc<Place>,
}

/// Code that takes a point.
type Derived = dyn Fn(&[f64]) -> f64 + Send + Sync;

#[derive(Clone)]
enum Code {
    Compiled {
        /// Shared by copies: 19 KB.
        formula: Arc<FlatEx<Dual<0>, Operators>>,
        /// The coordinate of each variable of `formula`.
        axes: Vec<usize>,
    },
    /// Computed from a text that contains more than coordinates.
    Derived(Arc<Derived>),
}

/// The rewritten text, for [`compile`].
pub(super) fn plain(text: &str, variables: &Variables, condition: bool) -> Result<String> {
    if text.chars().count() > MAX_CHARS {
        let what = format!("an expression has more than {MAX_CHARS} characters");
        return Err(Error::input(what, "give a shorter one"));
    }
    rewrite(text, variables, condition).map_err(|error| error.error(text))
}

/// The formula of a rewritten text; `text` is the original one.
pub(super) fn compile<T: Number>(plain: &str, text: &str) -> Result<FlatEx<T, Operators>> {
    FlatEx::parse(plain).map_err(|error| unreadable(text, &error.to_string()))
}

impl fmt::Debug for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Expression").field(&self.text).finish()
    }
}

impl Expression {
    /// Parses `text` as a function of the first `dims` of x, y, z, x4, x5.
    ///
    /// # Errors
    ///
    /// [`Error::Input`] that shows the expression with a mark under the error, and lists alternatives.
    pub fn parse(text: &str, dims: usize) -> Result<Self> {
        Self::with(text, &Variables::of(dims))
    }

    /// Parses `text` as a function of variables and constants.
    pub(super) fn with(text: &str, variables: &Variables) -> Result<Self> {
        Self::read(text, variables, false)
    }

    /// Parses a condition: comparisons joined by `and` and `or`, 1 where it holds and 0 elsewhere.
    pub(super) fn condition(text: &str, variables: &Variables) -> Result<Self> {
        Self::read(text, variables, true)
    }

    fn read(text: &str, variables: &Variables, condition: bool) -> Result<Self> {
        let formula = compile::<Dual<0>>(&plain(text, variables, condition)?, text)?;
        let axis = |name: &String| name.strip_prefix('v').and_then(|axis| axis.parse().ok());
        let axes = formula.var_names().iter().map(axis).collect::<Option<Vec<_>>>();
        let axes = axes.ok_or_else(|| unreadable(text, "it has an unknown variable"))?;
        let code = Code::Compiled { formula: Arc::new(formula), axes };
        Ok(Self { text: text.trim().into(), code, place: Arc::default() })
    }

    /// A function that a text determines without being it, such as a coefficient of an equation.
    pub(super) fn derived(text: &str, place: Place, code: impl Fn(&[f64]) -> f64 + Send + Sync + 'static) -> Self {
        Self { text: text.into(), code: Code::Derived(Arc::new(code)), place: Arc::new(place) }
    }

    /// Sets the position that errors name.
    pub fn at_place(mut self, place: Place) -> Self {
        self.place = Arc::new(place);
        self
    }

    /// The position of the text; empty if unknown.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// The text, trimmed.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The value of an expression without variables.
    pub fn constant(&self) -> Option<f64> {
        matches!(&self.code, Code::Compiled { axes, .. } if axes.is_empty()).then(|| self.at(&[]))
    }

    /// The value at one point; NaN where undefined.
    pub fn at(&self, point: &[f64]) -> f64 {
        let (formula, axes) = match &self.code {
            Code::Compiled { formula, axes } => (formula, axes),
            Code::Derived(code) => return code(point),
        };
        let mut values = [Dual::default(); MAX_DIMS];
        for (value, &axis) in values.iter_mut().zip(axes) {
            *value = Dual::constant(point[axis]);
        }
        formula.eval(&values[..axes.len()]).map_or(f64::NAN, |result| result.value)
    }
}

pub(super) fn unreadable(text: &str, why: &str) -> Error {
    Error::input(format!("the expression '{text}' cannot be read: {why}"), "write it with more parentheses")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> f64 {
        Expression::parse(text, 3).unwrap_or_else(|error| panic!("{error}")).at(&[2.0, 3.0, 0.5])
    }

    #[test]
    fn expressions_follow_mathematical_precedence() {
        use std::f64::consts::{E, PI};
        for (text, expected) in [
            ("-x^2", -4.0),
            ("--x^2", 4.0),
            ("- + - -x", -2.0),
            ("(-x)^2", 4.0),
            ("(x^y)^x", 64.0),
            ("x^(y)*y", 24.0),
            ("2^-x", 0.25),
            ("2^-sin(x)", 2f64.powf(-(2f64.sin()))),
            ("y*-x^2", -12.0),
            ("y/-x*2", -3.0),
            ("10-y-x", 5.0),
            ("10-y+x", 9.0),
            ("x/y*z/2", 2.0 / 3.0 * 0.5 / 2.0),
            ("12/x/y", 2.0),
            ("1 + 2*x^3", 17.0),
            ("exp(-x^2)", (-4f64).exp()),
            ("-exp(x)^2", -(2f64.exp().powi(2))),
            ("atan2(atan2(x, y), -z)*2 + min(1, max(x, -y))", 2f64.atan2(3.0).atan2(-0.5) * 2.0 + 1.0),
            ("max(x, atan2(y, max(1, 2)))", 2.0),
            ("1.5e1 + 2E-1 + .5 + 1.", 16.7),
            ("pi*e", PI * E),
            ("π + ln(e) + log10(100) + sqrt(abs(-x^2))", PI + 5.0),
            ("((x))", 2.0),
            ("x**2 + y ** z", 4.0 + 3f64.sqrt()),
            ("if(x < 2, 1, 5)", 5.0),
            ("2*if(x <= 2 and y > 1, x + 1, ln(-1)) + 1", 7.0),
            ("if(x > 5 or (y >= 3 and z < 1), -x, y)^2", 4.0),
            ("if((x + 1) < y, 1, if(y < 0, 2, 3))", 3.0),
            ("-if((x < 1 or x > 1) and z < 1, sqrt(y), 0)", -(3f64.sqrt())),
        ] {
            assert!((value(text) - expected).abs() < 1e-12, "{text}: {} instead of {expected}", value(text));
        }
        assert!(value("ln(-x)").is_nan());
    }

    #[test]
    fn errors_show_their_position() {
        for (text, column, part) in [
            ("sin(x)*", 8, "something is missing at the end"),
            ("sin(x", 6, "')' is missing"),
            ("x + )", 5, "a number, a variable or '('"),
            ("(x))", 4, "')' without '('"),
            ("2x", 2, "an operator"),
            ("x + q*2", 5, "unknown name 'q'"),
            ("x + z", 5, "unknown name 'z'"),
            ("sin x", 5, "'('"),
            ("sine(x)", 1, "unknown name 'sine'"),
            ("x $ y", 3, "'$'"),
            ("x *** 2", 5, "a number, a variable or '('"),
            ("u*x", 1, "not linear"),
            ("1 + u_x", 5, "not linear"),
            ("if(x, 1, 2)", 4, "compares nothing"),
            ("if(x < 1, 2)", 12, "',' is missing"),
            ("if(x < 1, 2, 3, 4)", 15, "begins a third"),
            ("if(0 < x < 1, 2, 3)", 10, "follows another comparison"),
            ("if((x < 1) + 1 < 2, 2, 3)", 12, "not a number"),
            ("if(x < 1 and y, 2, 3)", 14, "compares nothing"),
            ("if((x < 1 and y), 2, 3)", 15, "compares nothing"),
            ("if(2*(x < 1) < 1, 2, 3)", 9, "a number must stand"),
            ("x and y", 3, "joins comparisons"),
            ("atan2(x)", 8, "','"),
            ("sin(x, y)", 6, "','"),
            ("x, y", 2, "','"),
            ("x^2^3", 4, "parentheses"),
            ("x^(2)^3", 6, "parentheses"),
            ("x^-sin(y)^3", 10, "parentheses"),
            ("1.2.3", 1, "1.2.3"),
            ("1e999", 1, "1e999"),
            ("  ", 1, "empty"),
            ("é + x", 1, "é"),
            ("x < 1", 3, "'<'"),
        ] {
            let error = Expression::parse(text, 2).unwrap_err().to_string();
            assert!(error.contains(&format!("column {column}:")) && error.contains(part), "{text}: {error}");
            let mark = error.lines().last().unwrap();
            assert_eq!(mark.find('^'), Some(column + 1), "{text}: {error}");
        }
        assert!(Expression::parse(&"(".repeat(5000), 2).is_err());
        assert!(Expression::parse(&format!("{}x{}", "(".repeat(200), ")".repeat(200)), 2).is_err());
        assert!(Expression::parse(&"x+".repeat(6000), 2).is_err());
        let long = format!("{}x", "x+".repeat(4000));
        assert_eq!(Expression::parse(&long, 2).unwrap().at(&[1.0, 0.0]), 4001.0);
    }

    #[test]
    fn random_text_is_parsed_or_refused() {
        let mut random = firebox_core::random::Random::new(1, 0);
        let words = [
            "x", "y", "1", "2.5", "e", "pi", "sin", "atan2", "max", "(", ")", "(", ")", ",", "+", "-", "*", "/", "^",
            "é", "{x}",
        ];
        let mut read = 0;
        for _ in 0..50_000 {
            let n = 1 + random.below(9);
            let text: String = (0..n).flat_map(|_| [words[random.below(words.len())], " "]).collect();
            match Expression::parse(&text, 2) {
                Ok(expression) => {
                    read += 1;
                    expression.at(&[0.5, 2.0]);
                }
                // The parser accepts whatever passes the check of tokens.
                Err(error) => assert!(error.to_string().starts_with("column "), "{text}: {error}"),
            }
        }
        assert!(read > 500, "{read}");
    }
}
