//! Missing numbers, which are NaN.

use firebox_core::{Communicator, Error, Result, data::Missing, error::Place, quantile::median};

use super::ranges::Ranges;

/// Treatment of missing numbers in the input columns, and their replacements.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Imputation {
    /// The treatment.
    pub missing: Missing,
    /// Replacement in each column; empty if missing numbers are not replaced.
    pub fill: Vec<f64>,
}

impl Imputation {
    /// Replacements from `rows` of row-major `values` with columns `names`, over all ranks.
    ///
    /// # Errors
    /// [`Error::Input`] if a column has no numbers in these rows.
    pub(crate) fn of(
        missing: Missing,
        values: &[f64],
        names: &[String],
        rows: &[usize],
        ranks: &dyn Communicator,
    ) -> Result<Self> {
        if matches!(missing, Missing::Refuse | Missing::Drop) {
            return Ok(Self { missing, fill: Vec::new() });
        }
        let columns = names.len();
        let known = |column: usize| {
            let values = rows.iter().map(move |&row| values[row * columns + column]);
            values.filter(|value| !value.is_nan())
        };
        let mut counts: Vec<f64> = (0..columns).map(|column| known(column).count() as f64).collect();
        ranks.all_sum(&mut counts);
        if let Some(column) = counts.iter().position(|count| *count == 0.0) {
            let help = format!("leave the column out with `drop = {}`", names[column]);
            let place = Place::default().column(names[column].as_str());
            return Err(Error::input_at(place, "the column has no numbers in the training rows", help));
        }
        let fill = if missing == Missing::Mean {
            let mean = |column: usize| known(column).map(|value| value / counts[column]).sum::<f64>();
            let mut means: Vec<f64> = (0..columns).map(mean).collect();
            ranks.all_sum(&mut means);
            let ranges = Ranges::of(values, columns, rows, ranks);
            // Rounding must not make a constant column vary.
            means.into_iter().enumerate().map(|(column, mean)| ranges.clamp(column, mean)).collect()
        } else {
            (0..columns).map(|column| median(ranks.all_gather(&known(column).collect::<Vec<f64>>()))).collect()
        };
        Ok(Self { missing, fill })
    }

    /// Replaces the missing ones of row-major `values` in the columns `names`.
    ///
    /// # Errors
    /// [`Error::Input`] with the row and the column of a missing number that has no replacement.
    pub(crate) fn apply(&self, values: &mut [f64], names: &[String]) -> Result<()> {
        let columns = names.len().max(1);
        for (at, value) in values.iter_mut().enumerate().filter(|(_, value)| value.is_nan()) {
            let Some(&fill) = self.fill.get(at % columns) else {
                let place = Place::default().row(at / columns + 1).column(names[at % columns].as_str());
                let help = "fill it in, or leave the row out; a network trained with `missing = mean` replaces it";
                return Err(Error::input_at(place, "the number is missing", help));
            };
            *value = fill;
        }
        Ok(())
    }

    /// Row-major `values` in `columns` columns without the rows that are left out, and for each row whether it is kept.
    #[cfg(feature = "command")]
    pub(crate) fn retain(&self, values: Vec<f64>, columns: usize) -> (Vec<f64>, Vec<bool>) {
        let rows = values.chunks_exact(columns.max(1));
        let drops = self.missing == Missing::Drop;
        let kept: Vec<bool> = rows.map(|row| !(drops && row.iter().any(|value| value.is_nan()))).collect();
        if kept.iter().all(|kept| *kept) {
            return (values, kept);
        }
        let rows = values.chunks_exact(columns.max(1)).zip(&kept);
        (rows.filter(|(_, kept)| **kept).flat_map(|(row, _)| row).copied().collect(), kept)
    }
}

#[cfg(test)]
mod tests {
    use firebox_core::Solo;

    use super::*;

    const NAN: f64 = f64::NAN;

    fn names() -> Vec<String> {
        vec!["a".into(), "b".into()]
    }

    fn fitted(missing: Missing, values: &[f64], rows: &[usize]) -> Result<Imputation> {
        Imputation::of(missing, values, &names(), rows, &Solo)
    }

    #[test]
    fn replacements_are_those_of_the_training_rows() {
        let values = [1.0, 0.1, NAN, 0.1, 2.0, NAN, 9.0, 0.1, 1e9, 7.0];
        let rows = [0, 1, 2, 3];
        let mean = fitted(Missing::Mean, &values, &rows).unwrap();
        assert_eq!(mean.fill, [4.0, 0.1]);
        let median = fitted(Missing::Median, &values, &rows).unwrap();
        assert_eq!(median.fill, [2.0, 0.1]);
        assert_eq!(fitted(Missing::Median, &values, &[0, 2]).unwrap().fill, [1.5, 0.1]);
    }

    #[test]
    fn missing_numbers_are_replaced_left_out_or_refused() {
        let values = vec![NAN, 2.0, 3.0, NAN, 5.0, 6.0];
        let mut filled = values.clone();
        Imputation { missing: Missing::Mean, fill: vec![-1.0, -2.0] }.apply(&mut filled, &names()).unwrap();
        assert_eq!(filled, [-1.0, 2.0, 3.0, -2.0, 5.0, 6.0]);
        let drop = Imputation { missing: Missing::Drop, fill: Vec::new() };
        assert_eq!(drop.retain(values.clone(), 2), (vec![5.0, 6.0], vec![false, false, true]));
        let (same, kept) = Imputation::default().retain(values.clone(), 2);
        assert_eq!((same.len(), kept), (6, vec![true; 3]));
        let error = Imputation::default().apply(&mut values.clone()[2..], &names()).unwrap_err();
        assert_eq!(error.to_string(), "row 1, column b: the number is missing");
    }

    #[test]
    fn a_column_without_numbers_is_refused() {
        for missing in [Missing::Mean, Missing::Median] {
            let error = fitted(missing, &[1.0, NAN, 2.0, NAN, 3.0, 4.0], &[0, 1]).unwrap_err();
            assert_eq!(error.to_string(), "column b: the column has no numbers in the training rows");
        }
        let huge = fitted(Missing::Mean, &[1.7e308, 0.0, 1.7e308, 0.0], &[0, 1]).unwrap();
        assert_eq!(huge.fill[0], 1.7e308);
    }
}
