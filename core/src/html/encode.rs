//! Binary data in the text of a page.

use base64::{Engine, engine::general_purpose::STANDARD};

/// Base64 of numbers as little-endian f32.
pub fn floats(values: impl Iterator<Item = f64>) -> String {
    bytes(values.flat_map(|value| (value as f32).to_le_bytes()))
}

/// Base64 of numbers as little-endian u16; larger ones become the largest.
pub fn unsigned(values: impl Iterator<Item = u64>) -> String {
    bytes(values.flat_map(|value| u16::try_from(value).unwrap_or(u16::MAX).to_le_bytes()))
}

/// Base64 of numbers as little-endian i16; those out of range become the nearest.
pub fn signed(values: impl Iterator<Item = i64>) -> String {
    bytes(values.flat_map(|value| (value.clamp(i16::MIN.into(), i16::MAX.into()) as i16).to_le_bytes()))
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

fn bytes(values: impl Iterator<Item = u8>) -> String {
    STANDARD.encode(values.collect::<Vec<u8>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_little_endian() {
        assert_eq!(floats([1.0, -2.0].into_iter()), "AACAPwAAAMA=");
        assert_eq!(unsigned([1, 258, 70_000].into_iter()), "AQACAf//");
        assert_eq!(signed([-1, 3, 1 << 40].into_iter()), "//8DAP9/");
        assert_eq!(fractions([0.0, 0.5, 1.0, 7.0].into_iter()), "AID//w==");
        assert_eq!(bits(&[true, false, true, false, false, false, false, false, false, true]), "BQI=");
        assert_eq!(bits(&[]), "");
    }
}
