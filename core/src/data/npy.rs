//! `.npy`: one NumPy array of one or two dimensions, in C or Fortran order, of booleans, integers or floats.

mod dictionary;
mod header;
mod rows;

use std::io::{self, Write};
use std::ops::Range;

use crate::data::labels::{self, Wanted};
use crate::data::points::{CLASSES, FINITE, Points, default_names};
use crate::data::table::{Cell, Cells, Table};
use crate::error::Place;
use crate::{Error, Result, memory};

use header::Header;
pub(crate) use rows::Rows;

/// The header of a file and the bytes of all its numbers.
fn array(bytes: &[u8]) -> Result<(Header, &[u8])> {
    let dictionary = header::dictionary(bytes)?;
    let text = bytes.get(dictionary.clone()).ok_or_else(header::cut)?;
    let header = Header::parse(text, dictionary.end, bytes.len() as u64)?;
    Ok((header, &bytes[dictionary.end..]))
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
    let (header, numbers) = array(bytes)?;
    if numbers.is_empty() {
        return Err(no_points(header.rows, header.columns));
    }
    points(&header, numbers, 0..header.rows, label, missing)
}

/// The points of the rows `of` of an array whose [pieces](Header::pieces) are given.
fn points(
    header: &Header,
    pieces: &[u8],
    of: Range<usize>,
    label: Option<Wanted<'_>>,
    missing: bool,
) -> Result<Points> {
    let (rows, first) = (of.len(), of.start);
    let mut names = default_names(header.columns)?;
    let label = label.map_or(Ok(None), |label| label.find(&names, header.columns))?;
    if label.is_some() && header.columns == 1 {
        return Err(Error::input("the only column is the labels", "give at least one column of coordinates"));
    }
    let mut labels = None;
    if let Some(column) = label {
        let mut classes = memory::with_capacity(rows, CLASSES)?;
        for row in 0..rows {
            classes.push(header.label(pieces, rows, [first, row], column, &names[column])?);
        }
        names.remove(column);
        labels = Some(classes);
    }
    let (values, columns) = (header.numbers(pieces, rows, label)?, names.len());
    if let Some(at) = values.iter().position(|value| !(value.is_finite() || missing && value.is_nan())) {
        let place = Place::default().row(first + at / columns + 1).column(names[at % columns].as_str());
        return Err(Error::input_at(place, format!("{} is not a finite number", values[at]), FINITE));
    }
    Ok(Points { values, rows, columns, names, labels, label_names: None })
}

/// Reads one label for each of `points` points.
pub(crate) fn read_labels(bytes: &[u8], points: usize) -> Result<Vec<i64>> {
    let (header, numbers) = array(bytes)?;
    let (rows, columns) = (header.rows, header.columns);
    if columns != 1 && rows != 1 {
        let what = format!("the array of labels has shape ({rows}, {columns})");
        return Err(Error::input(what, "save one label a point, in an array of one dimension"));
    }
    labels::check_count(rows * columns, points)?;
    let mut classes = memory::with_capacity(points, CLASSES)?;
    for at in 0..points {
        let (row, column) = (at / columns, at % columns);
        classes.push(header.label(numbers, rows, [0, row], column, &format!("C{}", column + 1))?);
    }
    Ok(classes)
}

/// Writes the table as one array, row by row.
///
/// Fails on whole numbers that stand beside real ones and are no f64.
pub(crate) fn write(table: &Table, out: &mut dyn Write) -> io::Result<()> {
    let all = table.columns();
    let descr = match all {
        [column] if matches!(column.cells(), Cells::Count(_)) => "<i4",
        all if all.iter().all(|column| !matches!(column.cells(), Cells::Float(_))) => "<i8",
        _ => "<f8",
    };
    out.write_all(&head(descr, table.rows(), table.width()))?;
    for row in 0..table.rows() {
        for (cell, name) in table.row(row).zip(table.names()) {
            match (cell, descr) {
                (Cell::Int(value), "<i4") => out.write_all(&(value as i32).to_le_bytes())?,
                (Cell::Int(value), "<i8") => out.write_all(&value.to_le_bytes())?,
                (Cell::Int(value), _) if value as f64 as i128 != i128::from(value) => {
                    let what = format!("row {}, column {name}: {value} is not exact as a real number", row + 1);
                    let help = "an array has one type; write a .csv, which keeps whole numbers";
                    return Err(io::Error::new(io::ErrorKind::InvalidData, format!("{what} ({help})")));
                }
                (cell, _) => out.write_all(&cell.as_f64().to_le_bytes())?,
            }
        }
    }
    Ok(())
}

/// A header of version 1.0, whose end is a multiple of 64 bytes, as NumPy writes it.
fn head(descr: &str, rows: usize, columns: usize) -> Vec<u8> {
    let shape = if columns == 1 { format!("{rows},") } else { format!("{rows}, {columns}") };
    let dictionary = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({shape})}}");
    let width = (10 + dictionary.len() + 1).next_multiple_of(64) - 11;
    let mut head = b"\x93NUMPY\x01\x00".to_vec();
    head.extend((width as u16 + 1).to_le_bytes());
    head.extend(format!("{dictionary:width$}\n").bytes());
    head
}

#[cfg(test)]
mod tests;
