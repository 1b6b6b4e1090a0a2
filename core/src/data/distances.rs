//! Precomputed distances from a square or condensed matrix.

use crate::error::{Error, Place, Result};
use crate::memory;

/// Maximum relative difference of the entries (i, j) and (j, i).
const ASYMMETRY: f64 = 1e-6;

/// Distances of N points: symmetric, 0 on the diagonal, NaN for missing pairs.
#[derive(Debug, Clone, PartialEq)]
pub struct Distances {
    values: Vec<f64>,
    n: usize,
}

fn at(row: usize, column: usize) -> Place {
    Place::default().row(row + 1).column((column + 1).to_string())
}

/// Fails on negative distances.
fn check(value: f64, place: impl FnOnce() -> Place) -> Result<()> {
    if value < 0.0 {
        let help = "distances are 0 or more; convert similarities to distances first";
        return Err(Error::input_at(place(), format!("the distance {value} is negative"), help));
    }
    Ok(())
}

impl Distances {
    /// Creates distances from a row-major matrix of `rows` × `columns`: N × N, or condensed, all pairs in one row or column
    /// in the order (1, 2), (1, 3), …, (2, 3), … of SciPy's `pdist`.
    ///
    /// NaN and infinity are missing pairs.
    ///
    /// Fails on any other shape, a negative distance, a nonzero diagonal, entries (i, j) and (j, i) that differ
    /// by more than 1e-6 of the larger, and a point with no distance to any other.
    pub fn new(mut values: Vec<f64>, rows: usize, columns: usize) -> Result<Self> {
        const HELP: &str = "give a square matrix, or all pairs in one row or column";
        if values.is_empty() || Some(values.len()) != rows.checked_mul(columns) {
            return Err(Error::input("there are no distances", HELP));
        }
        values.iter_mut().filter(|value| **value == f64::INFINITY).for_each(|value| *value = f64::NAN);
        let single = values.len() == 1 && values.first() != Some(&0.0);
        let distances = if rows == columns && !single {
            Self::square(values, rows)?
        } else if rows == 1 || columns == 1 {
            Self::condensed(&values, rows == 1)?
        } else {
            return Err(Error::input(format!("{rows} × {columns} numbers are not a matrix of distances"), HELP));
        };
        distances.check_connected()?;
        Ok(distances)
    }

    fn square(mut values: Vec<f64>, n: usize) -> Result<Self> {
        for i in 0..n {
            let own = values[i * n + i];
            if own != 0.0 {
                let what = format!("the diagonal has {own}: a point's distance to itself");
                return Err(Error::input_at(at(i, i), what, "set the diagonal to 0"));
            }
            for j in 0..n {
                check(values[i * n + j], || at(i, j))?;
            }
            for j in 0..i {
                let (a, b) = (values[i * n + j], values[j * n + i]);
                let one_missing = a.is_nan() != b.is_nan();
                if one_missing || (a - b).abs() > ASYMMETRY * a.max(b) {
                    let mirrored = format!("(row {}, column {})", j + 1, i + 1);
                    let what = format!("the distance is {a}, but {b} the other way round {mirrored}");
                    return Err(Error::input_at(at(i, j), what, "make the matrix symmetric: (D + D.T) / 2"));
                }
                // Halves of the smallest subnormal numbers underflow to 0.
                let mean = if a == b { a } else { 0.5 * a + 0.5 * b };
                (values[i * n + j], values[j * n + i]) = (mean, mean);
            }
        }
        Ok(Self { values, n })
    }

    fn condensed(pairs: &[f64], row: bool) -> Result<Self> {
        let n = (1 + 8 * pairs.len()).isqrt().div_ceil(2);
        if n * (n - 1) / 2 != pairs.len() {
            let what = format!("{} distances are not all pairs of any number of points", pairs.len());
            return Err(Error::input(what, "give n(n − 1)/2 of them: (1, 2), (1, 3), …, (2, 3), …"));
        }
        let mut values = memory::with_capacity(n.saturating_mul(n), "the matrix of distances")?;
        values.resize(n * n, 0.0);
        let mut next = pairs.iter().enumerate();
        for i in 0..n {
            for j in i + 1..n {
                if let Some((index, &value)) = next.next() {
                    check(value, || if row { at(0, index) } else { at(index, 0) })?;
                    (values[i * n + j], values[j * n + i]) = (value, value);
                }
            }
        }
        Ok(Self { values, n })
    }

