//! Tests on points, which say where a boundary condition holds.

use firebox_core::{Error, Result};

use super::Expression;

/// A test on points: comparisons of expressions, joined by `and`.
#[derive(Debug, Clone)]
pub struct Predicate {
    /// Both sides, and whether equality will do; the left is to be less.
    comparisons: Vec<(Expression, Expression, bool)>,
}

impl Predicate {
    /// Parses comparisons by `<`, `<=`, `>`, `>=`, such as `x < 0.5 and y >= 0`.
    ///
    /// # Errors
    ///
    /// [`Error::Input`] for one that has no comparison sign, or for a mistake in an expression, which is shown.
    pub fn parse(text: &str, dims: usize) -> Result<Self> {
        let comparison = |part: &str| {
            let Some((left, right)) = part.split_once(['<', '>']) else {
                let what = format!("'{}' compares nothing", part.trim());
                return Err(Error::input(what, "write comparisons by <, <=, > or >=, joined by 'and'"));
            };
            let greater = part[left.len()..].starts_with('>');
            let (right, equal) = right.strip_prefix('=').map_or((right, false), |right| (right, true));
            let (left, right) = (Expression::parse(left, dims)?, Expression::parse(right, dims)?);
            Ok(if greater { (right, left, equal) } else { (left, right, equal) })
        };
        Ok(Self { comparisons: text.split(" and ").map(comparison).collect::<Result<_>>()? })
    }

    /// Whether it holds at a point; never where a side has no value.
    pub fn holds(&self, point: &[f64]) -> bool {
        self.comparisons.iter().all(|(less, more, equal)| {
            let (less, more) = (less.at(point), more.at(point));
            less < more || (*equal && less == more)
        })
    }
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
            ("sqrt(-x) < 5", false),
        ] {
            assert_eq!(Predicate::parse(text, 2).unwrap().holds(&[1.0, 2.0]), expected, "{text}");
        }
        assert!(Predicate::parse("x", 2).unwrap_err().to_string().contains("compares nothing"));
        assert!(Predicate::parse("0 < x < 1", 2).unwrap_err().to_string().contains("'<'"));
        assert!(Predicate::parse("w < 1", 2).unwrap_err().to_string().contains("unknown name 'w'"));
    }
}
