//! Numbers in a checkpoint as the bits they are: 16 hexadecimal digits each.

use serde::{Deserialize, Deserializer, Serializer, de::Error};

/// A vector as one string.
pub(crate) fn serialize<S: Serializer>(values: &[f64], serializer: S) -> Result<S::Ok, S::Error> {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = String::with_capacity(16 * values.len());
    for value in values {
        let bits = value.to_bits();
        text.extend((0..16).rev().map(|at| char::from(DIGITS[(bits >> (4 * at)) as usize & 15])));
    }
    serializer.serialize_str(&text)
}

/// A vector from [`serialize`]'s string.
pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<f64>, D::Error> {
    let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
    let (chunks, rest) = text.as_bytes().as_chunks::<16>();
    if !rest.is_empty() {
        return Err(D::Error::custom("a number is cut short"));
    }
    let number = |digits: &[u8; 16]| {
        digits
            .iter()
            .try_fold(0u64, |bits, &digit| char::from(digit).to_digit(16).map(|digit| bits << 4 | u64::from(digit)))
    };
    let numbers = chunks.iter().map(|digits| number(digits).map(f64::from_bits)).collect::<Option<_>>();
    numbers.ok_or_else(|| D::Error::custom("a number has a digit that is none"))
}

/// A single number.
pub(crate) mod one {
    use super::{Deserializer, Error, Serializer};

    pub(crate) fn serialize<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        super::serialize(&[*value], serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        match super::deserialize(deserializer)?[..] {
            [value] => Ok(value),
            _ => Err(D::Error::custom("one number was expected")),
        }
    }
}

/// A single number, or none.
pub(crate) mod maybe {
    use super::{Deserializer, Error, Serializer};

    pub(crate) fn serialize<S: Serializer>(value: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
        super::serialize(value.as_slice(), serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
        match super::deserialize(deserializer)?[..] {
            [] => Ok(None),
            [value] => Ok(Some(value)),
            _ => Err(D::Error::custom("one number was expected")),
        }
    }
}
