//! The text of a problem file: positions of errors, expressions.

use std::{fmt, path::PathBuf, sync::Arc};

use firebox_core::{Error, Result, error::Place};
use serde::{Deserialize, Deserializer, de};
use toml::Spanned;

use crate::problem::{expression::Expression, function::Function, tabulated::Tabulated, token::Variables};

/// A function in a file.
#[derive(Debug, Clone)]
pub(super) enum Text {
    /// An expression: text, or a plain number.
    Expression(String),
    /// The path of a table of its values.
    Table(PathBuf),
    /// Index of one of the functions of [`Problem::parse_with`](crate::Problem::parse_with).
    Given(usize),
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = Text;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an expression in quotes, a number, or { table = \"FILE.csv\" }")
            }

            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> std::result::Result<Text, A::Error> {
                #[derive(Deserialize)]
                #[serde(deny_unknown_fields)]
                struct Other {
                    table: Option<PathBuf>,
                    function: Option<usize>,
                }
                match Other::deserialize(de::value::MapAccessDeserializer::new(map))? {
                    Other { table: Some(path), function: None } => Ok(Text::Table(path)),
                    Other { table: None, function: Some(index) } => Ok(Text::Given(index)),
                    Other { table: None, function: None } => Err(de::Error::missing_field("table")),
                    _ => Err(de::Error::custom("`table` and `function` exclude each other")),
                }
            }

            fn visit_str<E>(self, text: &str) -> std::result::Result<Text, E> {
                Ok(Text::Expression(text.into()))
            }

            fn visit_f64<E>(self, value: f64) -> std::result::Result<Text, E> {
                Ok(Text::Expression(value.to_string()))
            }

            fn visit_i64<E>(self, value: i64) -> std::result::Result<Text, E> {
                Ok(Text::Expression(value.to_string()))
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

pub(super) type Written = Spanned<Text>;

/// A function for each unknown: an array, or a function of a single one.
#[derive(Debug)]
pub(super) enum Functions {
    One(Text),
    Each(Vec<Written>),
}

impl<'de> Deserialize<'de> for Functions {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = Functions;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an expression in quotes, a number, { table = \"FILE.csv\" }, or an array of these")
            }

            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> std::result::Result<Functions, A::Error> {
                Text::deserialize(de::value::MapAccessDeserializer::new(map)).map(Functions::One)
            }

            fn visit_str<E: de::Error>(self, text: &str) -> std::result::Result<Functions, E> {
                Text::deserialize(de::value::StrDeserializer::new(text)).map(Functions::One)
            }

            fn visit_f64<E: de::Error>(self, value: f64) -> std::result::Result<Functions, E> {
                Text::deserialize(de::value::F64Deserializer::new(value)).map(Functions::One)
            }

            fn visit_i64<E: de::Error>(self, value: i64) -> std::result::Result<Functions, E> {
                Text::deserialize(de::value::I64Deserializer::new(value)).map(Functions::One)
            }

            fn visit_seq<A: de::SeqAccess<'de>>(self, mut all: A) -> std::result::Result<Functions, A::Error> {
                let mut found = Vec::new();
                while let Some(next) = all.next_element()? {
                    found.push(next);
                }
                Ok(Functions::Each(found))
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

/// The text of a file, for positions of errors.
pub(super) struct Source<'a> {
    pub(super) text: &'a str,
    pub(super) file: Option<PathBuf>,
    pub(super) variables: Variables,
    /// Functions in code.
    pub(super) given: &'a [Function],
}

