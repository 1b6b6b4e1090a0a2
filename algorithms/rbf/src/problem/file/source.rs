//! The text of a problem file: positions of errors, expressions.

use std::{fmt, path::PathBuf};

use firebox_core::{Error, Result, error::Place};
use serde::{Deserialize, Deserializer, de};
use toml::Spanned;

use crate::problem::{expression::Expression, function::Function, token::Variables};

/// An expression: text, or a plain number.
#[derive(Debug)]
pub(super) struct Text(pub(super) String);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Text;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an expression in quotes, or a number")
            }

            fn visit_str<E>(self, text: &str) -> std::result::Result<Text, E> {
                Ok(Text(text.into()))
            }

            fn visit_f64<E>(self, value: f64) -> std::result::Result<Text, E> {
                Ok(Text(value.to_string()))
            }

            fn visit_i64<E>(self, value: i64) -> std::result::Result<Text, E> {
                Ok(Text(value.to_string()))
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

pub(super) type Written = Spanned<Text>;

/// The text of a file, for positions of errors.
pub(super) struct Source<'a> {
    pub(super) text: &'a str,
    pub(super) file: Option<PathBuf>,
    pub(super) variables: Variables,
}

impl Source<'_> {
    pub(super) fn dims(&self) -> usize {
        self.variables.coordinates.len()
    }

    pub(super) fn place(&self, at: usize) -> Place {
        let before = self.text.get(..at).unwrap_or(self.text);
        let line = before.matches('\n').count() + 1;
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
        Error::Input { what, place: self.place((span.start + inside).min(span.end.saturating_sub(1))), help }
    }

    pub(super) fn expression(&self, text: &Written) -> Result<Expression> {
        Expression::with(&text.get_ref().0, &self.variables).map_err(|error| self.in_expression(text, error))
    }

    pub(super) fn function(&self, text: &Written) -> Result<Function> {
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
