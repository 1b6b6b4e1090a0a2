//! Tables: named columns and matrices of equal height.

use crate::error::{Error, Result};

/// The numbers of a [`Column`], row-major if it is a matrix.
#[derive(Debug, Clone, PartialEq)]
pub enum Cells {
    /// Real numbers.
    Float(Vec<f64>),
    /// Whole numbers, such as cluster labels.
    Int(Vec<i64>),
    /// 32-bit whole numbers, for matrices of counts.
    Count(Vec<i32>),
}

impl Cells {
    fn len(&self) -> usize {
        match self {
            Self::Float(values) => values.len(),
            Self::Int(values) => values.len(),
            Self::Count(values) => values.len(),
        }
    }

    /// The value at `index`.
    pub fn get(&self, index: usize) -> Option<Cell> {
        match self {
            Self::Float(values) => values.get(index).copied().map(Cell::Float),
            Self::Int(values) => values.get(index).copied().map(Cell::Int),
            Self::Count(values) => values.get(index).copied().map(|value| Cell::Int(value.into())),
        }
    }
}

/// One value of a [`Table`].
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
#[serde(untagged)]
pub enum Cell {
    /// A real number.
    Float(f64),
    /// A whole number.
    Int(i64),
}

impl Cell {
    /// The value as a float; whole numbers beyond 2⁵³ are rounded.
    pub fn as_f64(self) -> f64 {
        match self {
            Self::Float(value) => value,
            Self::Int(value) => value as f64,
        }
    }
}

impl std::fmt::Display for Cell {
    /// The shortest decimal that round-trips; very large and very small numbers have an exponent.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Int(value) => write!(f, "{value}"),
            Self::Float(value) if *value == 0.0 || !value.is_finite() || (1e-5..1e16).contains(&value.abs()) => {
                write!(f, "{value}")
            }
            Self::Float(value) => write!(f, "{value:e}"),
        }
    }
}

/// A column of a [`Table`], or a matrix: several columns of one type, stored row-major.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    names: Vec<String>,
    cells: Cells,
    /// Words that codes from 0 stand for, in formats that have words.
    words: Vec<String>,
    /// The fields of an input whose numbers these are, for text formats.
    fields: Vec<String>,
    /// See [`Table::with_details`].
    is_detail: bool,
}

impl Column {
    /// The names, one per column of the matrix.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The values, row-major: rows × `width()`.
    pub fn cells(&self) -> &Cells {
        &self.cells
    }

    /// The text of the value at `index`, if it is other than the number: the word that it stands for ([`Table::words`]), or
    /// the field that it was read from ([`Table::fields`]).
    pub fn text(&self, index: usize) -> Option<&str> {
        if let Some(field) = self.fields.get(index) {
            return Some(field);
        }
        let Some(Cell::Int(code)) = self.cells.get(index) else { return None };
        self.words.get(usize::try_from(code).ok()?).map(String::as_str)
    }

    /// The words that codes from 0 stand for; none if the values are numbers.
    #[cfg(feature = "io")]
    pub(crate) fn words(&self) -> &[String] {
        &self.words
    }

    /// The fields that the numbers were read from; none if the numbers were computed.
    #[cfg(feature = "arrow")]
    pub(crate) fn fields(&self) -> &[String] {
        &self.fields
    }

    /// True if formats without names of columns leave the column out: see [`Table::with_details`].
    #[cfg(feature = "io")]
    pub(crate) fn is_detail(&self) -> bool {
        self.is_detail
    }

    /// Number of columns.
    pub fn width(&self) -> usize {
        self.names.len()
    }
}

/// Columns and matrices of equal height, side by side.
///
/// ```
/// use firebox_core::data::Table;
///
/// let table = Table::floats("x", vec![0.5, 1.0]).beside(Table::ints("cluster", vec![0, -1]))?;
/// assert_eq!((table.rows(), table.width()), (2, 2));
/// # Ok::<(), firebox_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    rows: usize,
    columns: Vec<Column>,
}

impl Table {
    /// Creates a table of one column of real numbers.
    pub fn floats(name: impl Into<String>, values: Vec<f64>) -> Self {
        Self::single(name, Cells::Float(values), Vec::new())
    }

    /// Creates a table of one column of whole numbers.
    pub fn ints(name: impl Into<String>, values: Vec<i64>) -> Self {
        Self::words(name, values, Vec::new())
    }

    /// Creates a table of one column of words, given as indices into `words`. CSV, Parquet and Arrow store the words, `.npy`
    /// and `.lrn` the indices ([`Table::losses`]).
    pub fn words(name: impl Into<String>, codes: Vec<i64>, words: Vec<String>) -> Self {
        Self::single(name, Cells::Int(codes), words)
    }

    /// Creates a table of one column of numbers that were read from `fields`, NaN from empty ones. Text formats repeat the
    /// fields, others store the numbers.
    ///
    /// Fails if the heights differ.
    pub fn fields(name: impl Into<String>, values: Vec<f64>, mut fields: Vec<String>) -> Result<Self> {
        if values.len() != fields.len() {
            return Err(Error::input(format!("{} fields are not those of {} numbers", fields.len(), values.len()), ""));
        }
        let mut table = Self::floats(name, values);
        table.columns.iter_mut().for_each(|column| column.fields = std::mem::take(&mut fields));
        Ok(table)
    }