impl Source<'_> {
    pub(super) fn dims(&self) -> usize {
        self.variables.coordinates.len()
    }

    /// The number of a line.
    pub(super) fn line(&self, at: usize) -> usize {
        self.text.get(..at).unwrap_or(self.text).matches('\n').count() + 1
    }

    pub(super) fn place(&self, at: usize) -> Place {
        let before = self.text.get(..at).unwrap_or(self.text);
        let line = self.line(at);
        let column = before.rsplit('\n').next().unwrap_or(before).chars().count() + 1;
        Place::default().line(line).column(column.to_string())
    }

    pub(super) fn error<T>(&self, near: &Spanned<T>, what: impl Into<String>, help: &str) -> Error {
        Error::input_at(self.place(near.span().start), what, help)
    }

    /// Adds this position to an error that has none.
    pub(super) fn locate(&self, error: Error, at: usize) -> Error {
        match error {
            Error::Input { what, place, help } if place == Place::default() => {
                Error::Input { what, place: self.place(at), help }
            }
            other => other,
        }
    }

    /// Maps the column of an error in an expression to the file.
    pub(super) fn in_expression(&self, text: &Written, error: Error) -> Error {
        let Error::Input { what, place, help } = error else { return error };
        let span = text.span();
        let column = place.column.and_then(|column| column.parse::<usize>().ok());
        let raw = self.text.get(span.clone()).unwrap_or_default();
        let inside = column.map_or(0, |column| byte_offset(raw, column - 1));
        // The lines that mark the position repeat what line and column of the file say.
        let what = what.lines().next().unwrap_or_default().to_owned();
        Error::Input { what, place: self.place((span.start + inside).min(span.end.saturating_sub(1))), help }
    }

    /// The text of an expression, or of a condition on points.
    pub(super) fn written<'b>(&self, text: &'b Written) -> Result<&'b str> {
        match text.get_ref() {
            Text::Expression(own) => Ok(own),
            Text::Table(_) => Err(self.error(text, "a table is not possible here", "give an expression, as pi/2")),
            Text::Given(_) => {
                Err(self.error(text, "a function is not possible here", "give a number or an expression in quotes"))
            }
        }
    }

    pub(super) fn expression(&self, text: &Written) -> Result<Expression> {
        Expression::with(self.written(text)?, &self.variables).map_err(|error| self.in_expression(text, error))
    }

    /// A function for each unknown.
    pub(super) fn functions(&self, all: &Spanned<Functions>) -> Result<Vec<Function>> {
        let functions = match all.get_ref() {
            Functions::One(text) => vec![self.function(&Spanned::new(all.span(), text.clone()))?],
            Functions::Each(each) => each.iter().map(|text| self.function(text)).collect::<Result<_>>()?,
        };
        let (names, solutions) = (&self.variables.unknowns, self.variables.solutions);
        if ![names.len(), solutions].contains(&functions.len()) {
            let s = if functions.len() == 1 { "" } else { "s" };
            let what = format!("{} function{s} for {}", functions.len(), names.join(", "));
            return Err(self.error(all, what, "give an array with one for each unknown, in their order"));
        }
        Ok(functions)
    }

    pub(super) fn function(&self, text: &Written) -> Result<Function> {
        if let Text::Given(index) = *text.get_ref() {
            return self.given.get(index).cloned().ok_or_else(|| {
                let what = format!("there is no function {index}: {} in code are given", self.given.len());
                self.error(text, what, "give an expression or a table; functions in code come from a program")
            });
        }
        if let Text::Table(path) = text.get_ref() {
            let Some(folder) = self.file.as_ref().and_then(|file| file.parent()) else {
                let help = "read the problem from a file, beside which the table is";
                return Err(self.error(text, "a table needs a problem in a file", help));
            };
            let table = Tabulated::read(folder.join(path), &self.variables.coordinates)?;
            return Ok(Function::Tabulated(Arc::new(table)));
        }
        let place = Place { file: self.file.clone(), ..self.place(text.span().start) };
        Ok(Function::of(self.expression(text)?.at_place(place)))
    }

    pub(super) fn function_or(&self, text: &Option<Written>, constant: f64) -> Result<Function> {
        text.as_ref().map_or(Ok(Function::Constant(constant)), |text| self.function(text))
    }

    /// A constant, which may be an expression such as `pi/2`.
    pub(super) fn number(&self, text: &Written) -> Result<f64> {
        let expression = self.expression(text)?;
        expression.constant().ok_or_else(|| {
            let what = format!("'{}' is not the same everywhere", expression.text());
            self.error(text, what, "give a number, as 1 or pi/2")
        })
    }

    pub(super) fn numbers(&self, all: &[Written]) -> Result<Vec<f64>> {
        all.iter().map(|text| self.number(text)).collect()
    }
}

/// Byte offset in `raw` of character number `count` of the TOML value: a basic, literal or multi-line string, or a
/// number.
fn byte_offset(raw: &str, count: usize) -> usize {
    let Some(quote) = raw.chars().next().filter(|quote| matches!(quote, '"' | '\'')) else { return 0 };
    let mut at = 1;
    if raw.starts_with(&String::from(quote).repeat(3)) {
        // TOML ignores a line break right after the opening quotes.
        let rest = &raw[3..];
        at = 3 + if rest.starts_with("\r\n") { 2 } else { usize::from(rest.starts_with('\n')) };
    }
    for _ in 0..count {
        let mut rest = raw[at..].chars();
        let Some(first) = rest.next() else { break };
        at += first.len_utf8();
        if quote == '"' && first == '\\' {
            at += match rest.next() {
                Some('x') => 3,
                Some('u') => 5,
                Some('U') => 9,
                Some(other) => other.len_utf8(),
                None => 0,
            };
            // A file may end within an escape.
            at = (at..raw.len()).find(|&at| raw.is_char_boundary(at)).unwrap_or(raw.len());
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use crate::problem::{definition::Problem, function::Function};

    fn problem(rhs: &str, functions: &[Function]) -> Result<Vec<f64>, String> {
        let text = format!(
            "domain = {{ type = 'box', low = [0, 0], high = [1, 1] }}\n\
             equation = {{ laplacian = 1, rhs = {rhs} }}\n\
             boundary = [{{ condition = 'dirichlet', value = 0 }}]"
        );
        let problem = Problem::parse_with(&text, functions).map_err(|error| error.to_string())?;
        Ok(problem.terms(0, &[0.25, 0.5]).unwrap().1)
    }

    #[test]
    fn functions_in_code_are_taken_by_their_index() {
        let functions = [Function::given(|p| p[0]), Function::batch("y", |p, _| Ok(vec![p[1]]))];
        assert_eq!(problem("{ function = 0 }", &functions).unwrap(), [0.25]);
        assert_eq!(problem("{ function = 1 }", &functions).unwrap(), [0.5]);
        for (rhs, expected) in [
            ("{ function = 2 }", "line 2, column 35: there is no function 2: 2 in code are given"),
            ("{ function = 0, axis = 1 }", "unknown field \"axis\""),
            ("{ table = 'k.csv', axis = 1 }", "unknown field \"axis\""),
            ("{ table = 'k.csv', function = 1 }", "\"table\" and \"function\" exclude each other"),
            ("{ }", "missing field \"table\""),
        ] {
            let error = problem(rhs, &functions).unwrap_err();
            assert!(error.contains(expected), "{rhs}: {error}");
        }
    }
}
