//! Floats that may be infinite or NaN in JSON, for `#[serde(with = "…")]`.
//!
//! JSON lacks these values; they are written as the strings `infinity`, `-infinity` and `nan`.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Form {
    Finite(f64),
    Word(String),
}

impl Form {
    fn of(value: f64) -> Self {
        match value {
            value if value.is_finite() => Self::Finite(value),
            value if value.is_nan() => Self::Word("nan".into()),
            value if value > 0.0 => Self::Word("infinity".into()),
            _ => Self::Word("-infinity".into()),
        }
    }

    fn value<E: Error>(self) -> Result<f64, E> {
        match self {
            Self::Finite(value) => Ok(value),
            Self::Word(word) => match word.as_str() {
                "nan" => Ok(f64::NAN),
                "infinity" => Ok(f64::INFINITY),
                "-infinity" => Ok(f64::NEG_INFINITY),
                _ => Err(E::custom("expected a number")),
            },
        }
    }
}

/// Writes a number.
pub fn serialize<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    Form::of(*value).serialize(serializer)
}

/// Reads what [`serialize`] wrote.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Form::deserialize(deserializer)?.value()
}

/// Optional floats; `null` if absent.
pub mod option {
    use super::{Deserialize, Deserializer, Form, Serialize, Serializer};

    /// Writes a number or `null`.
    pub fn serialize<S: Serializer>(value: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
        value.map(Form::of).serialize(serializer)
    }

    /// Reads what [`serialize`] wrote.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
        Option::<Form>::deserialize(deserializer)?.map(Form::value).transpose()
    }
}
