//! Tokens of an expression: split, checked with the position of the first error, and rewritten into an unambiguous form
//! for the parser.

use std::f64::consts::{E, PI};
use std::fmt::Write;

use firebox_core::{Error, error::Place};

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

/// Maximum nesting depth of parentheses.
const MAX_DEPTH: usize = 100;
const VARIABLES: [&str; 3] = ["x", "y", "z"];

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
enum Kind {
    Number(f64),
    Name(String),
    Symbol(char),
}

struct Token {
    kind: Kind,
    at: usize,
}

fn syntax_error<T>(at: usize, what: impl Into<String>, help: impl Into<String>) -> Result<T, SyntaxError> {
    Err(SyntaxError { at, what: what.into(), help: help.into() })
}

fn split(text: &str) -> Result<Vec<Token>, SyntaxError> {
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
        } else if "+-*/^(),".contains(c) {
            at += 1;
            Kind::Symbol(c)
        } else {
            return syntax_error(start, format!("'{c}' means nothing here"), "expressions have + - * / ^ ( ) and ,");
        };
        tokens.push(Token { kind, at: start });
    }
    Ok(tokens)
}

/// An open parenthesis.
enum Open {
    Group,
    /// A unary function.
    Unary,
    /// A binary function, and whether its comma has been read.
    Binary(&'static str, bool),
}

/// Suggestions for an unknown name.
fn unknown_name<T>(name: &str, at: usize, dims: usize) -> Result<T, SyntaxError> {
    let functions: Vec<&str> = UNARY.iter().map(|f| f.0).chain(BINARY.iter().map(|f| f.0)).collect();
    let help = format!(
        "the variables are {}, the constants pi and e, the functions {}",
        VARIABLES[..dims].join(", "),
        functions.join(", ")
    );
    syntax_error(at, format!("unknown name '{name}'"), help)
}

/// Checks and rewrites in one pass over the tokens.
#[derive(Default)]
struct Writer {
    dims: usize,
    out: String,
    /// Open parentheses: kind, position, and whether they hold an exponent.
    open: Vec<(Open, usize, bool)>,
    /// A value just ended: an operator may follow.
    ended: bool,
    /// The value to come is negated.
    negative: bool,
    /// The value to come is an exponent.
    exponent: bool,
    /// The value that just ended was an exponent.
    was_exponent: bool,
    /// The function whose '(' must follow.
    call: Option<Open>,
}

impl Writer {
    /// Writes the pending sign of the value to come.
    fn begin(&mut self) {
        if self.negative {
            self.out.push_str(if self.exponent { "neg " } else { "0 ~ " });
        }
        (self.negative, self.was_exponent, self.exponent) = (false, self.exponent, false);
    }

    fn value(&mut self, text: &str) {
        self.begin();
        self.out.push_str(text);
        self.out.push(' ');
        self.ended = true;
    }

    fn name(&mut self, name: &str, at: usize) -> Result<(), SyntaxError> {
        match name {
            "pi" | "π" => self.value(&format!("{PI}")),
            "e" => self.value(&format!("{E}")),
            _ if VARIABLES[..self.dims].contains(&name) => self.value(name),
            _ => {
                let two = BINARY.iter().find(|f| f.0 == name).map(|f| Open::Binary(f.0, false));
                let Some(call) = UNARY.iter().find(|f| f.0 == name).map(|_| Open::Unary).or(two) else {
                    return unknown_name(name, at, self.dims);
                };
                self.begin();
                // Binary functions become infix: ((a) f (b)).
                match call {
                    Open::Unary => _ = write!(self.out, "{name} ("),
                    _ => self.out.push_str("(("),
                }
                self.call = Some(call);
            }
        }
        Ok(())
    }

    fn open(&mut self, open: Open, at: usize) -> Result<(), SyntaxError> {
        if self.open.len() == MAX_DEPTH {
            return syntax_error(at, format!("more than {MAX_DEPTH} open parentheses"), "write a simpler expression");
        }
        self.open.push((open, at, self.was_exponent));
        (self.ended, self.was_exponent) = (false, false);
        Ok(())
    }

