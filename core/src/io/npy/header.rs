//! Header of a `.npy`, and access to its numbers.

use std::ops::Range;

use rayon::prelude::*;

use super::dictionary::{self, Dictionary};
use super::invalid::{broken, truncated};
use crate::data::points::POINTS;
use crate::data::table::Cell;
use crate::error::{Error, Place, Result};
use crate::io::number::whole_f64;
use crate::memory;

/// Element type of an array.
#[derive(Clone, Copy)]
struct Kind {
    /// Bytes per number.
    width: usize,
    /// Converts bits to the nearest f64.
    real: fn(u64) -> f64,
    /// Converts bits to a whole number; `None` if that is not exact.
    whole: fn(u64) -> Option<i64>,
    /// Largest valid bits: 1 for booleans.
    largest: u64,
}

/// An array of one or two dimensions.
pub(super) struct Header {
    /// Offset of the numbers in the file.
    pub(super) end: usize,
    pub(super) rows: usize,
    pub(super) columns: usize,
    /// True for Fortran order.
    column_major: bool,
    kind: Kind,
    /// True for big-endian numbers.
    big_endian: bool,
}

/// Maximum length of the preamble: magic, version and length of the dictionary.
const PREAMBLE: usize = 12;
/// Maximum length of a dictionary that NumPy reads.
const MAX_DICTIONARY: usize = 10_000;

/// Range of the dictionary, from the first bytes of a file.
pub(super) fn dictionary_range(bytes: &[u8]) -> Result<Range<usize>> {
    let rest = bytes.strip_prefix(b"\x93NUMPY").ok_or_else(|| broken("this is not an NPY file"))?;
    let (start, length) = match *rest {
        [1, 0, a, b, ..] => (10, u32::from(u16::from_le_bytes([a, b]))),
        [2 | 3, 0, a, b, c, d, ..] => (PREAMBLE, u32::from_le_bytes([a, b, c, d])),
        [] | [1..=3] | [1..=3, 0, ..] => return Err(truncated()),
        [major, ref rest @ ..] => {
            let what = match rest.first() {
                Some(minor) => format!("version {major}.{minor} of the NPY format is not known"),
                None => format!("version {major} of the NPY format is not known"),
            };
            return Err(Error::input(what, "save the array with numpy.save, in version 1.0, 2.0 or 3.0"));
        }
    };
    let length = length as usize;
    if length > MAX_DICTIONARY {
        return Err(broken(format!("the NPY header has {length} bytes, more than {MAX_DICTIONARY}")));
    }
    Ok(start..start + length)
}

/// The element type by NumPy's letter and size.
fn kind(name: &str) -> Option<Kind> {
    macro_rules! integer {
        ($type:ty, $largest:expr) => {
            Kind {
                width: size_of::<$type>(),
                real: |bits| bits as $type as f64,
                whole: |bits| i64::try_from(i128::from(bits as $type)).ok(),
                largest: $largest,
            }
        };
    }
    let real = |width, real, whole| Kind { width, real, whole, largest: u64::MAX };
    Some(match name {
        "f8" => real(8, f64::from_bits, |bits| whole_f64(f64::from_bits(bits))),
        "f4" => real(4, single, |bits| whole_f64(single(bits))),
        "i8" => integer!(i64, u64::MAX),
        "i4" => integer!(i32, u64::MAX),
        "i2" => integer!(i16, u64::MAX),
        "i1" => integer!(i8, u64::MAX),
        "u8" => integer!(u64, u64::MAX),
        "u4" => integer!(u32, u64::MAX),
        "u2" => integer!(u16, u64::MAX),
        "u1" => integer!(u8, u64::MAX),
        "b1" => integer!(u8, 1),
        _ => return None,
    })
}

/// The number whose bits as f32 are the lower half.
fn single(bits: u64) -> f64 {
    f32::from_bits(bits as u32).into()
}

impl Header {
    /// Maximum length.
    pub(super) const MAX: usize = PREAMBLE + MAX_DICTIONARY;

    /// Parses the header of a file of `length` bytes from its first [`MAX`](Self::MAX) bytes, or more.
    pub(super) fn parse(start: &[u8], length: u64) -> Result<Self> {
        let text = dictionary_range(start)?;
        let end = text.end;
        let Dictionary { descr, fortran_order, shape } = dictionary::parse(start.get(text).ok_or_else(truncated)?)?;
        let (rows, columns) = match shape[..] {
            [rows] => (rows, 1),
            [rows, columns] => (rows, columns),
            _ => {
                let what = format!("the array has {} dimensions", shape.len());
                return Err(Error::input(what, "save an array of shape (points, coordinates)"));
            }
        };
        let descr = descr.as_deref().unwrap_or("a structure");
        let (order, name) = descr.split_at_checked(1).unwrap_or(("", ""));
        let Some(kind) = kind(name).filter(|_| matches!(order, "<" | ">" | "|" | "=")) else {
            let what = format!("arrays of {descr} cannot be read");
            return Err(Error::input(what, "save the array as float64, float32 or an integer type: a.astype(float)"));
        };
        let needed = rows.checked_mul(columns).and_then(|cells| cells.checked_mul(kind.width));
        let there = length.saturating_sub(end as u64);
        if needed.and_then(|needed| u64::try_from(needed).ok()) != Some(there) {
            let what = format!("an array of shape ({rows}, {columns}) of {descr} does not have {there} bytes");
            return Err(broken(what));
        }
        let column_major = fortran_order && columns > 1;
        Ok(Self { end, rows, columns, column_major, kind, big_endian: order == ">" })
    }

