//! Functions of the coordinates, parsed from text.
//!
//! The crate exmex parses and evaluates. It reports no positions of errors and reads `-x^2` as (−x)²; tokens are
//! therefore checked first, and calls and signs rewritten with parentheses or operators of their own.

use std::{fmt, sync::Arc};

use exmex::{BinOp, Express, FlatEx, MakeOperators, Operator};
use firebox_core::{Error, Result, error::Place};

use super::token::{self, BINARY, UNARY};

/// Maximum number of characters of an expression.
const MAX_CHARS: usize = 10_000;

fn binary(repr: &str, prio: i64, apply: fn(f64, f64) -> f64) -> Operator<'_, f64> {
    Operator::make_bin(repr, BinOp { apply, prio, is_commutative: false })
}

/// Operators and constants for the parser.
#[derive(Clone, Debug)]
struct Operators;

impl MakeOperators<f64> for Operators {
    fn make<'a>() -> Vec<Operator<'a, f64>> {
        let mut all = vec![
            binary("+", 0, |a, b| a + b),
            binary("-", 0, |a, b| a - b),
            binary("*", 1, |a, b| a * b),
            binary("/", 1, |a, b| a / b),
            // `0 ~ b` is −b, binding weaker than a power, as mathematics writes −x².
            binary("~", 2, |_, b| -b),
            binary("^", 3, f64::powf),
            Operator::make_unary("neg", |a| -a),
        ];
        all.extend(BINARY.iter().map(|&(name, apply)| binary(name, 4, apply)));
        all.extend(UNARY.iter().map(|&(name, apply)| Operator::make_unary(name, apply)));
        all
    }
}

/// A function of x, y (z): numbers, `pi`, `e`, `+ - * / ^`, parentheses, and functions such as `sin(x)` and `atan2(y,
/// x)`.
#[derive(Clone)]
pub struct Expression {
    text: String,
    /// Shared by copies: 19 KB.
    compiled: Arc<FlatEx<f64, Operators>>,
    /// The coordinate of each variable of `compiled`.
    axes: Vec<usize>,
    /// The position of its text, if known.
    place: Arc<Place>,
}

impl fmt::Debug for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Expression").field(&self.text).finish()
    }
}

impl Expression {
    /// Parses `text` as a function of the first `dims` of x, y, z.
    ///
    /// # Errors
    ///
    /// [`Error::Input`] that shows the expression with a mark under the error, and lists alternatives.
    pub fn parse(text: &str, dims: usize) -> Result<Self> {
        if text.chars().count() > MAX_CHARS {
            let what = format!("an expression has more than {MAX_CHARS} characters");
            return Err(Error::input(what, "give a shorter one"));
        }
        let plain = token::normalise(text, dims).map_err(|error| error.error(text))?;
        let compiled = FlatEx::<f64, Operators>::parse(&plain).map_err(|error| unreadable(text, &error.to_string()))?;
        let axis = |name: &String| ["x", "y", "z"].iter().position(|axis| axis == name);
        let axes = compiled.var_names().iter().map(axis).collect::<Option<Vec<_>>>();
        let axes = axes.ok_or_else(|| unreadable(text, "it has an unknown variable"))?;
        Ok(Self { text: text.trim().into(), compiled: Arc::new(compiled), axes, place: Arc::default() })
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
        self.axes.is_empty().then(|| self.at(&[]))
    }

    /// The value at one point; NaN where undefined.
    pub fn at(&self, point: &[f64]) -> f64 {
        let mut values = [0.0; 3];
        for (value, &axis) in values.iter_mut().zip(&self.axes) {
            *value = point[axis];
        }
        self.compiled.eval(&values[..self.axes.len()]).unwrap_or(f64::NAN)
    }
}

fn unreadable(text: &str, why: &str) -> Error {
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
            ("x ** 2", 4, "a number, a variable or '('"),
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
