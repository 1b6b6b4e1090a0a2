//! Tokens of an expression, and the names that it may contain.

use firebox_core::{Error, error::Place};

use super::{
    equation::{Argument, Derivative},
    operators::{BINARY, UNARY},
    primitive::axis_name,
};

/// Words of expressions that are neither functions nor variables.
const WORDS: [&str; 6] = ["pi", "π", "e", "if", "and", "or"];

/// The variables of expressions, and constants with their values.
#[derive(Debug, Clone)]
pub(super) struct Variables {
    pub(super) coordinates: Vec<String>,
    pub(super) constants: Vec<(String, f64)>,
    /// The names of the unknowns, u unless the problem gives others.
    pub(super) unknowns: Vec<String>,
    /// Number of the first unknowns that are solutions.
    pub(super) solutions: usize,
    /// Number of the last unknowns that are numbers, and have no derivatives.
    pub(super) parameters: usize,
    /// The expression is the residual of an equation, which contains derivatives of the unknowns.
    pub(super) in_residual: bool,
}

impl Default for Variables {
    fn default() -> Self {
        let unknowns = vec!["u".into()];
        let (coordinates, constants) = (Vec::new(), Vec::new());
        Self { coordinates, constants, unknowns, solutions: 1, parameters: 0, in_residual: false }
    }
}

impl Variables {
    /// The first `dims` of x, y, z, x4, x5.
    pub(super) fn of(dims: usize) -> Self {
        Self { coordinates: (0..dims).map(axis_name).collect(), ..Self::default() }
    }

    /// Returns `true` if an expression reads `name` as something else than a variable.
    pub(super) fn is_reserved(name: &str) -> bool {
        let is = |other: &str| name == other;
        WORDS.into_iter().any(is) || UNARY.iter().any(|it| is(it.name)) || BINARY.iter().any(|it| is(it.name))
    }

    /// The unknown of a name of the form of itself or a derivative, and the rest of the name: nothing, or `_` and letters.
    fn split<'a>(&self, name: &'a str) -> Option<(usize, &'a str)> {
        self.unknowns.iter().enumerate().find_map(|(k, unknown)| {
            let rest = name.strip_prefix(unknown.as_str())?;
            (rest.is_empty() || rest.starts_with('_')).then_some((k, rest))
        })
    }

    /// Returns `true` for unknowns and for names of the form of their derivatives.
    pub(super) fn is_of_unknown(&self, name: &str) -> bool {
        self.split(name).is_some()
    }

    /// The names of the unknowns that are functions.
    pub(super) fn functions(&self) -> &[String] {
        &self.unknowns[..self.unknowns.len() - self.parameters]
    }

    /// The names of all unknowns.
    pub(super) fn unknown_names(&self) -> String {
        self.unknowns.join(", ")
    }

    /// The derivative of a name: `u`, or `u_` and the names of one or two coordinates.
    pub(super) fn derivative(&self, name: &str) -> Option<Argument> {
        let (unknown, rest) = self.split(name)?;
        let derivative = self.by_coordinates(rest)?;
        (unknown < self.functions().len() || derivative == Derivative::Value)
            .then_some(Argument { unknown, derivative })
    }

    /// The derivative of a suffix: nothing, or `_` and the names of one or two coordinates.
    fn by_coordinates(&self, suffix: &str) -> Option<Derivative> {
        let names = &self.coordinates;
        let axis = |name: &str| names.iter().position(|other| other == name);
        if suffix.is_empty() {
            return Some(Derivative::Value);
        }
        let by = suffix.strip_prefix('_')?;
        let both = |first: &String| {
            let rest = by.strip_prefix(first.as_str())?;
            axis(rest.strip_prefix('_').unwrap_or(rest))
        };
        let second = || names.iter().enumerate().find_map(|(i, first)| Some(Derivative::Second(i, both(first)?)));
        axis(by).map(Derivative::First).or_else(second)
    }

    /// The order of a derivative by coordinates, also above 2; `None` for other names.
    pub(super) fn order(&self, name: &str) -> Option<usize> {
        let mut rest = self.split(name).and_then(|(_, rest)| rest.strip_prefix('_'))?;
        let mut order = 0;
        while let Some(name) = self.coordinates.iter().find(|name| rest.starts_with(name.as_str())) {
            rest = rest[name.len()..].trim_start_matches('_');
            order += 1;
        }
        rest.is_empty().then_some(order)
    }

    /// Names of derivatives, for messages.
    pub(super) fn derivative_names(&self) -> String {
        let (u, names) = (&self.unknowns[0], &self.coordinates);
        let (x, y) = (names.first().map_or("x", String::as_str), names.last().map_or("x", String::as_str));
        let others = match &self.unknowns[1..] {
            [] => String::new(),
            others => format!(", and those of {}", others.join(", ")),
        };
        format!("{u}, {u}_{x}, {u}_{x}{x}, {u}_{x}{y} and so on, by {}{others}", names.join(", "))
    }

    /// Every derivative of at most second order of each unknown, once.
    pub(super) fn arguments(&self) -> Vec<Argument> {
        let dims = self.coordinates.len();
        let second = (0..dims).flat_map(|i| (i..dims).map(move |j| Derivative::Second(i, j)));
        let all = std::iter::once(Derivative::Value).chain((0..dims).map(Derivative::First)).chain(second);
        let all: Vec<_> = all.collect();
        let of = |unknown: usize| all.iter().map(move |&derivative| Argument { unknown, derivative });
        let functions = self.functions().len();
        let numbers =
            (functions..self.unknowns.len()).map(|unknown| Argument { unknown, derivative: Derivative::Value });
        (0..functions).flat_map(of).chain(numbers).collect()
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
        } else if c == '=' {
            let what = "'=' means nothing here";
            return syntax_error(
                start,
                what,
                "compare by <, <=, > or >=; write an equation a = b as residual = \"a - b\"",
            );
        } else {
            return syntax_error(start, format!("'{c}' means nothing here"), "expressions have + - * / ^ ( ) and ,");
        };
        tokens.push(Token { kind, at: start });
    }
    Ok(tokens)
}
