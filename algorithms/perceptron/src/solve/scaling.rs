//! Standardisation of columns.

use firebox_core::{Communicator, Error, Result, error::Place, quantile::quantile, scaling::exponent};
use serde::{Deserialize, Serialize};

/// Shifts and scales of columns: x becomes (x − mean)/deviation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Scaling {
    /// Mean of each column; the median if the scale is robust, 0 without a scale.
    pub mean: Vec<f64>,
    /// Standard deviation of each column; the interquartile range if the scale is robust; 1 for a constant column and
    /// without a scale.
    pub deviation: Vec<f64>,
}

impl Scaling {
    /// Means and deviations of `rows` of row-major `values` with columns `names`, over all ranks, in two passes. Each column
    /// is first scaled exactly to magnitudes about 1 by a power of two, so that no square overflows or underflows.
    ///
    /// # Errors
    /// [`Error::Input`] if a deviation is subnormal, or if the difference of a number and the mean overflows.
    pub fn of(values: &[f64], names: &[String], rows: &[usize], ranks: &dyn Communicator) -> Result<Self> {
        let columns = names.len();
        let mut count = [rows.len() as f64];
        ranks.all_sum(&mut count);
        let count = count[0].max(1.0);
        let mut largest = vec![0.0f64; columns];
        let of_row = |row: usize| &values[row * columns..][..columns];
        for &row in rows {
            largest.iter_mut().zip(of_row(row)).for_each(|(max, x)| *max = max.max(x.abs()));
        }
        if ranks.size() > 1 {
            let all = ranks.all_gather_known(&largest, (0..ranks.size()).map(|_| columns));
            for own in all.chunks_exact(columns.max(1)) {
                largest.iter_mut().zip(own).for_each(|(max, own)| *max = max.max(*own));
            }
        }
        let exponents: Vec<i32> = largest.iter().map(|it| exponent(*it)).collect();
        let down: Vec<f64> = exponents.iter().map(|it| 2f64.powi(-it)).collect();
        let up: Vec<f64> = exponents.iter().map(|it| 2f64.powi(*it)).collect();
        let mut mean = vec![0.0; columns];
        for &row in rows {
            let scaled = of_row(row).iter().zip(&down).map(|(x, down)| x * down);
            mean.iter_mut().zip(scaled).for_each(|(mean, x)| *mean += x / count);
        }
        ranks.all_sum(&mut mean);
        let mut squares = vec![0.0; columns];
        for &row in rows {
            let scaled = of_row(row).iter().zip(&down).map(|(x, down)| x * down);
            let centred = scaled.zip(&mean).map(|(x, mean)| x - mean);
            squares.iter_mut().zip(centred).for_each(|(sum, x)| *sum += x * x / count);
        }
        ranks.all_sum(&mut squares);
        // A deviation within rounding of the mean is that of a constant column.
        let deviation = |(squares, mean): (&f64, &f64)| Some(squares.sqrt()).filter(|it| *it > 1e-12 * mean.abs());
        let deviations = squares.iter().zip(&mean).map(deviation);
        let deviation: Vec<f64> = deviations.zip(&up).map(|(it, up)| it.map_or(1.0, |it| it * up)).collect();
        let mean: Vec<f64> = mean.iter().zip(&up).map(|(mean, up)| mean * up).collect();
        for column in 0..columns {
            let (what, help) = if !(largest[column] + mean[column].abs()).is_finite() {
                ("the numbers are so large that their differences overflow", "give them in a larger unit")
            } else if !deviation[column].is_normal() {
                ("the numbers are so small that their deviation is subnormal", "give them in a smaller unit")
            } else {
                continue;
            };
            return Err(Error::input_at(Place::default().column(names[column].clone()), what, help));
        }
        Ok(Self { mean, deviation })
    }

    /// Leaves all columns as they are.
    pub(crate) fn none(columns: usize) -> Self {
        Self { mean: vec![0.0; columns], deviation: vec![1.0; columns] }
    }

    /// Medians and interquartile ranges of `rows` of row-major `values`; quartiles are interpolated linearly.
    pub(crate) fn robust(values: &[f64], columns: usize, rows: &[usize]) -> Self {
        let quartiles = |column: usize| {
            let mut sorted: Vec<f64> = rows.iter().map(|&row| values[row * columns + column]).collect();
            sorted.sort_unstable_by(f64::total_cmp);
            [0.25, 0.5, 0.75].map(|share| quantile(&sorted, share))
        };
        let mut scaling = Self::none(columns);
        for column in 0..columns {
            let [low, median, high] = quartiles(column);
            scaling.mean[column] = median;
            // A range within rounding of the median is that of a constant column.
            if high - low > 1e-12 * median.abs() && (high - low).is_normal() {
                scaling.deviation[column] = high - low;
            }
        }
        scaling
    }