    /// Creates a matrix of real numbers, row-major, with one name per column.
    ///
    /// Fails if there are no names or if the values do not fill whole rows.
    pub fn float_matrix(names: Vec<String>, values: Vec<f64>) -> Result<Self> {
        Self::matrix(names, Cells::Float(values))
    }

    /// Creates a matrix of whole numbers. Otherwise as [`Table::float_matrix`].
    pub fn int_matrix(names: Vec<String>, values: Vec<i64>) -> Result<Self> {
        Self::matrix(names, Cells::Int(values))
    }

    /// Creates a matrix of 32-bit whole numbers. Otherwise as [`Table::float_matrix`].
    pub fn count_matrix(names: Vec<String>, values: Vec<i32>) -> Result<Self> {
        Self::matrix(names, Cells::Count(values))
    }

    fn single(name: impl Into<String>, cells: Cells, words: Vec<String>) -> Self {
        let rows = cells.len();
        Self {
            rows,
            columns: vec![Column { names: vec![name.into()], cells, words, fields: Vec::new(), is_detail: false }],
        }
    }

    fn matrix(names: Vec<String>, cells: Cells) -> Result<Self> {
        let (len, width) = (cells.len(), names.len());
        match len.checked_rem(width) {
            Some(0) => {
                let column = Column { names, cells, words: Vec::new(), fields: Vec::new(), is_detail: false };
                Ok(Self { rows: len / width, columns: vec![column] })
            }
            _ => Err(Error::input(format!("{len} numbers do not fill rows of {width} columns"), "")),
        }
    }

    /// Appends the columns of `other` to the right. Fails if the heights differ.
    pub fn beside(mut self, other: Self) -> Result<Self> {
        if self.rows != other.rows {
            let what = format!("columns of {} and {} rows do not make one table", self.rows, other.rows);
            return Err(Error::input(what, ""));
        }
        self.columns.extend(other.columns);
        Ok(self)
    }

    /// Appends columns that formats without names of columns, `.npy` and `.cls`, leave out. Fails if the heights differ.
    pub fn with_details(self, mut details: Self) -> Result<Self> {
        details.columns.iter_mut().for_each(|column| column.is_detail = true);
        self.beside(details)
    }

    /// The table without the columns of [`Table::with_details`].
    #[cfg(feature = "io")]
    pub(crate) fn main_columns(&self) -> std::borrow::Cow<'_, Self> {
        if self.columns.iter().all(|column| !column.is_detail) {
            return std::borrow::Cow::Borrowed(self);
        }
        let columns = self.columns.iter().filter(|column| !column.is_detail).cloned().collect();
        std::borrow::Cow::Owned(Self { rows: self.rows, columns })
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns, including those of matrices.
    pub fn width(&self) -> usize {
        self.columns.iter().map(Column::width).sum()
    }

    /// The columns and matrices, left to right.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The names of all columns, left to right.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().flat_map(|column| column.names.iter().map(String::as_str))
    }

    /// The values of a row, left to right; empty beyond the last row.
    pub fn row(&self, row: usize) -> impl Iterator<Item = Cell> {
        self.columns.iter().flat_map(move |column| {
            let width = column.width();
            (row * width..(row + 1) * width).filter_map(|index| column.cells.get(index))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_and_matrices_stand_side_by_side() {
        let names = vec!["a".to_string(), "b".to_string()];
        let matrix = Table::int_matrix(names.clone(), vec![1, 2, 3, 4]).unwrap();
        let table = Table::floats("x", vec![0.5, -0.25]).beside(matrix).unwrap();
        assert_eq!((table.rows(), table.width()), (2, 3));
        assert_eq!(table.names().collect::<Vec<_>>(), ["x", "a", "b"]);
        let row: Vec<Cell> = table.row(1).collect();
        assert_eq!(row, [Cell::Float(-0.25), Cell::Int(3), Cell::Int(4)]);
        assert_eq!(table.row(2).count(), 0);
        let counts = Table::count_matrix(names.clone(), vec![1, 2, 3, 4]).unwrap();
        assert_eq!(counts.row(1).collect::<Vec<_>>(), [Cell::Int(3), Cell::Int(4)]);
        assert!(Table::int_matrix(names, vec![1, 2, 3]).is_err());
        assert!(Table::float_matrix(Vec::new(), Vec::new()).is_err());
        assert!(table.beside(Table::ints("y", vec![1])).is_err());
    }

    #[test]
    fn numbers_have_the_shortest_form_that_round_trips() {
        let values = [0.1, 1.0, -0.0, 1e300, 1e-7, 123456.75, f64::NAN, f64::INFINITY];
        let texts = ["0.1", "1", "-0", "1e300", "1e-7", "123456.75", "NaN", "inf"];
        assert_eq!(values.map(|value| Cell::Float(value).to_string()), texts);
    }
}
