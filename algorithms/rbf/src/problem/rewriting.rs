//! Expressions rewritten into an unambiguous form for the parser, or refused with the position of their first error.

use std::f64::consts::{E, PI};
use std::fmt::Write;

use super::{
    operators::{BINARY, UNARY},
    token::{Kind, SyntaxError, Token, Variables, split, syntax_error},
};

/// Maximum nesting depth of parentheses.
const MAX_DEPTH: usize = 100;

/// An open parenthesis.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Open {
    /// The whole expression.
    All,
    Group,
    /// A unary function.
    Unary,
    /// A binary function, and whether its comma has been read.
    Binary(&'static str, bool),
    /// `if(condition, value, value)`, and the commas read.
    If(u8),
}

/// An expression within parentheses.
struct Level {
    open: Open,
    at: usize,
    /// It is an exponent.
    exponent: bool,
    /// It is a condition: comparisons joined by `and` and `or`.
    condition: bool,
    /// A comparison of the current part of the condition has been read, or a condition in parentheses.
    compared: bool,
    /// Parts before the current one have been read.
    joined: bool,
    /// Nothing of the current part has been read.
    fresh: bool,
    /// Where the current part begins.
    part: usize,
}

/// Suggestions for an unknown name.
fn unknown_name<T>(name: &str, at: usize, variables: &Variables) -> Result<T, SyntaxError> {
    let u = &variables.unknown_names();
    if variables.is_of_unknown(name) && !variables.in_residual {
        let what = format!("'{name}' in a coefficient, a value or a right-hand side: this is not linear");
        let one = &variables.unknowns[0];
        let (first, last) = (&variables.coordinates[0], variables.coordinates.last().map_or("x", String::as_str));
        let help = format!(
            "only the residual of an equation may contain {u}, as residual = \"{one}_{first}{first} + {one}*{one}_{last}\"; \
             conditions on the boundary are linear, and their values are functions of the coordinates"
        );
        return syntax_error(at, what, help);
    }
    if variables.is_of_unknown(name) {
        let what = match variables.order(name) {
            Some(order) if order > 2 => {
                format!("'{name}' is a derivative of order {order}, and equations are of at most second order")
            }
            _ => format!("'{name}' is not a derivative of {u} by coordinates"),
        };
        return syntax_error(at, what, format!("the derivatives are {}", variables.derivative_names()));
    }
    let functions: Vec<&str> = UNARY.iter().map(|f| f.name).chain(BINARY.iter().map(|f| f.name)).collect();
    let constants: Vec<&str> =
        ["pi", "e"].into_iter().chain(variables.constants.iter().map(|it| it.0.as_str())).collect();
    let derivatives = if variables.in_residual {
        format!("the derivatives {}; ", variables.derivative_names())
    } else {
        String::new()
    };
    let help = format!(
        "{derivatives}the variables are {}, the constants {}, the functions {} and if",
        variables.coordinates.join(", "),
        constants.join(", "),
        functions.join(", ")
    );
    syntax_error(at, format!("unknown name '{name}'"), help)
}

/// Checks and rewrites in one pass over the tokens.
struct Writer<'a> {
    variables: &'a Variables,
    out: String,
    levels: Vec<Level>,
    /// A value just ended: an operator may follow.
    ended: bool,
    /// The value to come is negated.
    negative: bool,
    /// The value to come is an exponent.
    exponent: bool,
    /// The value that just ended was an exponent.
    was_exponent: bool,
    /// The value that just ended was a condition in parentheses.
    was_condition: bool,
    /// The function whose '(' must follow.
    call: Option<Open>,
}

impl<'a> Writer<'a> {
    fn new(variables: &'a Variables, condition: bool) -> Self {
        let all = Level {
            open: Open::All,
            at: 0,
            exponent: false,
            condition,
            compared: false,
            joined: false,
            fresh: true,
            part: 0,
        };
        Self {
            variables,
            out: String::new(),
            levels: vec![all],
            ended: false,
            negative: false,
            exponent: false,
            was_exponent: false,
            was_condition: false,
            call: None,
        }
    }

    fn level(&mut self) -> &mut Level {
        // The whole expression is never closed.
        let last = self.levels.len() - 1;
        &mut self.levels[last]
    }

    /// Writes the pending sign of the value to come.
    fn begin(&mut self) {
        if self.negative {
            self.out.push_str(if self.exponent { "neg " } else { "0 ~ " });
        }
        (self.negative, self.was_exponent, self.exponent) = (false, self.exponent, false);
        self.level().fresh = false;
    }

    fn value(&mut self, text: &str) {
        self.begin();
        self.out.push_str(text);
        self.out.push(' ');
        self.ended = true;
    }

