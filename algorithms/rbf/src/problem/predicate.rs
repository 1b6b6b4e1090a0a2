//! Predicates on points, which restrict boundary conditions.

use firebox_core::{Error, Result, error::Place};

use super::expression::Expression;

/// A predicate on points: comparisons of expressions joined by `and`.
#[derive(Debug, Clone)]
pub struct Predicate {
    /// The smaller and the larger side, and whether they may be equal.
    comparisons: Vec<(Expression, Expression, bool)>,
}

impl Predicate {
    /// Parses comparisons by `<`, `<=`, `>`, `>=`, such as `x < 0.5 and y >= 0`.
    ///
    /// # Errors
    ///
    /// [`Error::Input`] without a comparison sign, or for an error in an expression.
    pub fn parse(text: &str, dims: usize) -> Result<Self> {
        // Offsets of parts give errors the columns of the whole text.
        let expression = |part: &str, start: usize| {
            Expression::parse(part, dims).map_err(|error| shifted(error, text[..start].chars().count()))
        };
        let comparison = |(start, part): (usize, &str)| {
            let Some((left, right)) = part.split_once(['<', '>']) else {
                let what = format!("'{}' compares nothing", part.trim());
                let before = text[..start].chars().count() + part.chars().take_while(|c| c.is_whitespace()).count();
                let place = Place::default().column((before + 1).to_string());
                return Err(Error::input_at(place, what, "write comparisons by <, <=, > or >=, joined by 'and'"));
            };
            let greater = part[left.len()..].starts_with('>');
            let (right, equal) = right.strip_prefix('=').map_or((right, false), |right| (right, true));
            let (left, right) = (expression(left, start)?, expression(right, start + part.len() - right.len())?);
            Ok(if greater { (right, left, equal) } else { (left, right, equal) })
        };
        Ok(Self { comparisons: parts(text).into_iter().map(comparison).collect::<Result<_>>()? })
    }

    /// Returns `true` if the predicate holds at a point; `false` where a side is undefined.
    pub fn holds(&self, point: &[f64]) -> bool {
        self.comparisons.iter().all(|(less, more, equal)| {
            let (less, more) = (less.at(point), more.at(point));
            less < more || (*equal && less == more)
        })
    }
}

/// The parts of a text between the words `and`, with their offsets.
fn parts(text: &str) -> Vec<(usize, &str)> {
    let blank = |c: Option<char>| c.is_some_and(char::is_whitespace);
    let mut parts = Vec::new();
    let mut start = 0;
    for (at, word) in text.match_indices("and") {
        let (before, after) = (text[..at].chars().next_back(), text[at + word.len()..].chars().next());
        if blank(before) && blank(after) {
            parts.push((start, &text[start..at]));
            start = at + word.len();
        }
    }
    parts.push((start, &text[start..]));
    parts
}

/// Shifts the column of an error by `before` characters.
fn shifted(error: Error, before: usize) -> Error {
    let Error::Input { what, mut place, help } = error else { return error };
    let column = place.column.and_then(|column| column.parse::<usize>().ok());
    place.column = column.map(|column| (column + before).to_string());
    Error::Input { what, place, help }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn predicates_compare() {
        for (text, expected) in [
            ("x < 1", false),
            ("x <= 1", true),
            ("x >= 1 and y > x", true),
            ("x > 0 and y > 5", false),
            ("x>=1  and\ty>1", true),
            ("x >= 1\nand\ny < 1", false),
            ("sqrt(-x) < 5", false),
        ] {
            assert_eq!(Predicate::parse(text, 2).unwrap().holds(&[1.0, 2.0]), expected, "{text}");
        }
        assert!(Predicate::parse("x", 2).unwrap_err().to_string().contains("compares nothing"));
        assert!(Predicate::parse("0 < x < 1", 2).unwrap_err().to_string().contains("'<'"));
        let error = Predicate::parse("x < 1 and y + band < 1", 2).unwrap_err().to_string();
        assert!(error.contains("column 15: unknown name 'band'"), "{error}");
        assert!(Predicate::parse("w < 1", 2).unwrap_err().to_string().contains("unknown name 'w'"));
    }
}
