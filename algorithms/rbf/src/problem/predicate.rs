//! Predicates on points, which restrict boundary conditions.

use firebox_core::Result;

use super::{expression::Expression, token::Variables};

/// A predicate on points: comparisons of expressions joined by `and` and `or`.
#[derive(Debug, Clone)]
pub struct Predicate(Expression);

impl Predicate {
    /// Parses comparisons by `<`, `<=`, `>`, `>=`, such as `x < 0.5 and y >= 0`, of the first `dims` of x, y, z, x4, x5.
    ///
    /// # Errors
    ///
    /// [`Error::Input`](firebox_core::Error::Input) without a comparison, or for an error in an expression.
    pub fn parse(text: &str, dims: usize) -> Result<Self> {
        Self::with(text, &Variables::of(dims))
    }

    pub(super) fn with(text: &str, variables: &Variables) -> Result<Self> {
        Expression::condition(text, variables).map(Self)
    }

    /// Returns `true` if the predicate holds at a point. Comparisons with a side that is undefined there do not hold.
    pub fn holds(&self, point: &[f64]) -> bool {
        self.0.at(point) == 1.0
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
            ("x>=1  and\ty>1", true),
            ("x >= 1\nand\ny < 1", false),
            ("sqrt(-x) < 5", false),
            ("sqrt(-x) < 5 or y > 1", true),
        ] {
            assert_eq!(Predicate::parse(text, 2).unwrap().holds(&[1.0, 2.0]), expected, "{text}");
        }
        assert!(Predicate::parse("x", 2).unwrap_err().to_string().contains("compares nothing"));
        assert!(Predicate::parse("0 < x < 1", 2).unwrap_err().to_string().contains("another comparison"));
        let error = Predicate::parse("x < 1 and y + band < 1", 2).unwrap_err().to_string();
        assert!(error.contains("column 15: unknown name 'band'"), "{error}");
        assert!(Predicate::parse("w < 1", 2).unwrap_err().to_string().contains("unknown name 'w'"));
    }
}
