//! Points and labels from arrays, whole or in parts.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::Path;

use super::header::Header;
use super::invalid::{broken, empty, no_points};
use crate::data::kept::Kept;
use crate::data::points::{CLASSES, FINITE, POINTS, Points, default_names};
use crate::error::{Error, Place, Result};
use crate::io::columns::{Columns, MissingNumbers, Roles};
use crate::io::labels::check_count;
use crate::io::number::MISSING;
use crate::io::parsed::Parsed;
use crate::memory::{self, unread};

/// Reads points, and their weights if a column holds these. The columns are called `C1`, `C2`, ….
pub(crate) fn read(bytes: &[u8], columns: Columns<'_>) -> Result<Parsed> {
    let header = Header::parse(bytes, bytes.len() as u64)?;
    if header.rows * header.columns == 0 {
        return Err(no_points(header.rows, header.columns));
    }
    points(&header, &bytes[header.end..], 0..header.rows, columns)
}

/// Decodes the points of the rows `of`, and their weights, from their [pieces](Header::pieces).
fn points(header: &Header, pieces: &[u8], of: Range<usize>, columns: Columns<'_>) -> Result<Parsed> {
    let (rows, first) = (of.len(), of.start);
    let all = default_names(header.columns)?;
    let Roles { label, weight, coordinates, targets, kept: to_keep, .. } = columns.find(&all, &|_| true)?;
    if coordinates.len() == targets {
        let labels_only = label.is_some() && header.columns == 1;
        let what = if labels_only { "the only column is the labels" } else { "there is no column of coordinates" };
        return Err(Error::input(what, "give at least one column of coordinates"));
    }
    let mut labels = None;
    if let Some(column) = label {
        let mut classes = memory::with_capacity(rows, CLASSES)?;
        for row in 0..rows {
            classes.push(header.label(pieces, rows, [first, row], column, &all[column])?);
        }
        labels = Some(classes);
    }
    let sources: Vec<usize> = coordinates.into_iter().chain(weight).collect();
    let names: Vec<String> = sources.iter().map(|&at| all[at].clone()).collect();
    let (mut values, missing, columns) = (header.numbers(pieces, rows, &sources)?, columns.missing, names.len());
    if missing == MissingNumbers::OrInfinite {
        values.iter_mut().filter(|value| **value == f64::INFINITY).for_each(|value| *value = f64::NAN);
    }
    let accepted = |value: f64| value.is_finite() || value.is_nan() && missing.are_accepted();
    if let Some(at) = values.iter().position(|&value| !accepted(value)) {
        let place = Place::default().row(first + at / columns + 1).column(names[at % columns].as_str());
        let help = match missing {
            MissingNumbers::Advised if values[at].is_nan() => MISSING,
            _ => FINITE,
        };
        return Err(Error::input_at(place, format!("{} is not a finite number", values[at]), help));
    }
    let mut kept = Kept::new(to_keep.iter().map(|&at| all[at].clone()).collect());
    for row in 0..rows {
        to_keep.iter().enumerate().try_for_each(|(k, &at)| kept.push(k, header.text(pieces, rows, row, at)))?;
    }
    let label_column = label.map(|at| all[at].clone());
    let points = Points { values, rows, columns, names, labels, label_names: None, label_column };
    Ok(Parsed { targets, kept, ..Parsed::new(points, weight.map(|_| columns - 1), None)? })
}

/// Reads the labels of `points` points.
pub(crate) fn read_labels(bytes: &[u8], points: usize) -> Result<Vec<i64>> {
    let header = Header::parse(bytes, bytes.len() as u64)?;
    let (rows, columns) = (header.rows, header.columns);
    if columns != 1 && rows != 1 {
        let what = format!("the array of labels has shape ({rows}, {columns})");
        return Err(Error::input(what, "save one label a point, in an array of one dimension"));
    }
    check_count(rows * columns, points)?;
    let mut classes = memory::with_capacity(points, CLASSES)?;
    for at in 0..points {
        let (row, column) = (at / columns, at % columns);
        classes.push(header.label(&bytes[header.end..], rows, [0, row], column, &format!("C{}", column + 1))?);
    }
    Ok(classes)
}

/// An open file whose rows are read on demand.
pub(crate) struct Rows {
    file: File,
    header: Header,
}

impl Rows {
    /// Opens a file and reads its header. Fails unless the length of the file matches.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let failed = |source| unread(source, path, 0);
        let mut file = File::open(path).map_err(failed)?;
        let length = file.metadata().map_err(failed)?.len();
        if length == 0 {
            return Err(empty());
        }
        let mut start = Vec::new();
        file.by_ref().take(Header::MAX as u64).read_to_end(&mut start).map_err(failed)?;
        let header = Header::parse(&start, length)?;
        if header.rows * header.columns == 0 {
            return Err(no_points(header.rows, header.columns));
        }
        Ok(Self { file, header })
    }

    /// Number of rows.
    pub(crate) fn count(&self) -> usize {
        self.header.rows
    }

    /// Bytes per row.
    pub(crate) fn row_bytes(&self) -> usize {
        self.header.row_bytes()
    }

    /// Reads the points of these rows, which may be empty, as [`read`] does, without weights, and the columns to keep.
    pub(crate) fn read(&mut self, path: &Path, of: Range<usize>, columns: Columns<'_>) -> Result<Parsed> {
        let failed = |source| unread(source, path, 0);
        let mut bytes = memory::with_capacity(of.len() * self.row_bytes(), POINTS)?;
        for piece in self.header.pieces(of.clone()) {
            self.file.seek(SeekFrom::Start(self.header.end as u64 + piece.start)).map_err(failed)?;
            let wanted = piece.end - piece.start;
            if self.file.by_ref().take(wanted).read_to_end(&mut bytes).map_err(failed)? as u64 != wanted {
                return Err(broken("the file became shorter while it was read"));
            }
        }
        points(&self.header, &bytes, of, columns)
    }
}
