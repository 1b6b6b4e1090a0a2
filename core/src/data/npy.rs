//! `.npy`: one NumPy array of one or two dimensions, in C or Fortran order, of booleans, integers or floats.

use std::io::{self, Write};

use ndarray::{ArrayView1, ArrayView2};
use ndarray_npy::{WritableElement, WriteNpyError, WriteNpyExt};

use crate::data::labels::{self, Wanted};
use crate::data::number::whole_f64;
use crate::data::points::{FINITE, Points, default_names};
use crate::data::table::{Cells, Table};
use crate::error::Place;
use crate::{Error, Result};

struct Array {
    rows: usize,
    columns: usize,
    /// Row-major.
    values: Vec<f64>,
}

fn broken(what: impl Into<String>) -> Error {
    Error::input(what, "write the file again with numpy.save")
}

/// The value of `key` in the header's dictionary, and what follows.
fn entry<'a>(header: &'a str, key: &str) -> Result<&'a str> {
    let quoted = [format!("'{key}'"), format!("\"{key}\"")];
    let after = quoted.iter().find_map(|key| header.split_once(key.as_str())).map(|(_, after)| after);
    let value = after.and_then(|after| after.trim_start().strip_prefix(':'));
    value.map(str::trim_start).ok_or_else(|| broken(format!("the NPY header has no {key}")))
}

fn array(bytes: &[u8]) -> Result<Array> {
    let rest = bytes.strip_prefix(b"\x93NUMPY").ok_or_else(|| broken("this is not an NPY file"))?;
    let cut = || broken("the NPY header is cut short");
    let (&[major, _], rest) = rest.split_first_chunk::<2>().ok_or_else(cut)?;
    let (length, rest) = if major == 1 {
        let (length, rest) = rest.split_first_chunk::<2>().ok_or_else(cut)?;
        (u16::from_le_bytes(*length) as usize, rest)
    } else {
        let (length, rest) = rest.split_first_chunk::<4>().ok_or_else(cut)?;
        (u32::from_le_bytes(*length) as usize, rest)
    };
    let (header, data) = rest.split_at_checked(length).ok_or_else(cut)?;
    let header = String::from_utf8_lossy(header);

    let fortran = entry(&header, "fortran_order")?.starts_with("True");
    let shape = entry(&header, "shape")?;
    let inner = shape.strip_prefix('(').and_then(|shape| shape.split_once(')')).map(|(inner, _)| inner);
    let sizes = inner.map(|inner| {
        let sizes = inner.split(',').map(str::trim).filter(|size| !size.is_empty());
        sizes.map(str::parse::<usize>).collect::<std::result::Result<Vec<_>, _>>()
    });
    let Some(Ok(sizes)) = sizes else {
        return Err(broken("the NPY header has no shape"));
    };
    let (rows, columns) = match sizes[..] {
        [rows] => (rows, 1),
        [rows, columns] => (rows, columns),
        _ => {
            let what = format!("the array has {} dimensions", sizes.len());
            return Err(Error::input(what, "save an array of shape (points, coordinates)"));
        }
    };
    let descr = entry(&header, "descr")?;
    let descr = descr.split(['\'', '"']).nth(1).filter(|_| descr.starts_with(['\'', '"'])).unwrap_or("a structure");
    let values = decode(descr, data, rows, columns)?;
    if !fortran || columns == 1 {
        return Ok(Array { rows, columns, values });
    }
    let transposed = (0..rows).flat_map(|row| (0..columns).map(move |column| column * rows + row));
    let values = transposed.filter_map(|at| values.get(at).copied()).collect();
    Ok(Array { rows, columns, values })
}

fn decode(descr: &str, data: &[u8], rows: usize, columns: usize) -> Result<Vec<f64>> {
    let (order, kind) = descr.split_at_checked(1).unwrap_or(("", ""));
    let big = order == ">";
    let unsupported = || {
        let what = format!("arrays of {descr} cannot be read");
        Error::input(what, "save the array as float64, float32 or an integer type: a.astype(float)")
    };
    if !matches!(order, "<" | ">" | "|" | "=") {
        return Err(unsupported());
    }
    let width: usize = match kind {
        "b1" | "i1" | "u1" => 1,
        "i2" | "u2" => 2,
        "f4" | "i4" | "u4" => 4,
        "f8" | "i8" | "u8" => 8,
        _ => return Err(unsupported()),
    };
    let needed = rows.checked_mul(columns).and_then(|cells| cells.checked_mul(width));
    if needed != Some(data.len()) {
        let what = format!("an array of shape ({rows}, {columns}) of {descr} does not have {} bytes", data.len());
        return Err(broken(what));
    }
    let number = |bytes: &[u8]| {
        let mut eight = [0u8; 8];
        for (at, byte) in bytes.iter().enumerate() {
            eight[if big { width - 1 - at } else { at }] = *byte;
        }
        let bits = u64::from_le_bytes(eight);
        match kind {
            "f8" => f64::from_bits(bits),
            "f4" => f64::from(f32::from_bits(bits as u32)),
            "i8" => bits as i64 as f64,
            "i4" => f64::from(bits as u32 as i32),
            "i2" => f64::from(bits as u16 as i16),
            "i1" => f64::from(bits as u8 as i8),
            _ => bits as f64,
        }
    };
    Ok(data.chunks_exact(width).map(number).collect())
}

/// Reads points; `label` is the column of the classes, by number from 1 or as `C1`, `C2`, …. With `missing` a number
/// may be NaN.
pub(crate) fn read(bytes: &[u8], label: Option<Wanted<'_>>, missing: bool) -> Result<Points> {
    let Array { rows, columns, values } = array(bytes)?;
    if values.is_empty() {
        let what = format!("the array has shape ({rows}, {columns}): there are no points");
        return Err(Error::input(what, "save at least one row of one number"));
    }
    let names = default_names(columns);
    if let Some(at) = values.iter().position(|value| !(value.is_finite() || missing && value.is_nan())) {
        let place = Place::default().row(at / columns + 1).column(names[at % columns].as_str());
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
        classes.push(class(cells[label], row, &names[label])?);
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
