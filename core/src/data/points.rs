//! Points with optional labels.

use rayon::prelude::*;

use super::{distinct::distinct_rows, table::Table};
use crate::error::{Error, Place, Result};
use crate::memory;
use crate::report::InputSize;

/// Points in a space of `columns` dimensions: at least one point and one coordinate, all finite.
///
/// [`Points::new`] and the readers of files guarantee this; callers that fill the fields must do so too.
#[derive(Debug, Clone, PartialEq)]
pub struct Points {
    /// The coordinates, row-major: `rows` × `columns`.
    pub values: Vec<f64>,
    /// Number of points.
    pub rows: usize,
    /// Number of coordinates per point.
    pub columns: usize,
    /// Names of the coordinates; `C1`, `C2`, … by default.
    pub names: Vec<String>,
    /// The class of each point, if known.
    pub labels: Option<Vec<i64>>,
    /// Names of the classes if they were text; label k (from 0, by first appearance) has the name `label_names[k]`.
    pub label_names: Option<Vec<String>>,
    /// Name of the column of the labels, if they were a column of the table.
    pub label_column: Option<String>,
}

impl Points {
    /// Creates points without labels and with default names.
    ///
    /// Fails if there are no points, if the values do not fill whole rows, or if one is not finite.
    pub fn new(values: Vec<f64>, columns: usize) -> Result<Self> {
        if values.is_empty() || columns == 0 {
            return Err(Error::input("there are no points", "give at least one row of at least one number"));
        }
        if !values.len().is_multiple_of(columns) {
            let what = format!("{} numbers do not fill rows of {columns} columns", values.len());
            return Err(Error::input(what, "give every point the same number of coordinates"));
        }
        if let Some(at) = values.iter().position(|value| !value.is_finite()) {
            let place = Place::default().row(at / columns + 1).column(format!("C{}", at % columns + 1));
            return Err(Error::input_at(place, format!("{} is not a finite number", values[at]), FINITE));
        }
        let rows = values.len() / columns;
        let names = default_names(columns)?;
        Ok(Self { values, rows, columns, names, labels: None, label_names: None, label_column: None })
    }

    /// Replaces the labels. Fails unless there is one for each point.
    pub fn with_labels(mut self, labels: Vec<i64>) -> Result<Self> {
        if labels.len() != self.rows {
            let what = format!("there are {} labels for {} points", labels.len(), self.rows);
            return Err(Error::input(what, "give one label for each point"));
        }
        self.labels = Some(labels);
        (self.label_names, self.label_column) = (None, None);
        Ok(self)
    }

    /// Fails on a label that is not exact as an f64. Call it before a run whose table has labels beside real numbers.
    pub fn check_labels_as_reals(&self) -> Result<()> {
        let rounded = |label: &i64| *label as f64 as i128 != i128::from(*label);
        let mut labels = self.labels.iter().flatten().enumerate();
        let Some((row, label)) = labels.find(|(_, label)| rounded(label)) else { return Ok(()) };
        let what = format!("the label {label} is not exact as a real number, the type of the columns beside it");
        let place = Place::default().row(row + 1);
        Err(Error::input_at(place, what, "number the classes with whole numbers below 2⁵³"))
    }

    /// The coordinates of a point; empty beyond the last.
    pub fn row(&self, row: usize) -> &[f64] {
        self.values.get(row * self.columns..(row + 1) * self.columns).unwrap_or_default()
    }

    /// Iterates over the points.
    pub fn iter(&self) -> std::slice::ChunksExact<'_, f64> {
        self.values.chunks_exact(self.columns.max(1))
    }

    /// The size for the report.
    pub fn size(&self) -> InputSize {
        InputSize { rows: self.rows, columns: self.columns }
    }

    /// Copies the points into a table: the coordinates, then a column `label` if there are labels.
    ///
    /// Fails if there is not enough memory.
    pub fn table(&self) -> Result<Table> {
        admit_names(self.columns)?;
        let values = memory::copied(&self.values, "the table")?;
        let table = Table::float_matrix(self.names.clone(), values)?;
        match &self.labels {
            Some(labels) => table.beside(Table::ints("label", memory::copied(labels, "the table")?)),
            None => Ok(table),
        }
    }
}

/// Advice for a number that is not finite.
pub(crate) const FINITE: &str = "replace it by a finite number, or leave the row out";

/// Purposes of memory, as messages name them.
pub(crate) const POINTS: &str = "the points";
pub(crate) const CLASSES: &str = "the classes";

/// Bytes of a column's name: the string and its heap allocation.
pub(crate) const NAME: u128 = 64;

/// Fails unless there is enough memory for the names of `columns` columns.
pub(crate) fn admit_names(columns: usize) -> Result<()> {
    memory::admit(columns as u128 * NAME, "the columns' names")
}

/// `C1`, `C2`, …
pub(crate) fn default_names(columns: usize) -> Result<Vec<String>> {
    admit_names(columns)?;
    Ok((1..=columns).map(|column| format!("C{column}")).collect())
}

/// Normalises each row of `d` finite columns to unit Euclidean length. `row` maps a row to its index in the input, for the
/// error.
///
/// Fails on a zero vector, which has no direction.
pub fn directions(values: &mut [f64], d: usize, row: impl Fn(usize) -> usize) -> Result<()> {
    const HELP: &str = "leave the row out, or use another `metric`";
    values.chunks_mut(d.max(1)).enumerate().try_for_each(|(i, x)| direction(x, row(i), HELP))
}