    /// Bytes per row.
    pub(super) fn row_bytes(&self) -> usize {
        self.columns * self.kind.width
    }

    /// Byte ranges of these rows, relative to the end of the header.
    pub(super) fn pieces(&self, of: Range<usize>) -> Vec<Range<u64>> {
        let bytes = |from: usize, to: usize| (from * self.kind.width) as u64..(to * self.kind.width) as u64;
        match self.column_major {
            true => (0..self.columns).map(|k| bytes(k * self.rows + of.start, k * self.rows + of.end)).collect(),
            false => vec![bytes(of.start * self.columns, of.end * self.columns)],
        }
    }

    /// Bits of a number in the concatenated [`pieces`](Self::pieces) of `rows` rows.
    fn bits(&self, pieces: &[u8], rows: usize, row: usize, column: usize) -> u64 {
        let at = if self.column_major { column * rows + row } else { row * self.columns + column };
        let width = self.kind.width;
        let mut eight = [0u8; 8];
        for (at, byte) in pieces.iter().skip(at * width).take(width).enumerate() {
            eight[if self.big_endian { width - 1 - at } else { at }] = *byte;
        }
        u64::from_le_bytes(eight)
    }

    /// Decodes `rows` rows from their [`pieces`](Self::pieces), row-major, the columns at these indices.
    ///
    /// Fails on booleans that are neither 0 nor 1, and if there is not enough memory.
    pub(super) fn numbers(&self, pieces: &[u8], rows: usize, columns: &[usize]) -> Result<Vec<f64>> {
        let width = columns.len();
        let mut numbers = memory::with_capacity(rows.saturating_mul(width), POINTS)?;
        let number = |at: usize| (self.kind.real)(self.bits(pieces, rows, at / width, columns[at % width]));
        (0..rows * width).into_par_iter().map(number).collect_into_vec(&mut numbers);
        if self.kind.largest == 1 && numbers.iter().any(|number| *number > 1.0) {
            return Err(broken("the array of booleans has bytes that are neither 0 nor 1"));
        }
        Ok(numbers)
    }

    /// A number as text; integers are exact.
    pub(super) fn text(&self, pieces: &[u8], rows: usize, row: usize, column: usize) -> String {
        let bits = self.bits(pieces, rows, row, column);
        // Bits 1 are whole for integer types only: as a float they are subnormal.
        let is_integer = (self.kind.whole)(1).is_some();
        let whole = (self.kind.whole)(bits).filter(|_| is_integer);
        whole.map_or_else(|| Cell::Float((self.kind.real)(bits)).to_string(), |whole| whole.to_string())
    }

    /// Decodes an array of integers. Fails on any other type, on numbers that do not fit into `T`, and if there is not
    /// enough memory.
    pub(super) fn integers<T: TryFrom<i64>>(&self, numbers: &[u8]) -> Result<Vec<T>> {
        // Bits 1 are whole for integer types only: as a float they are subnormal.
        if (self.kind.whole)(1).is_none() || self.kind.largest == 1 {
            return Err(Error::input("the array is not of an integer type", "save it as int32 or int64"));
        }
        let mut integers = memory::with_capacity(self.rows, "the indices")?;
        for row in 0..self.rows {
            let bits = self.bits(numbers, self.rows, row, 0);
            let Some(integer) = (self.kind.whole)(bits).and_then(|whole| T::try_from(whole).ok()) else {
                let what = format!("number {} is {}, which is not an index", row + 1, (self.kind.real)(bits));
                return Err(Error::input(what, "indices are whole numbers from 0, and below 2³² for columns"));
            };
            integers.push(integer);
        }
        Ok(integers)
    }

    /// Decodes a label. Fails, naming row `first + row` of the file, if it is not whole or too large to be exact.
    pub(super) fn label(
        &self,
        pieces: &[u8],
        rows: usize,
        [first, row]: [usize; 2],
        column: usize,
        name: &str,
    ) -> Result<i64> {
        let bits = self.bits(pieces, rows, row, column);
        (self.kind.whole)(bits).filter(|_| bits <= self.kind.largest).ok_or_else(|| {
            let value = (self.kind.real)(bits);
            // Bits 1 are whole for integer types only: as a float they are subnormal.
            let shown = if (self.kind.whole)(1).is_some() { bits.to_string() } else { value.to_string() };
            let what = match value.fract() {
                0.0 => format!("the label {shown} is too large to be kept exactly"),
                _ => format!("the label {shown} is not a whole number"),
            };
            let place = Place::default().row(first + row + 1).column(name);
            Error::input_at(place, what, "labels are whole numbers: of an integer type, or below 2⁵³")
        })
    }
}
