//! Spreads of columns, and columns of unlike scale.

use super::points::Points;
use crate::error::shown;

/// Ratio of spreads above which scales are unlike.
const UNLIKE: f64 = 100.0;
/// Largest number of rows that spreads are estimated from.
const SAMPLE: usize = 10_000;

impl Points {
    /// The interquartile range of each column, from at most 10 000 evenly spaced rows.
    pub fn spreads(&self) -> Vec<f64> {
        let step = self.rows.div_ceil(SAMPLE).max(1);
        let spread = |column: usize| {
            let mut values: Vec<f64> = self.iter().step_by(step).map(|row| row[column]).collect();
            let mut at = |quarters: usize| {
                let place = quarters * values.len().saturating_sub(1) / 4;
                *values.select_nth_unstable_by(place, f64::total_cmp).1
            };
            if self.rows == 0 { 0.0 } else { (at(3) - at(1)).min(f64::MAX) }
        };
        (0..self.columns).map(spread).collect()
    }

    /// A notice if a column spreads more than 100 times as far as another, so that it decides distances alone. Columns that
    /// are constant in the middle half of their values are left out.
    pub fn unlike_scales(&self) -> Option<String> {
        let spreads = self.spreads();
        let known = || (0..self.columns).filter(|&column| spreads[column] > 0.0);
        let widest = known().max_by(|&a, &b| spreads[a].total_cmp(&spreads[b]))?;
        let narrowest = known().min_by(|&a, &b| spreads[a].total_cmp(&spreads[b]))?;
        let ratio = spreads[widest] / spreads[narrowest];
        if ratio <= UNLIKE {
            return None;
        }
        let ratio = if ratio < 1e6 { format!("{ratio:.0}") } else { format!("{ratio:.0e}") };
        let [wide, narrow] = [widest, narrowest].map(|column| shown(&self.names[column]));
        Some(format!(
            "column {wide} spreads {ratio} times as far as column {narrow}, which hardly counts for distances: divide \
             each column by its standard deviation, with `standardise = standard`, unless all have the same unit"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(columns: &[&[f64]]) -> Points {
        let rows = columns[0].len();
        let values = (0..rows).flat_map(|row| columns.iter().map(move |column| column[row])).collect();
        Points::new(values, columns.len()).unwrap()
    }

    #[test]
    fn spreads_are_interquartile_ranges() {
        let points = columns(&[&[4.0, 0.0, 3.0, 1.0, 2.0], &[7.0; 5], &[0.0, 0.0, 0.0, 0.0, 1e9]]);
        assert_eq!(points.spreads(), [2.0, 0.0, 0.0]);
        assert_eq!(columns(&[&[3.0]]).spreads(), [0.0]);
        let many: Vec<f64> = (0..30_000).map(f64::from).collect();
        let spread = columns(&[&many]).spreads()[0];
        assert!((spread - 15_000.0).abs() < 10.0, "{spread}");
    }

    #[test]
    fn unlike_scales_are_noticed() {
        let small = [4.0, 0.0, 3.0, 1.0, 2.0];
        let times = |factor: f64| small.map(|x| x * factor);
        for (factor, noticed) in [(1.0, false), (99.0, false), (101.0, true), (1e-3, true), (-1000.0, true)] {
            let found = columns(&[&small, &times(factor), &[1.0; 5]]).unlike_scales();
            assert_eq!(found.is_some(), noticed, "{factor}: {found:?}");
        }
        let notice = columns(&[&small, &times(1000.0)]).unlike_scales().unwrap();
        assert!(notice.starts_with("column \"C2\" spreads 1000 times as far as column \"C1\""), "{notice}");
        assert_eq!(columns(&[&[1.0; 5]]).unlike_scales(), None);
        let widest = [-1.7e308, -1.7e308, 0.0, 1.7e308, 1.7e308];
        assert_eq!(columns(&[&widest]).unlike_scales(), None);
        let notice = columns(&[&widest, &small]).unlike_scales().unwrap();
        assert!(notice.contains("spreads 9e307 times"), "{notice}");
    }
}