    fn close(&mut self, at: usize) -> Result<(), SyntaxError> {
        let Some((open, _, exponent)) = self.open.pop() else {
            return syntax_error(at, "')' without '('", "remove it, or open a '(' before");
        };
        match open {
            Open::Binary(name, false) => {
                return syntax_error(at, format!("{name} has two arguments, and ',' is missing"), "write f(a, b)");
            }
            Open::Binary(_, true) => self.out.push_str(")) "),
            Open::Group | Open::Unary => self.out.push_str(") "),
        }
        (self.ended, self.was_exponent) = (true, exponent);
        Ok(())
    }

    fn operator(&mut self, c: char, at: usize) -> Result<(), SyntaxError> {
        match c {
            ',' => match self.open.last_mut() {
                Some((Open::Binary(name, comma @ false), ..)) => {
                    *comma = true;
                    _ = write!(self.out, ") {name} (");
                }
                Some((Open::Binary(name, true), ..)) => {
                    let what = format!("{name} has two arguments, and ',' begins a third");
                    return syntax_error(at, what, "write f(a, b)");
                }
                _ => return syntax_error(at, "',' is for functions of two arguments only", "write 1.5 with a point"),
            },
            '^' if self.was_exponent => {
                return syntax_error(at, "a power of a power needs parentheses", "write (a^b)^c or a^(b^c)");
            }
            _ => {
                self.exponent = c == '^';
                self.out.push(c);
                self.out.push(' ');
            }
        }
        (self.ended, self.was_exponent) = (false, false);
        Ok(())
    }

    fn token(&mut self, token: &Token) -> Result<(), SyntaxError> {
        let at = token.at;
        if let Some(call) = self.call.take() {
            return match token.kind {
                Kind::Symbol('(') => self.open(call, at),
                _ => syntax_error(at, "a function's argument begins with '('", "write it as sin(x)"),
            };
        }
        match (&token.kind, self.ended) {
            (Kind::Symbol(')'), true) => self.close(at),
            (Kind::Symbol('('), false) => {
                self.begin();
                self.out.push('(');
                self.open(Open::Group, at)
            }
            (Kind::Number(value), false) => {
                self.value(&value.to_string());
                Ok(())
            }
            (Kind::Name(name), false) => self.name(name, at),
            (Kind::Symbol('+'), false) => Ok(()),
            (Kind::Symbol('-'), false) => {
                self.negative = !self.negative;
                Ok(())
            }
            (Kind::Symbol(_), false) => {
                syntax_error(at, "a number, a variable or '(' must stand here", "put it between the operators")
            }
            (Kind::Symbol('('), true) | (Kind::Number(_) | Kind::Name(_), true) => {
                syntax_error(at, "an operator is missing here", "a product is written with *, as 2*x")
            }
            (&Kind::Symbol(c), true) => self.operator(c, at),
        }
    }
}

/// `text` rewritten for the parser, or its first error.
pub(super) fn normalise(text: &str, dims: usize) -> Result<String, SyntaxError> {
    let tokens = split(text)?;
    if tokens.is_empty() {
        return syntax_error(0, "the expression is empty", "write a number or a formula, as 0 or sin(x)*y");
    }
    let (dims, out) = (dims.min(VARIABLES.len()), String::with_capacity(2 * text.len()));
    let mut writer = Writer { dims, out, ..Writer::default() };
    tokens.iter().try_for_each(|token| writer.token(token))?;
    let end = text.trim_end().chars().count();
    if writer.call.is_some() || !writer.ended {
        return syntax_error(end, "something is missing at the end", "complete the expression");
    }
    if let Some((_, at, _)) = writer.open.last() {
        let what = format!("')' is missing for the '(' in column {}", at + 1);
        return syntax_error(end, what, "close it");
    }
    Ok(writer.out)
}