    /// The index of a derivative in [`Variables::arguments`].
    fn slot(&self, name: &str) -> Option<usize> {
        let argument = self.variables.derivative(name)?;
        self.variables.arguments().into_iter().position(|other| other.is(argument))
    }

    fn name(&mut self, name: &str, at: usize) -> Result<(), SyntaxError> {
        let coordinate = self.variables.coordinates.iter().position(|coordinate| coordinate == name);
        let constant = self.variables.constants.iter().find(|constant| constant.0 == name);
        if let Some(slot) = self.variables.in_residual.then(|| self.slot(name)).flatten() {
            self.value(&format!("w{slot}"));
            return Ok(());
        }
        match (name, coordinate, constant) {
            (_, Some(axis), _) => self.value(&format!("v{axis}")),
            (_, _, Some((_, number))) => {
                let sign = if *number < 0.0 { "0 ~ " } else { "" };
                self.value(&format!("({sign}{})", number.abs()));
            }
            ("pi" | "π", ..) => self.value(&format!("{PI}")),
            ("e", ..) => self.value(&format!("{E}")),
            _ => {
                let unary = UNARY.iter().any(|f| f.name == name).then_some(Open::Unary);
                let binary = BINARY.iter().find(|f| f.name == name).map(|f| Open::Binary(f.name, false));
                let choice = (name == "if").then_some(Open::If(0));
                let Some(call) = unary.or(binary).or(choice) else {
                    return unknown_name(name, at, self.variables);
                };
                self.begin();
                // Other functions become infix: ((a) f (b)), (((condition) then (a)) else (b)).
                match call {
                    Open::Unary => _ = write!(self.out, "{name} ("),
                    Open::If(_) => self.out.push_str("((("),
                    _ => self.out.push_str("(("),
                }
                self.call = Some(call);
            }
        }
        Ok(())
    }

    fn open(&mut self, open: Open, at: usize, condition: bool) -> Result<(), SyntaxError> {
        if self.levels.len() > MAX_DEPTH {
            return syntax_error(at, format!("more than {MAX_DEPTH} open parentheses"), "write a simpler expression");
        }
        let exponent = self.was_exponent;
        self.levels.push(Level {
            open,
            at,
            exponent,
            condition,
            compared: false,
            joined: false,
            fresh: true,
            part: at,
        });
        (self.ended, self.was_exponent) = (false, false);
        Ok(())
    }

    /// Checks that a part of a condition compares.
    fn check_compared(&mut self) -> Result<(), SyntaxError> {
        let level = self.level();
        match level.condition && !level.compared {
            true => syntax_error(level.part, "this part of a condition compares nothing", "compare by <, <=, > or >="),
            false => Ok(()),
        }
    }

    fn close(&mut self, at: usize) -> Result<(), SyntaxError> {
        let &mut Level { open, exponent, condition, compared, .. } = self.level();
        match open {
            Open::All => return syntax_error(at, "')' without '('", "remove it, or open a '(' before"),
            Open::Binary(name, false) => {
                return syntax_error(at, format!("{name} has two arguments, and ',' is missing"), "write f(a, b)");
            }
            Open::If(0 | 1) => {
                let what = "if has a condition and two values, and ',' is missing";
                return syntax_error(at, what, "write if(x < 1, a, b)");
            }
            Open::Binary(_, true) | Open::If(_) => self.out.push_str(")) "),
            Open::Group | Open::Unary => self.out.push_str(") "),
        }
        self.levels.pop();
        self.was_condition = condition && compared;
        if self.was_condition {
            self.level().compared = true;
        }
        (self.ended, self.was_exponent) = (true, exponent);
        Ok(())
    }

    fn comma(&mut self, at: usize) -> Result<(), SyntaxError> {
        let level = self.level();
        match level.open {
            Open::Binary(name, false) => {
                level.open = Open::Binary(name, true);
                _ = write!(self.out, ") {name} (");
            }
            Open::Binary(name, true) => {
                let what = format!("{name} has two arguments, and ',' begins a third");
                return syntax_error(at, what, "write f(a, b)");
            }
            Open::If(0) => {
                self.check_compared()?;
                self.was_condition = false;
                let level = self.level();
                (level.open, level.condition, level.fresh) = (Open::If(1), false, true);
                self.out.push_str(") then (");
            }
            Open::If(1) => {
                (level.open, level.fresh) = (Open::If(2), true);
                self.out.push_str(")) else (");
            }
            Open::If(_) => {
                let what = "if has a condition and two values, and ',' begins a third";
                return syntax_error(at, what, "write if(x < 1, a, b)");
            }
            _ => {
                return syntax_error(at, "',' is for functions of two arguments and if only", "write 1.5 with a point");
            }
        }
        (self.ended, self.was_exponent) = (false, false);
        Ok(())
    }

