//! Binary data in the text of a page.

use std::fmt::Display;

use base64::{Engine, engine::general_purpose::STANDARD};
use serde::Serialize;

use crate::error::{Error, Result};

/// Base64 of numbers as little-endian f32.
pub fn floats(values: impl Iterator<Item = f64>) -> String {
    bytes(values.flat_map(|value| (value as f32).to_le_bytes()))
}

/// Numbers in a unit in which the largest is 1, so that those beyond the range of f32 keep their ratios.
#[derive(Debug, Clone, Serialize)]
pub struct Scaled {
    /// The largest magnitude; 1 if there is no number above 0.
    pub unit: f64,
    /// The numbers in this unit, as [`floats`].
    pub values: String,
}

/// Numbers as [`Scaled`].
pub fn scaled(values: impl Iterator<Item = f64> + Clone) -> Scaled {
    let largest = values.clone().map(f64::abs).filter(|value| value.is_finite()).fold(0.0, f64::max);
    let unit = if largest > 0.0 { largest } else { 1.0 };
    Scaled { unit, values: floats(values.map(|value| value / unit)) }
}

/// Base64 of indices as little-endian u32.
///
/// # Errors
///
/// [`Error::Input`] for an index of 2³² or more.
pub fn indices(values: impl Iterator<Item = u64>) -> Result<String> {
    let word = |value| u32::try_from(value).map(u32::to_le_bytes).map_err(|_| too_large(value));
    Ok(STANDARD.encode(values.map(word).collect::<Result<Vec<_>>>()?.concat()))
}

/// Base64 of labels as little-endian i32.
///
/// # Errors
///
/// [`Error::Input`] for a label that does not fit.
pub fn labels(values: impl Iterator<Item = i64>) -> Result<String> {
    let word = |value| i32::try_from(value).map(i32::to_le_bytes).map_err(|_| too_large(value));
    Ok(STANDARD.encode(values.map(word).collect::<Result<Vec<_>>>()?.concat()))
}

fn too_large(value: impl Display) -> Error {
    Error::input(format!("{value} is too large for an interactive report"), "leave out the interactive report")
}

/// Base64 of fractions from 0 to 1 in steps of 1/255.
pub fn fractions(values: impl Iterator<Item = f64>) -> String {
    bytes(values.map(|value| (255.0 * value.clamp(0.0, 1.0)).round() as u8))
}

/// Base64 of bits, the first of each eight in the lowest bit of a byte.
pub fn bits(values: &[bool]) -> String {
    let byte = |eight: &[bool]| eight.iter().rev().fold(0, |byte, &bit| byte << 1 | u8::from(bit));
    bytes(values.chunks(8).map(byte))
}

/// Base64 of bytes.
pub fn bytes(values: impl Iterator<Item = u8>) -> String {
    STANDARD.encode(values.collect::<Vec<u8>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_little_endian() {
        assert_eq!(floats([1.0, -2.0].into_iter()), "AACAPwAAAMA=");
        assert_eq!(indices([1, 258].into_iter()).unwrap(), "AQAAAAIBAAA=");
        assert_eq!(labels([-1, 3].into_iter()).unwrap(), "/////wMAAAA=");
        assert!(indices([1 << 32].into_iter()).is_err() && labels([1 << 31].into_iter()).is_err());
        assert_eq!(fractions([0.0, 0.5, 1.0, 7.0].into_iter()), "AID//w==");
        assert_eq!(bits(&[true, false, true, false, false, false, false, false, false, true]), "BQI=");
        assert_eq!(bits(&[]), "");
        let Scaled { unit, values } = scaled([1e300, -2e300, f64::NAN].into_iter());
        assert_eq!((unit, values), (2e300, floats([0.5, -1.0, f64::NAN].into_iter())));
        assert_eq!(scaled([0.0].into_iter()).unit, 1.0);
    }
}