    /// Fails if a point has no distance to any other.
    fn check_connected(&self) -> Result<()> {
        let isolated = |row: &[f64]| row.iter().filter(|value| !value.is_nan()).count() <= 1;
        let Some(row) = self.values.chunks(self.n).position(isolated).filter(|_| self.n > 1) else { return Ok(()) };
        let what = format!("point {} has no distance to any other", row + 1);
        Err(Error::input_at(Place::default().row(row + 1), what, "give it at least one, or leave the point out"))
    }

    /// Number of points.
    pub fn points(&self) -> usize {
        self.n
    }

    /// The distances, row-major N × N.
    pub fn values(&self) -> &[f64] {
        &self.values
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(values: &[f64], rows: usize, columns: usize) -> String {
        Distances::new(values.to_vec(), rows, columns).unwrap_err().to_string()
    }

    #[test]
    fn square_and_condensed_matrices_agree() {
        let square = Distances::new(vec![0.0, 1.0, 2.0, 1.0, 0.0, f64::NAN, 2.0, f64::NAN, 0.0], 3, 3).unwrap();
        for (rows, columns) in [(1, 3), (3, 1)] {
            let condensed = Distances::new(vec![1.0, 2.0, f64::NAN], rows, columns).unwrap();
            assert_eq!(condensed.points(), 3);
            let same = |(a, b): (&f64, &f64)| a == b || (a.is_nan() && b.is_nan());
            assert!(square.values().iter().zip(condensed.values()).all(same));
        }
        assert_eq!(Distances::new(vec![0.0], 1, 1).unwrap().points(), 1);
        assert_eq!(Distances::new(vec![5.0], 1, 1).unwrap().points(), 2);
    }

    #[test]
    fn infinite_distances_are_missing() {
        let values = Distances::new(vec![1.0, f64::INFINITY, 2.0], 1, 3).unwrap().values;
        assert!(values[2].is_nan() && values[6].is_nan() && values.iter().filter(|x| x.is_finite()).count() == 7);
        assert!(Distances::new(vec![f64::INFINITY], 1, 1).unwrap_err().to_string().contains("no distance to any"));
    }

    #[test]
    fn invalid_matrices_are_rejected() {
        let nan = f64::NAN;
        assert!(error(&[0.0, 1.0, 2.0, 0.0], 2, 2).starts_with("row 2, column 1: the distance is 2, but 1"));
        assert!(error(&[0.0, nan, 2.0, 0.0], 2, 2).contains("but NaN the other way round"));
        assert!(error(&[1.0, 1.0, 1.0, 0.0], 2, 2).starts_with("row 1, column 1: the diagonal has 1"));
        assert!(error(&[0.0, -1.0, -1.0, 0.0], 2, 2).starts_with("row 1, column 2: the distance -1 is negative"));
        assert!(error(&[0.0, f64::NEG_INFINITY, 1.0, 0.0], 2, 2).contains("the distance -inf is negative"));
        assert!(error(&[0.0, f64::INFINITY, 1.0, 0.0], 2, 2).contains("but NaN the other way round (row 1, column 2)"));
        assert!(error(&[0.0, nan, nan, 0.0], 2, 2).starts_with("row 1: point 1 has no distance"));
        assert!(error(&[1.0, 2.0], 1, 2).starts_with("2 distances are not all pairs"));
        assert!(error(&[1.0; 6], 2, 3).starts_with("2 × 3 numbers"));
        assert!(error(&[], 0, 0).starts_with("there are no distances"));
        // An asymmetry below 1e-6 counts as rounding.
        assert!(Distances::new(vec![0.0, 1.0, 1.0 + 9e-7, 0.0], 2, 2).is_ok());
    }
}
