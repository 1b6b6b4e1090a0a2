//! Points and labels from arrays.

use std::ops::Range;

use super::header::{self, Header};
use super::invalid::{no_points, truncated};
use crate::data::points::{CLASSES, FINITE, Points, default_names};
use crate::error::{Error, Place, Result};
use crate::io::label_column::LabelColumn;
use crate::io::labels::check_count;
use crate::memory;

/// Splits a file into its header and the bytes of its numbers.
fn array(bytes: &[u8]) -> Result<(Header, &[u8])> {
    let dictionary = header::dictionary_range(bytes)?;
    let text = bytes.get(dictionary.clone()).ok_or_else(truncated)?;
    let header = Header::parse(text, dictionary.end, bytes.len() as u64)?;
    Ok((header, &bytes[dictionary.end..]))
}

/// Reads points; `label` is the column of the labels, by number from 1 or as `C1`, `C2`, …. With `missing`, numbers may be
/// NaN.
pub(crate) fn read(bytes: &[u8], label: Option<LabelColumn<'_>>, missing: bool) -> Result<Points> {
    let (header, numbers) = array(bytes)?;
    if numbers.is_empty() {
        return Err(no_points(header.rows, header.columns));
    }
    points(&header, numbers, 0..header.rows, label, missing)
}

/// Decodes the points of the rows `of` from their [pieces](Header::pieces).
pub(super) fn points(
    header: &Header,
    pieces: &[u8],
    of: Range<usize>,
    label: Option<LabelColumn<'_>>,
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

/// Reads the labels of `points` points.
pub(crate) fn read_labels(bytes: &[u8], points: usize) -> Result<Vec<i64>> {
    let (header, numbers) = array(bytes)?;
    let (rows, columns) = (header.rows, header.columns);
    if columns != 1 && rows != 1 {
        let what = format!("the array of labels has shape ({rows}, {columns})");
        return Err(Error::input(what, "save one label a point, in an array of one dimension"));
    }
    check_count(rows * columns, points)?;
    let mut classes = memory::with_capacity(points, CLASSES)?;
    for at in 0..points {
        let (row, column) = (at / columns, at % columns);
        classes.push(header.label(numbers, rows, [0, row], column, &format!("C{}", column + 1))?);
    }
    Ok(classes)
}
