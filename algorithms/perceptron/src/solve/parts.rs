//! Split of the rows into training, validation and test part.

use std::ops::Range;

use firebox_core::{Error, Result, random::Random};

/// Stream of [`Random`] that draws the parts.
const STREAM: u64 = 0x7061;

/// Split of the rows, ascending in each part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parts {
    /// Rows of the training part.
    pub training: Vec<usize>,
    /// Rows for early stopping.
    pub validation: Vec<usize>,
    /// Rows held out for the reported metrics.
    pub test: Vec<usize>,
}

impl Parts {
    /// Draws a split of `rows` rows: the fraction `test` of all rows, and the fraction `validation` of the others, to the
    /// nearest row.
    ///
    /// # Errors
    /// [`Error::Input`] if the training part is empty.
    pub fn draw(rows: usize, test: f64, validation: f64, seed: u64) -> Result<Self> {
        let mut order: Vec<usize> = (0..rows).collect();
        Random::new(seed, STREAM).shuffle(&mut order);
        let test = (rows as f64 * test).round() as usize;
        let validation = ((rows - test) as f64 * validation).round() as usize;
        if test + validation >= rows {
            let what = format!("no training rows are left of {rows} rows");
            return Err(Error::input(what, "give more rows, or smaller fractions with `test` and `validation`"));
        }
        let mut part = |count: usize| {
            let mut rows = order.split_off(order.len() - count);
            rows.sort_unstable();
            rows
        };
        let (test, validation) = (part(test), part(validation));
        order.sort_unstable();
        Ok(Self { training: order, validation, test })
    }
}

/// Range of indices into ascending `rows` whose rows lie in `own`.
pub(crate) fn local_range(rows: &[usize], own: &Range<usize>) -> Range<usize> {
    rows.partition_point(|row| *row < own.start)..rows.partition_point(|row| *row < own.end)
}

/// The ascending `rows` that lie in `own`, relative to its start.
pub(crate) fn local_rows(rows: &[usize], own: &Range<usize>) -> Vec<usize> {
    rows[local_range(rows, own)].iter().map(|row| row - own.start).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_a_partition() {
        let parts = Parts::draw(101, 0.2, 0.1, 4).unwrap();
        assert_eq!((parts.test.len(), parts.validation.len(), parts.training.len()), (20, 8, 73));
        let mut all = [parts.training.clone(), parts.validation.clone(), parts.test.clone()].concat();
        all.sort_unstable();
        assert_eq!(all, (0..101).collect::<Vec<_>>());
        assert_eq!(Parts::draw(101, 0.2, 0.1, 4).unwrap(), parts);
        assert_ne!(Parts::draw(101, 0.2, 0.1, 5).unwrap(), parts);
        assert!(Parts::draw(2, 0.6, 0.5, 0).is_err());
    }
}
