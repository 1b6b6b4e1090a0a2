//! What a run writes: named columns and matrices of equal height.

use std::io::{self, Write};
use std::path::Path;

use crate::data::{Format, atomic, cls, csv, lrn, npy};
use crate::{Error, Result};

/// The numbers of a [`Column`], row-major if it is a matrix.
#[derive(Debug, Clone, PartialEq)]
pub enum Cells {
    /// Real numbers.
    Float(Vec<f64>),
    /// Whole numbers, such as cluster labels.
    Int(Vec<i64>),
    /// Whole numbers in half the memory, for matrices of counts.
    Count(Vec<i32>),
}

impl Cells {
    /// How many numbers there are.
    pub fn len(&self) -> usize {
        match self {
            Self::Float(values) => values.len(),
            Self::Int(values) => values.len(),
            Self::Count(values) => values.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number at `index`.
    pub fn get(&self, index: usize) -> Option<Cell> {
        match self {
            Self::Float(values) => values.get(index).copied().map(Cell::Float),
            Self::Int(values) => values.get(index).copied().map(Cell::Int),
            Self::Count(values) => values.get(index).copied().map(|value| Cell::Int(value.into())),
        }
    }
}

/// One number of a [`Table`].
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
#[serde(untagged)]
pub enum Cell {
    /// A real number.
    Float(f64),
    /// A whole number.
    Int(i64),
}

impl Cell {
    /// The number as a float; whole numbers beyond 2⁵³ are rounded.
    pub fn as_f64(self) -> f64 {
        match self {
            Self::Float(value) => value,
            Self::Int(value) => value as f64,
        }
    }
}

impl std::fmt::Display for Cell {
    /// The shortest decimal that reads back as the same number; very large and very small ones with an exponent.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Int(value) => write!(f, "{value}"),
            Self::Float(value) => {
                let size = value.abs();
                if size != 0.0 && size.is_finite() && !(1e-5..1e16).contains(&size) {
                    write!(f, "{value:e}")
                } else {
                    write!(f, "{value}")
                }
            }
        }
    }
}

/// One column of a [`Table`], or several of one kind whose numbers lie together: a matrix.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    names: Vec<String>,
    cells: Cells,
    /// What whole numbers from 0 are called, where text is written.
    words: Vec<String>,
}

impl Column {
    /// The names, one a column of the matrix; a plain column has one.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The numbers, row-major: rows × `names().len()`.
    pub fn cells(&self) -> &Cells {
        &self.cells
    }

    /// What the number at `index` is called, if it is called anything: see [`Table::words`].
    pub fn word(&self, index: usize) -> Option<&str> {
        match self.cells.get(index) {
            Some(Cell::Int(code)) if !self.words.is_empty() => {
                usize::try_from(code).ok().and_then(|code| self.words.get(code)).map(String::as_str)
            }
            _ => None,
        }
    }

    /// How many columns of the table this is: 1, or a matrix's width.
    pub fn width(&self) -> usize {
        self.names.len()
    }
}

/// What a run writes: columns and matrices side by side, all of one height.
///
/// ```
/// use firebox_core::data::Table;
///
/// let table = Table::floats("x", vec![0.5, 1.0]).beside(Table::ints("cluster", vec![0, -1]))?;
/// let mut text = Vec::new();
/// table.write_csv(&mut text)?;
/// assert_eq!(text, b"x,cluster\n0.5,0\n1,-1\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    rows: usize,
    columns: Vec<Column>,
}

impl Table {
    /// A table of one column of real numbers.
    pub fn floats(name: impl Into<String>, values: Vec<f64>) -> Self {
        Self::single(name.into(), Cells::Float(values))
    }

    /// A table of one column of whole numbers.
    pub fn ints(name: impl Into<String>, values: Vec<i64>) -> Self {
        Self::single(name.into(), Cells::Int(values))
    }

    /// A table of one column of words, each by its number in `words`. CSV has the words, other formats the numbers.
    pub fn words(name: impl Into<String>, codes: Vec<i64>, words: Vec<String>) -> Self {
        let mut table = Self::ints(name, codes);
        table.columns[0].words = words;
        table
    }

    /// A matrix of real numbers, row-major, with a name for each of its columns.
    ///
    /// Fails if there is no name, or if the numbers do not fill whole rows.
    pub fn float_matrix(names: Vec<String>, values: Vec<f64>) -> Result<Self> {
        Self::matrix(names, Cells::Float(values))
    }