    fn operator(&mut self, c: char, at: usize) -> Result<(), SyntaxError> {
        if c == ',' {
            return self.comma(at);
        }
        if self.was_condition {
            return syntax_error(at, "a condition is not a number", "write if(x < 1, a, b)");
        }
        if c == '^' && self.was_exponent {
            return syntax_error(at, "a power of a power needs parentheses", "write (a^b)^c or a^(b^c)");
        }
        self.exponent = c == '^';
        self.out.push(c);
        self.out.push(' ');
        (self.ended, self.was_exponent) = (false, false);
        Ok(())
    }

    fn comparison(&mut self, sign: &str, at: usize) -> Result<(), SyntaxError> {
        let level = self.level();
        if !level.condition {
            let what = format!("'{sign}' compares where a number must stand");
            return syntax_error(at, what, "conditions stand first in if(x < 1, a, b), and in where");
        }
        if level.compared {
            return syntax_error(at, format!("'{sign}' follows another comparison"), "join comparisons by and");
        }
        level.compared = true;
        _ = write!(self.out, "{sign} ");
        (self.ended, self.was_exponent) = (false, false);
        Ok(())
    }

    fn join(&mut self, word: &str, at: usize) -> Result<(), SyntaxError> {
        if !self.level().condition {
            let what = format!("'{word}' joins comparisons, and a number must stand here");
            return syntax_error(at, what, "conditions stand first in if(x < 1, a, b), and in where");
        }
        self.check_compared()?;
        let level = self.level();
        (level.compared, level.joined, level.fresh) = (false, true, true);
        self.was_condition = false;
        _ = write!(self.out, "{word} ");
        (self.ended, self.was_exponent) = (false, false);
        Ok(())
    }

    fn token(&mut self, token: &Token) -> Result<(), SyntaxError> {
        let at = token.at;
        let level = self.level();
        if level.fresh {
            level.part = at;
        }
        if let Some(call) = self.call.take() {
            return match token.kind {
                Kind::Symbol('(') => self.open(call, at, matches!(call, Open::If(_))),
                _ => syntax_error(at, "a function's argument begins with '('", "write it as sin(x)"),
            };
        }
        match (&token.kind, self.ended) {
            (Kind::Symbol(')'), true) => {
                if self.level().joined {
                    self.check_compared()?;
                }
                self.close(at)
            }
            (Kind::Symbol('('), false) => {
                let level = self.level();
                let condition = level.condition && level.fresh;
                self.begin();
                self.out.push('(');
                self.open(Open::Group, at, condition)
            }
            (Kind::Number(value), false) => {
                self.value(&value.to_string());
                Ok(())
            }
            (Kind::Name(word), true) if word == "and" || word == "or" => self.join(word, at),
            (Kind::Name(name), false) => self.name(name, at),
            (Kind::Symbol('+'), false) => {
                self.level().fresh = false;
                Ok(())
            }
            (Kind::Symbol('-'), false) => {
                self.level().fresh = false;
                self.negative = !self.negative;
                Ok(())
            }
            (Kind::Symbol(_) | Kind::Comparison(_), false) => {
                syntax_error(at, "a number, a variable or '(' must stand here", "put it between the operators")
            }
            (Kind::Symbol('('), true) | (Kind::Number(_) | Kind::Name(_), true) => {
                syntax_error(at, "an operator is missing here", "a product is written with *, as 2*x")
            }
            (Kind::Comparison(sign), true) => self.comparison(sign, at),
            (&Kind::Symbol(c), true) => self.operator(c, at),
        }
    }
}

/// `text` rewritten for the parser, with `v0`, `v1`, … for the coordinates and `w0`, `w1`, … for
/// [`Variables::arguments`] in a residual, or its first error. A condition has the value 1 where it holds and 0 elsewhere.
pub(super) fn rewrite(text: &str, variables: &Variables, condition: bool) -> Result<String, SyntaxError> {
    let tokens = split(text)?;
    if tokens.is_empty() {
        return syntax_error(0, "the expression is empty", "write a number or a formula, as 0 or sin(x)*y");
    }
    let mut writer = Writer::new(variables, condition);
    tokens.iter().try_for_each(|token| writer.token(token))?;
    let end = text.trim_end().chars().count();
    if writer.call.is_some() || !writer.ended {
        return syntax_error(end, "something is missing at the end", "complete the expression");
    }
    let level = writer.level();
    let (open, at) = (level.open, level.at);
    if open != Open::All {
        let what = format!("')' is missing for the '(' in column {}", at + 1);
        return syntax_error(end, what, "close it");
    }
    writer.check_compared()?;
    Ok(writer.out)
}
