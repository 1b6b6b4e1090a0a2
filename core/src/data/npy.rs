//! `.npy`: one NumPy array of one or two dimensions, in C or Fortran order, of booleans, integers or floats.

mod header;
mod rows;

use std::io::{self, Write};

use ndarray::{ArrayView1, ArrayView2};
use ndarray_npy::{WritableElement, WriteNpyError, WriteNpyExt};

use crate::data::labels::{self, Wanted};
use crate::data::number::whole_f64;
use crate::data::points::{FINITE, Points, default_names};
use crate::data::table::{Cells, Table};
use crate::error::Place;
use crate::{Error, Result};

use header::Header;
pub(crate) use rows::Rows;

struct Array {
    rows: usize,
    columns: usize,
    /// Row-major.
    values: Vec<f64>,
}

/// All of the array.
fn array(bytes: &[u8]) -> Result<Array> {
    let end = header::end(bytes)?;
    let (above, numbers) = bytes.split_at_checked(end).ok_or_else(header::cut)?;
    let header = Header::parse(above, bytes.len() as u64)?;
    Ok(Array { rows: header.rows, columns: header.columns, values: header.numbers(numbers, header.rows) })
}

/// What is wrong with a file without bytes.
pub(crate) fn empty() -> Error {
    Error::input("the file is empty", "write it again with numpy.save")
}

fn no_points(rows: usize, columns: usize) -> Error {
    let what = format!("the array has shape ({rows}, {columns}): there are no points");
    Error::input(what, "save at least one row of one number")
}

/// Reads points; `label` is the column of the classes, by number from 1 or as `C1`, `C2`, …. With `missing` a number
/// may be NaN.
pub(crate) fn read(bytes: &[u8], label: Option<Wanted<'_>>, missing: bool) -> Result<Points> {
    let array = array(bytes)?;
    if array.values.is_empty() {
        return Err(no_points(array.rows, array.columns));
    }
    points(array, 0, label, missing)
}

/// The points of an array whose rows are those from `first` on of a file's.
fn points(array: Array, first: usize, label: Option<Wanted<'_>>, missing: bool) -> Result<Points> {
    let Array { rows, columns, values } = array;
    let names = default_names(columns);
    if let Some(at) = values.iter().position(|value| !(value.is_finite() || missing && value.is_nan())) {
        let place = Place::default().row(first + at / columns + 1).column(names[at % columns].as_str());
        return Err(Error::input_at(place, format!("{} is not a finite number", values[at]), FINITE));
    }
    let Some(label) = label.map_or(Ok(None), |label| label.find(&names, columns))? else {
        return Ok(Points { values, rows, columns, names, labels: None, label_names: None });
    };
    if columns == 1 {
        return Err(Error::input("the only column is the labels", "give at least one column of coordinates"));
    }
    let mut coordinates = Vec::with_capacity(rows * (columns - 1));
    let mut classes = Vec::with_capacity(rows);
    for (row, cells) in values.chunks_exact(columns).enumerate() {
        coordinates.extend(cells.iter().enumerate().filter(|(at, _)| *at != label).map(|(_, value)| *value));
        classes.push(class(cells[label], first + row, &names[label])?);
    }
    let names = names.into_iter().enumerate().filter(|(at, _)| *at != label).map(|(_, name)| name).collect();
    let values = coordinates;
    Ok(Points { values, rows, columns: columns - 1, names, labels: Some(classes), label_names: None })
}

/// Reads one label for each of `points` points.
pub(crate) fn read_labels(bytes: &[u8], points: usize) -> Result<Vec<i64>> {
    let Array { rows, columns, values } = array(bytes)?;
    if columns != 1 && rows != 1 {
        let what = format!("the array of labels has shape ({rows}, {columns})");
        return Err(Error::input(what, "save one label a point, in an array of one dimension"));
    }
    labels::check_count(values.len(), points)?;
    values.into_iter().enumerate().map(|(row, value)| class(value, row, "C1")).collect()
}

fn class(value: f64, row: usize, column: &str) -> Result<i64> {
    whole_f64(value).ok_or_else(|| {
        let place = Place::default().row(row + 1).column(column);
        Error::input_at(place, format!("the label {value} is not a whole number"), "labels are whole numbers")
    })
}

/// Writes the table as one array.
pub(crate) fn write(table: &Table, out: &mut dyn Write) -> io::Result<()> {
    let (rows, columns) = (table.rows(), table.width());
    match table.columns() {
        [column] => match column.cells() {
            Cells::Float(values) => write_array(values, rows, columns, out),
            Cells::Int(values) => write_array(values, rows, columns, out),
            Cells::Count(values) => write_array(values, rows, columns, out),
        },
        all if all.iter().all(|column| matches!(column.cells(), Cells::Int(_))) => {
            let mut values: Vec<i64> = Vec::with_capacity(rows * columns);
            for row in 0..rows {
                for column in all {
                    if let Cells::Int(cells) = column.cells() {
                        values.extend(cells.iter().skip(row * column.width()).take(column.width()));
                    }
                }
            }
            write_array(&values, rows, columns, out)
        }
        _ => {
            let values: Vec<f64> = (0..rows).flat_map(|row| table.row(row)).map(|cell| cell.as_f64()).collect();
            write_array(&values, rows, columns, out)
        }
    }
}

fn write_array<T: WritableElement>(values: &[T], rows: usize, columns: usize, out: &mut dyn Write) -> io::Result<()> {
    let written = if columns == 1 {
        ArrayView1::from(values).write_npy(out)
    } else {
        ArrayView2::from_shape((rows, columns), values).map_err(io::Error::other)?.write_npy(out)
    };
    written.map_err(|error| match error {
        WriteNpyError::Io(error) => error,
        other => io::Error::other(other),
    })
}

#[cfg(test)]
mod tests;
