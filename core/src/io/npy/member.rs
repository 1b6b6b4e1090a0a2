//! The arrays of an archive: numbers in one dimension, and one text.

use super::dictionary;
use super::header::{Header, dictionary_range};
use super::invalid::{broken, truncated};
use crate::error::{Error, Result};

/// The header of an array of one dimension.
fn header(bytes: &[u8]) -> Result<Header> {
    let header = Header::parse(bytes, bytes.len() as u64)?;
    if header.columns != 1 {
        let what = format!("the array has shape ({}, {}) instead of one dimension", header.rows, header.columns);
        return Err(Error::input(what, "save an array of one dimension"));
    }
    Ok(header)
}

/// Reads real or whole numbers, or booleans.
pub(crate) fn read_reals(bytes: &[u8]) -> Result<Vec<f64>> {
    let header = header(bytes)?;
    header.numbers(&bytes[header.end..], header.rows, &(0..header.columns).collect::<Vec<_>>())
}

/// Reads whole numbers. Fails on those that do not fit into `T`.
pub(crate) fn read_indices<T: TryFrom<i64>>(bytes: &[u8]) -> Result<Vec<T>> {
    let header = header(bytes)?;
    header.integers(&bytes[header.end..])
}

/// Reads an ASCII text, a scalar of bytes or of Unicode.
pub(crate) fn read_text(bytes: &[u8]) -> Result<String> {
    let range = dictionary_range(bytes)?;
    let end = range.end;
    let dictionary = dictionary::parse(bytes.get(range).ok_or_else(truncated)?)?;
    let kind = dictionary.descr.as_deref().and_then(|descr| descr.get(1..2));
    if !dictionary.shape.is_empty() || !matches!(kind, Some("S" | "U")) {
        return Err(broken("the array is not one text"));
    }
    // Letters of Unicode have four bytes, of which those of ASCII use one.
    let letters = bytes[end..].iter().filter(|&&byte| byte != 0);
    Ok(letters.take(40).copied().flat_map(std::ascii::escape_default).map(char::from).collect())
}
