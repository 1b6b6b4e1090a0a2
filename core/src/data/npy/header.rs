//! What stands above the numbers of a `.npy`, and how these are written.

use std::ops::Range;

use crate::{Error, Result};

/// What the bits of a number mean.
type Meaning = fn(u64) -> f64;

/// An array of one or two dimensions.
pub(super) struct Header {
    pub(super) rows: usize,
    pub(super) columns: usize,
    /// Columns lie together, not rows.
    turned: bool,
    meaning: Meaning,
    /// Bytes of a number.
    width: usize,
    /// The first of them counts most.
    big: bool,
}

/// Bytes from the start of the file to the length of the header, included.
const BEFORE: usize = 12;

pub(super) fn broken(what: impl Into<String>) -> Error {
    Error::input(what, "write the file again with numpy.save")
}

/// The value of `key` in the header's dictionary, and what follows.
fn entry<'a>(header: &'a str, key: &str) -> Result<&'a str> {
    let quoted = [format!("'{key}'"), format!("\"{key}\"")];
    let after = quoted.iter().find_map(|key| header.split_once(key.as_str())).map(|(_, after)| after);
    let value = after.and_then(|after| after.trim_start().strip_prefix(':'));
    value.map(str::trim_start).ok_or_else(|| broken(format!("the NPY header has no {key}")))
}

/// Where the header ends, by the first bytes of a file.
pub(super) fn end(bytes: &[u8]) -> Result<usize> {
    let rest = bytes.strip_prefix(b"\x93NUMPY").ok_or_else(|| broken("this is not an NPY file"))?;
    let at = bytes.len() - rest.len() + 2;
    match (rest, rest.first()) {
        ([_, _, a, b, ..], Some(1)) => Ok(at + 2 + u16::from_le_bytes([*a, *b]) as usize),
        ([_, _, a, b, c, d, ..], Some(_)) => Ok(at + 4 + u32::from_le_bytes([*a, *b, *c, *d]) as usize),
        _ => Err(cut()),
    }
}

pub(super) fn cut() -> Error {
    broken("the NPY header is cut short")
}

/// The bytes of a number by NumPy's letter and count, and what its bits mean.
fn number(kind: &str) -> Option<(usize, Meaning)> {
    Some(match kind {
        "f8" => (8, f64::from_bits),
        "f4" => (4, |bits| f64::from(f32::from_bits(bits as u32))),
        "i8" => (8, |bits| bits as i64 as f64),
        "i4" => (4, |bits| f64::from(bits as u32 as i32)),
        "i2" => (2, |bits| f64::from(bits as u16 as i16)),
        "i1" => (1, |bits| f64::from(bits as u8 as i8)),
        "u8" => (8, |bits| bits as f64),
        "u4" => (4, |bits| bits as f64),
        "u2" => (2, |bits| bits as f64),
        "u1" | "b1" => (1, |bits| bits as f64),
        _ => return None,
    })
}

impl Header {
    /// Bytes that are enough for [`end`].
    pub(super) const BEFORE: u64 = BEFORE as u64;

    /// The header of a file of `length` bytes that begins with these, which end where it does.
    pub(super) fn parse(bytes: &[u8], length: u64) -> Result<Self> {
        let header = String::from_utf8_lossy(bytes.get(BEFORE - 2..).unwrap_or_default());
        let turned = entry(&header, "fortran_order")?.starts_with("True");
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
        let (order, kind) = descr.split_at_checked(1).unwrap_or(("", ""));
        let Some((width, meaning)) = number(kind).filter(|_| matches!(order, "<" | ">" | "|" | "=")) else {
            let what = format!("arrays of {descr} cannot be read");
            return Err(Error::input(what, "save the array as float64, float32 or an integer type: a.astype(float)"));
        };
        let needed = rows.checked_mul(columns).and_then(|cells| cells.checked_mul(width));
        let there = length.saturating_sub(bytes.len() as u64);
        if needed.and_then(|needed| u64::try_from(needed).ok()) != Some(there) {
            let what = format!("an array of shape ({rows}, {columns}) of {descr} does not have {there} bytes");
            return Err(broken(what));
        }
        Ok(Self { rows, columns, turned: turned && columns > 1, meaning, width, big: order == ">" })
    }

    /// Bytes of a row.
    pub(super) fn row_bytes(&self) -> usize {
        self.columns * self.width
    }

    /// Which bytes below the header have these rows.
    pub(super) fn pieces(&self, of: Range<usize>) -> Vec<Range<u64>> {
        let bytes = |from: usize, to: usize| (from * self.width) as u64..(to * self.width) as u64;
        match self.turned {
            true => (0..self.columns).map(|k| bytes(k * self.rows + of.start, k * self.rows + of.end)).collect(),
            false => vec![bytes(of.start * self.columns, of.end * self.columns)],
        }
    }

    /// The numbers of `rows` rows, row-major, from what their [`pieces`](Self::pieces) have.
    pub(super) fn numbers(&self, bytes: &[u8], rows: usize) -> Vec<f64> {
        let number = |bytes: &[u8]| {
            let mut eight = [0u8; 8];
            for (at, byte) in bytes.iter().enumerate() {
                eight[if self.big { self.width - 1 - at } else { at }] = *byte;
            }
            (self.meaning)(u64::from_le_bytes(eight))
        };
        let numbers: Vec<f64> = bytes.chunks_exact(self.width).map(number).collect();
        if !self.turned {
            return numbers;
        }
        let turned = (0..rows).flat_map(|row| (0..self.columns).map(move |column| column * rows + row));
        turned.filter_map(|at| numbers.get(at).copied()).collect()
    }
}