/// Normalises a vector, `row` of the input, to unit Euclidean length. Fails, with advice, if it is zero.
pub(super) fn direction(x: &mut [f64], row: usize, help: &str) -> Result<()> {
    let largest = x.iter().fold(0.0f64, |most, x| most.max(x.abs()));
    if largest == 0.0 {
        let what = "a vector of zeros has no direction, which the metric cosine needs";
        return Err(Error::input_at(Place::default().row(row + 1), what, help));
    }
    x.iter_mut().for_each(|x| *x /= largest);
    let length = x.iter().map(|x| x * x).sum::<f64>().sqrt();
    x.iter_mut().for_each(|x| *x /= length);
    Ok(())
}

/// The distinct rows of a table; see [`collapse_duplicates`].
#[derive(Debug, Clone, PartialEq)]
pub struct Distinct {
    /// The distinct rows in order of first appearance, row-major, with −0 written as 0.
    pub values: Vec<f64>,
    /// Multiplicity of each distinct row.
    pub counts: Vec<u32>,
    /// For each row of the input the index of its distinct row.
    pub index: Vec<u32>,
}

/// Collapses duplicate points, in order of first appearance.
///
/// Points are equal if all their coordinates are bitwise equal after replacing −0 by 0. Points beyond the first 2³² − 1
/// are ignored.
pub fn collapse_duplicates(points: &Points) -> Distinct {
    let (rows, columns) = (points.rows.min(u32::MAX as usize), points.columns);
    // Adding 0 turns −0 into 0 and preserves all other numbers.
    let row = |i: usize| points.values[i * columns..][..columns].iter().map(|value| value + 0.0);
    let index = distinct_rows(rows, |i| row(i).map(f64::to_bits));
    let (mut counts, mut first) = (Vec::new(), Vec::new());
    for (i, &number) in index.iter().enumerate() {
        if number as usize == first.len() {
            first.push(i);
            counts.push(0);
        }
        counts[number as usize] += 1;
    }
    let mut values = vec![0.0; first.len() * columns];
    values.par_chunks_mut(columns.max(1)).zip(first).for_each(|(values, i)| {
        values.iter_mut().zip(row(i)).for_each(|(value, x)| *value = x);
    });
    Distinct { values, counts, index }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn duplicates_collapse_in_order_of_appearance() {
        let points = Points::new(vec![1.0, 0.0, 2.0, 2.0, 1.0, -0.0, 2.0, 2.0, 0.0, 1.0], 2).unwrap();
        let Distinct { values, counts, index } = collapse_duplicates(&points);
        assert_eq!(
            (&values[..], counts, index),
            (&[1.0, 0.0, 2.0, 2.0, 0.0, 1.0][..], vec![2, 2, 1], vec![0, 1, 0, 1, 2])
        );
        assert!(values.iter().all(|value| value.is_sign_positive()));
    }

    #[test]
    fn only_tables_of_finite_numbers_are_accepted() {
        assert!(Points::new(Vec::new(), 2).is_err());
        assert!(Points::new(vec![1.0], 0).is_err());
        assert!(Points::new(vec![1.0; 3], 2).is_err());
        let error = Points::new(vec![1.0, 2.0, 3.0, f64::NAN], 2).unwrap_err();
        assert_eq!(error.to_string(), "row 2, column C2: NaN is not a finite number");
        let error = Points::new(vec![1.0; 4], 2).unwrap().with_labels(vec![1]).unwrap_err();
        assert_eq!(error.to_string(), "there are 1 labels for 2 points");
    }

    #[test]
    fn labels_that_are_not_exact_as_reals_are_rejected() {
        let labelled = |label| Points::new(vec![1.0, 2.0], 1).unwrap().with_labels(vec![1, label]).unwrap();
        for label in [0, -1, 1 << 53, i64::MIN] {
            labelled(label).check_labels_as_reals().unwrap();
        }
        let error = labelled((1 << 53) + 1).check_labels_as_reals().unwrap_err().to_string();
        assert!(error.starts_with("row 2: the label 9007199254740993 is not exact"), "{error}");
    }

    #[cfg(feature = "io")]
    #[test]
    fn points_become_a_table() {
        let points = Points::new(vec![1.0, 2.5, 3.0, 4.0], 2).unwrap().with_labels(vec![7, -1]).unwrap();
        let mut text = Vec::new();
        points.table().unwrap().write_csv(&mut text).unwrap();
        assert_eq!(String::from_utf8(text).unwrap(), "C1,C2,label\n1,2.5,7\n3,4,-1\n");
        assert_eq!(points.row(1), [3.0, 4.0]);
        assert!(points.row(2).is_empty());
        assert_eq!(points.size(), InputSize { rows: 2, columns: 2 });
    }

    proptest! {
        #[test]
        fn collapsing_is_lossless(cells in prop::collection::vec(-2i8..3, 1..60), columns in 1usize..4) {
            let rows = cells.len() / columns;
            prop_assume!(rows > 0);
            let values: Vec<f64> = cells[..rows * columns].iter().map(|v| f64::from(*v)).collect();
            let points = Points::new(values.clone(), columns).unwrap();
            let distinct = collapse_duplicates(&points);
            let row = |&i: &u32| distinct.values[i as usize * columns..][..columns].to_vec();
            prop_assert_eq!(distinct.index.iter().flat_map(row).collect::<Vec<_>>(), values);
            prop_assert_eq!(distinct.counts.iter().sum::<u32>() as usize, rows);
            prop_assert!(distinct.counts.iter().all(|&count| count > 0));
        }
    }
}