    /// A matrix of whole numbers, row-major, with a name for each of its columns; fails as [`Table::float_matrix`].
    pub fn int_matrix(names: Vec<String>, values: Vec<i64>) -> Result<Self> {
        Self::matrix(names, Cells::Int(values))
    }

    /// [`Table::int_matrix`] of numbers of 32 bits.
    pub fn count_matrix(names: Vec<String>, values: Vec<i32>) -> Result<Self> {
        Self::matrix(names, Cells::Count(values))
    }

    fn single(name: String, cells: Cells) -> Self {
        Self { rows: cells.len(), columns: vec![Column { names: vec![name], cells, words: Vec::new() }] }
    }

    fn matrix(names: Vec<String>, cells: Cells) -> Result<Self> {
        let (len, width) = (cells.len(), names.len());
        match len.checked_rem(width) {
            Some(0) => Ok(Self { rows: len / width, columns: vec![Column { names, cells, words: Vec::new() }] }),
            _ => Err(Error::input(format!("{len} numbers do not fill rows of {width} columns"), "")),
        }
    }

    /// The same table with the columns of `other` to its right; fails if the heights differ.
    pub fn beside(mut self, other: Self) -> Result<Self> {
        if self.rows != other.rows {
            let what = format!("columns of {} and {} rows do not make one table", self.rows, other.rows);
            return Err(Error::input(what, ""));
        }
        self.columns.extend(other.columns);
        Ok(self)
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// How many columns there are, a matrix counted with its width.
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

    /// The numbers of a row, left to right; nothing beyond the last row.
    pub fn row(&self, row: usize) -> impl Iterator<Item = Cell> {
        self.columns.iter().flat_map(move |column| {
            let width = column.width();
            (row * width..(row + 1) * width).filter_map(|index| column.cells.get(index))
        })
    }

    /// Writes the table to `path`, whole or not at all ([`atomic`]), in the format of the path's extension.
    ///
    /// CSV (`.csv`, `.txt`, `.dat`; `.tsv` with tabs) has one header line. NPY is an array of shape (rows) if there
    /// is one column, else (rows, width), of `i64` if all numbers are whole (`i32` for a matrix of counts alone), else of
    /// `f64`. `.cls` wants exactly one
    /// column, of whole numbers. `.lrn` takes a column of whole numbers named `label`, `class` or `cluster` for the
    /// class and all others for data. `/dev/stdout` and other paths without an extension that are no ordinary files
    /// get CSV.
    pub fn write(&self, path: &Path) -> Result<()> {
        let format = self.format_for(path)?;
        atomic::write(path, |out| self.write_as(format, out))
    }

    /// The format in which [`Table::write`] would write this table to `path`; fails where it would.
    pub fn format_for(&self, path: &Path) -> Result<Format> {
        let format = Format::of(path)?;
        if format == Format::Cls {
            cls::check(self).map_err(|error| error.in_file(path))?;
        }
        Ok(format)
    }

    /// Writes the table in `format`.
    pub fn write_as(&self, format: Format, out: &mut dyn Write) -> io::Result<()> {
        match format {
            Format::Csv => csv::write(self, b',', out),
            Format::Tsv => csv::write(self, b'\t', out),
            Format::Npy => npy::write(self, out),
            Format::Lrn => lrn::write(self, out),
            Format::Cls => cls::write(self, out),
        }
    }

    /// Writes the table as CSV with a header line.
    pub fn write_csv(&self, out: &mut dyn Write) -> io::Result<()> {
        self.write_as(Format::Csv, out)
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
    fn words_are_written_where_text_is() {
        let words = ["a", "b, \"c\"", "#d"].map(String::from).to_vec();
        let table = Table::words("class", vec![1, 0, 2, 7], words).beside(Table::ints("n", vec![1, 2, 3, 4])).unwrap();
        let mut text = Vec::new();
        table.write_csv(&mut text).unwrap();
        let wanted = "class,n\n\"b, \"\"c\"\"\",1\na,2\n\"#d\",3\n7,4\n";
        assert_eq!(String::from_utf8(text).unwrap(), wanted);
        assert_eq!(table.row(0).next(), Some(Cell::Int(1)));
    }

    #[test]
    fn numbers_are_short_and_read_back() {
        for (value, text) in [
            (0.1, "0.1"),
            (1.0, "1"),
            (-0.0, "-0"),
            (1e300, "1e300"),
            (1e-7, "1e-7"),
            (123456.75, "123456.75"),
            (f64::NAN, "NaN"),
            (f64::INFINITY, "inf"),
        ] {
            assert_eq!(Cell::Float(value).to_string(), text);
        }
    }
}
