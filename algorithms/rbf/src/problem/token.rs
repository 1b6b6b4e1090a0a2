//! Tokens of an expression, and the names that it may contain.

use firebox_core::{Error, error::Place};

use super::primitive::axis_name;

type Unary = (&'static str, fn(f64) -> f64);
type Binary = (&'static str, fn(f64, f64) -> f64);

/// Unary functions.
pub(super) const UNARY: [Unary; 18] = [
    ("sin", f64::sin),
    ("cos", f64::cos),
    ("tan", f64::tan),
    ("asin", f64::asin),
    ("acos", f64::acos),
    ("atan", f64::atan),
    ("sinh", f64::sinh),
    ("cosh", f64::cosh),
    ("tanh", f64::tanh),
    ("exp", f64::exp),
    ("ln", f64::ln),
    ("log", f64::ln),
    ("log2", f64::log2),
    ("log10", f64::log10),
    ("sqrt", f64::sqrt),
    ("cbrt", f64::cbrt),
    ("abs", f64::abs),
    ("sign", |a| if a == 0.0 { 0.0 } else { a.signum() }),
];

/// Binary functions.
pub(super) const BINARY: [Binary; 4] =
    [("atan2", f64::atan2), ("min", f64::min), ("max", f64::max), ("hypot", f64::hypot)];

/// Words of expressions that are neither functions nor variables.
const WORDS: [&str; 6] = ["pi", "π", "e", "if", "and", "or"];

/// The variables of expressions, and constants with their values.
#[derive(Debug, Clone, Default)]
pub(super) struct Variables {
    pub(super) coordinates: Vec<String>,
    pub(super) constants: Vec<(String, f64)>,
}

impl Variables {
    /// The first `dims` of x, y, z, x4, x5.
    pub(super) fn of(dims: usize) -> Self {
        Self { coordinates: (0..dims).map(axis_name).collect(), constants: Vec::new() }
    }

    /// Returns `true` if an expression reads `name` as something else than a variable.
    pub(super) fn is_reserved(name: &str) -> bool {
        let is = |other: &str| name == other;
        WORDS.into_iter().any(is) || UNARY.iter().any(|it| is(it.0)) || BINARY.iter().any(|it| is(it.0))
    }
}

/// The first error of an expression.
#[derive(Debug)]
pub(super) struct SyntaxError {
    /// Characters before it.
    at: usize,
    what: String,
    help: String,
}

impl SyntaxError {
    /// The error, with the expression and a mark under the position.
    pub(super) fn error(self, text: &str) -> Error {
        // A mark needs a single line.
        let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        let what = format!("{}\n  {line}\n  {}^", self.what, " ".repeat(self.at));
        Error::input_at(Place::default().column((self.at + 1).to_string()), what, self.help)
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Kind {
    Number(f64),
    Name(String),
    Symbol(char),
    /// `<`, `<=`, `>`, `>=`.
    Comparison(&'static str),
}

pub(super) struct Token {
    pub(super) kind: Kind,
    /// Characters before it.
    pub(super) at: usize,
}

pub(super) fn syntax_error<T>(at: usize, what: impl Into<String>, help: impl Into<String>) -> Result<T, SyntaxError> {
    Err(SyntaxError { at, what: what.into(), help: help.into() })
}

pub(super) fn split(text: &str) -> Result<Vec<Token>, SyntaxError> {
    let chars: Vec<char> = text.chars().collect();
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(&c) = chars.get(at) {
        let start = at;
        let while_in =
            |from: usize, test: fn(char) -> bool| from + chars[from..].iter().take_while(|&&c| test(c)).count();
        let kind = if c.is_whitespace() {
            at += 1;
            continue;
        } else if c.is_ascii_digit() || c == '.' {
            at = while_in(at, |c| c.is_ascii_digit() || c == '.');
            if matches!(chars.get(at), Some('e' | 'E')) {
                let sign = usize::from(matches!(chars.get(at + 1), Some('+' | '-')));
                let end = while_in((at + 1 + sign).min(chars.len()), |c| c.is_ascii_digit());
                // `2e` is a number followed by a name.
                at = if end > at + 1 + sign { end } else { at };
            }
            let word: String = chars[start..at].iter().collect();
            match word.parse::<f64>() {
                Ok(value) if value.is_finite() => Kind::Number(value),
                _ => return syntax_error(start, format!("'{word}' is not a number"), "write it as 12, 1.5 or 2e-3"),
            }
        } else if c.is_alphabetic() || c == '_' {
            at = while_in(at, |c| c.is_alphanumeric() || c == '_');
            Kind::Name(chars[start..at].iter().collect())
        } else if c == '*' && chars.get(at + 1) == Some(&'*') {
            at += 2;
            Kind::Symbol('^')
        } else if "+-*/^(),".contains(c) {
            at += 1;
            Kind::Symbol(c)
        } else if c == '<' || c == '>' {
            let equal = chars.get(at + 1) == Some(&'=');
            at += 1 + usize::from(equal);
            Kind::Comparison(match (c, equal) {
                ('<', false) => "<",
                ('<', true) => "<=",
                (_, false) => ">",
                (_, true) => ">=",
            })
        } else {
            return syntax_error(start, format!("'{c}' means nothing here"), "expressions have + - * / ^ ( ) and ,");
        };
        tokens.push(Token { kind, at: start });
    }
    Ok(tokens)
}
