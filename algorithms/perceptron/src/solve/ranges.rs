//! Ranges of columns, and whether columns share a scale.

use firebox_core::Communicator;

use super::scaling::Scaling;
use crate::config::InputScale;

/// Part of the largest range from which a column is wide.
const WIDE: f64 = 0.5;
/// Part of the largest range below which a column is narrow.
const NARROW: f64 = 0.25;
/// Part of the columns that vary which are wide if columns share a scale.
const MOST: f64 = 0.75;
/// Part of its range within which the mean of a narrow column lies beside the common bound.
const RARE: f64 = 0.1;

/// Smallest and largest value of each column.
pub(crate) struct Ranges {
    smallest: Vec<f64>,
    largest: Vec<f64>,
}

impl Ranges {
    /// Ranges of `rows` of row-major `values` in `columns` columns, over all ranks.
    pub(crate) fn of(values: &[f64], columns: usize, rows: &[usize], ranks: &dyn Communicator) -> Self {
        let bound = |sign: f64| {
            let mut bound = vec![f64::NEG_INFINITY; columns];
            for row in rows.iter().map(|&row| &values[row * columns..]) {
                bound.iter_mut().zip(row).for_each(|(max, x)| *max = max.max(sign * x));
            }
            if ranks.size() > 1 {
                for own in ranks.all_gather(&bound).chunks_exact(columns.max(1)) {
                    bound.iter_mut().zip(own).for_each(|(max, own)| *max = max.max(*own));
                }
            }
            bound.into_iter().map(|it| sign * it).collect()
        };
        Self { smallest: bound(-1.0), largest: bound(1.0) }
    }

    /// The value, or the nearest one within the range of the column.
    pub(crate) fn clamp(&self, column: usize, value: f64) -> f64 {
        value.max(self.smallest[column]).min(self.largest[column])
    }

    /// Returns true if the column has a single value.
    pub(crate) fn is_constant(&self, column: usize) -> bool {
        self.smallest[column] >= self.largest[column]
    }

    /// Scale that suits the columns, whose means `scaling` has: common if most that vary are wide, and each narrow one is
    /// rarely other than the smallest or the largest value of all, as a pixel near the edge is.
    pub(crate) fn scale(&self, scaling: &Scaling) -> InputScale {
        // Halves, whose difference does not overflow.
        let width = |column: usize| self.largest[column] / 2.0 - self.smallest[column] / 2.0;
        let varying: Vec<usize> = (0..self.smallest.len()).filter(|&column| !self.is_constant(column)).collect();
        let widest = varying.iter().map(|&column| width(column)).fold(0.0, f64::max);
        let wide = varying.iter().filter(|&&column| width(column) >= WIDE * widest).count();
        let is_narrow = |column: usize| width(column) < NARROW * widest;
        let others = || varying.iter().filter(|&&column| !is_narrow(column));
        let lowest = others().map(|&column| self.smallest[column]).fold(f64::INFINITY, f64::min);
        let highest = others().map(|&column| self.largest[column]).fold(f64::NEG_INFINITY, f64::max);
        let is_rare = |column: usize| {
            let (mean, near) = (scaling.mean[column], 2.0 * RARE * width(column));
            (self.smallest[column] == lowest && mean - lowest <= near)
                || (self.largest[column] == highest && highest - mean <= near)
        };
        let shared = wide as f64 >= MOST * varying.len() as f64
            && varying.iter().all(|&column| !is_narrow(column) || is_rare(column));
        if shared && varying.len() > 1 { InputScale::Common } else { InputScale::Standard }
    }

    /// Divides the columns that vary by the root mean square of their deviations.
    pub(crate) fn share(&self, mut scaling: Scaling) -> Scaling {
        let varying: Vec<usize> = (0..self.smallest.len()).filter(|&column| !self.is_constant(column)).collect();
        let largest = varying.iter().map(|&column| scaling.deviation[column]).fold(0.0, f64::max);
        let squares = varying.iter().map(|&column| (scaling.deviation[column] / largest).powi(2));
        let common = largest * (squares.sum::<f64>() / varying.len() as f64).sqrt();
        varying.iter().for_each(|&column| scaling.deviation[column] = common);
        scaling
    }
}

#[cfg(test)]
mod tests {
    use firebox_core::Solo;

    use super::*;

    /// Ranges and scaling of rows.
    fn of(rows: &[Vec<f64>]) -> (Ranges, Scaling) {
        let (values, columns) = (rows.concat(), rows[0].len());
        let (all, names) = ((0..rows.len()).collect::<Vec<_>>(), vec![String::new(); columns]);
        (Ranges::of(&values, columns, &all, &Solo), Scaling::of(&values, &names, &all, &Solo).unwrap())
    }

    fn scale(rows: &[Vec<f64>]) -> InputScale {
        let (ranges, scaling) = of(rows);
        ranges.scale(&scaling)
    }

    /// Forty rows of four columns 0 to 16, and of the fifth by `last`.
    fn rows(last: impl Fn(usize) -> f64) -> Vec<Vec<f64>> {
        let value = |row: usize, column: usize| ((row * (2 * column + 3)) % 17) as f64;
        (0..40).map(|row| (0..4).map(|column| value(row, column)).chain([last(row)]).collect()).collect()
    }

    #[test]
    fn pixels_share_a_scale_and_measures_do_not() {
        assert_eq!(scale(&rows(|row| (row % 13) as f64)), InputScale::Common);
        let edge = |row: usize| if row == 7 { 2.0 } else { 0.0 };
        assert_eq!(scale(&rows(edge)), InputScale::Common);
        assert_eq!(scale(&rows(|row| 16.0 - edge(row))), InputScale::Common);
        assert_eq!(scale(&rows(|_| 5.0)), InputScale::Common);
        // A flag, a length in thousandths, and one in thousands.
        assert_eq!(scale(&rows(|row| (row % 2) as f64)), InputScale::Standard);
        assert_eq!(scale(&rows(|row| 1.0 + edge(row) / 1e3)), InputScale::Standard);
        assert_eq!(scale(&rows(|row| row as f64 * 1e3)), InputScale::Standard);
        assert_eq!(scale(&[vec![1.0], vec![2.0]]), InputScale::Standard);
        assert_eq!(scale(&[vec![1.0, 2.0], vec![1.0, 2.0]]), InputScale::Standard);
    }

    #[test]
    fn a_common_scale_is_the_mean_square_of_the_deviations() {
        let (ranges, scaling) = of(&[vec![1.0, 5.0, 30.0], vec![3.0, 5.0, 44.0]]);
        let shared = ranges.share(scaling.clone());
        assert_eq!(shared.mean, scaling.mean);
        assert_eq!(shared.deviation, [5.0, 1.0, 5.0]);
        assert!(ranges.is_constant(1) && !ranges.is_constant(0));
        let (ranges, scaling) = of(&[vec![1e300, -1e300], vec![-1e300, 1e300]]);
        assert_eq!(ranges.share(scaling).deviation, [1e300; 2]);
    }
}