    /// Standardises rows in place.
    pub fn apply(&self, values: &mut [f64]) {
        for row in values.chunks_mut(self.mean.len().max(1)) {
            for ((x, mean), deviation) in row.iter_mut().zip(&self.mean).zip(&self.deviation) {
                *x = (*x - mean) / deviation;
            }
        }
    }

    /// Inverse of [`apply`](Self::apply).
    pub fn revert(&self, values: &mut [f64]) {
        for row in values.chunks_mut(self.mean.len().max(1)) {
            for ((x, mean), deviation) in row.iter_mut().zip(&self.mean).zip(&self.deviation) {
                *x = *x * deviation + mean;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use firebox_core::Solo;

    use super::*;

    #[test]
    fn robust_scales_are_medians_and_quartile_ranges() {
        let values = [1.0, 7.0, 2.0, 7.0, 4.0, 7.0, 1e9, 7.0];
        let scaling = Scaling::robust(&values, 2, &[0, 1, 2]);
        assert_eq!((scaling.mean, scaling.deviation), (vec![2.0, 7.0], vec![1.5, 1.0]));
        assert_eq!(Scaling::robust(&values, 2, &[]), Scaling::none(2));
    }

    #[test]
    fn scaling_is_inverted() {
        let values = vec![1.0, 5.0, 3.0, 5.0, 100.0, 7.0];
        let names = ["a".to_string(), "b".to_string()];
        let scaling = Scaling::of(&values, &names, &[0, 1], &Solo).unwrap();
        assert_eq!((scaling.mean.clone(), scaling.deviation.clone()), (vec![2.0, 5.0], vec![1.0, 1.0]));
        let mut scaled = values.clone();
        scaling.apply(&mut scaled);
        assert_eq!(scaled[..4], [-1.0, 0.0, 1.0, 0.0]);
        scaling.revert(&mut scaled);
        assert_eq!(scaled, values);
    }

    /// Four standardised multiples of `scale`, and their scaling.
    fn scaled(scale: f64) -> Result<(Vec<f64>, Scaling)> {
        let mut values: Vec<f64> = [1.0, 3.0, 2.0, 6.0].map(|x| x * scale).to_vec();
        let scaling = Scaling::of(&values, &["a".to_string()], &[0, 1, 2, 3], &Solo)?;
        scaling.apply(&mut values);
        Ok((values, scaling))
    }

    #[test]
    fn no_square_overflows_or_underflows() {
        let (ordinary, of) = scaled(1.0).unwrap();
        assert_eq!(of.mean, [3.0]);
        for exponent in [-1020, -600, 600, 1020] {
            let scale = 2f64.powi(exponent);
            let (values, scaling) = scaled(scale).unwrap();
            assert_eq!((values, scaling.deviation[0]), (ordinary.clone(), of.deviation[0] * scale), "2^{exponent}");
        }
        for scale in [1e-300, 1e-170, 1e170, 1e300] {
            let (values, scaling) = scaled(scale).unwrap();
            assert!(values.iter().zip(&ordinary).all(|(a, b)| (a - b).abs() < 1e-14), "{scale:e}: {values:?}");
            assert!((scaling.deviation[0] / scale - of.deviation[0]).abs() < 1e-14);
        }
        let both = Scaling::of(&[1e308, -1e308], &["a".to_string()], &[0, 1], &Solo).unwrap();
        assert_eq!((both.mean[0], both.deviation[0]), (0.0, 1e308));
        let error = |values: &[f64]| {
            let rows: Vec<usize> = (0..values.len()).collect();
            Scaling::of(values, &["a".to_string()], &rows, &Solo).unwrap_err().to_string()
        };
        assert!(error(&[5e-324, 0.0, 1e-323]).starts_with("column a: the numbers are so small"));
        assert!(error(&[1.7e308, 1.7e308, 1.7e308, -1.7e308]).starts_with("column a: the numbers are so large"));
        let constant = Scaling::of(&[1e-170; 3], &["a".to_string()], &[0, 1, 2], &Solo).unwrap();
        assert_eq!((constant.mean[0], constant.deviation[0]), (1e-170, 1.0));
    }
}
