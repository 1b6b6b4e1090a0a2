//! Model files: safetensors of 64-bit floats; everything else is JSON with a version and a checksum.
//!
//! The metadata have one entry, `firebox`: `{"checksum": "…", "format": "firebox NAME VERSION", "model": {…}}`. The
//! checksum is the CRC-32 of the entry's text after it, and of each tensor's name, shape and bytes in the order of the
//! names.
//!
//! ```
//! use firebox_core::model_file::{ModelArrays, decode, encode, format_of};
//!
//! let mut arrays = ModelArrays::default();
//! arrays.put("points", &[2, 1], vec![0.5, 1.5]);
//! let bytes = encode("toy", 1, &"description", arrays)?;
//! assert_eq!(format_of(&bytes)?, "firebox toy 1");
//! let (description, mut arrays) = decode::<String>(&bytes, "toy", 1)?;
//! assert_eq!((description.as_str(), arrays.take("points", &[2, 1])?), ("description", vec![0.5, 1.5]));
//! # Ok::<(), firebox_core::Error>(())
//! ```

use std::{collections::BTreeMap, fmt::Display, fs::File, io::Read, path::Path};

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::arrays::{self, Array, one_line};
use crate::error::{Error, Result, shown};

/// Start of the entry, before the 8 digits of the checksum.
const CHECKSUM: &str = "{\"checksum\":\"";
/// Number of digits of the checksum.
const DIGITS: usize = 8;

/// Size in bytes of the length of the description of safetensors.
const LENGTH: u64 = 8;
/// Start of a [state](crate::checkpoint).
const STATE: &[u8] = b"\x89FBXST";
/// Largest length of a description, that of the safetensors library.
const MAX_DESCRIPTION: u64 = 100_000_000;

/// The entry after the checksum.
#[derive(Serialize, Deserialize)]
struct Entry<T> {
    format: String,
    model: T,
}

/// The part of an entry that is the same in all versions.
#[derive(Deserialize)]
struct Versioned {
    format: String,
}

/// The named arrays of a model. Writing adds arrays by [`put`](Self::put); reading removes them by [`take`](Self::take),
/// so that [`finish`](Self::finish) detects unknown ones.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ModelArrays(BTreeMap<String, Array>);

impl ModelArrays {
    /// Adds an array, row-major.
    pub fn put(&mut self, name: &str, shape: &[usize], values: impl Into<Vec<f64>>) {
        let values = values.into();
        debug_assert_eq!(shape.iter().product::<usize>(), values.len());
        self.0.insert(name.into(), Array { shape: shape.to_vec(), values });
    }

    /// The shape of an array; fails if it is missing.
    pub fn shape(&self, name: &str) -> Result<&[usize]> {
        let array = self.0.get(name).ok_or_else(|| bad(format!("it has no tensor {name}")))?;
        Ok(&array.shape)
    }

    /// Removes an array and returns its numbers. Fails if it is missing, if its shape is not `shape`, or if a number is
    /// not finite.
    pub fn take(&mut self, name: &str, shape: &[usize]) -> Result<Vec<f64>> {
        let found = self.shape(name)?;
        if found != shape {
            return Err(bad(format!("its tensor {name} has shape {found:?} instead of {shape:?}")));
        }
        let values = self.0.remove(name).map(|array| array.values).unwrap_or_default();
        match values.iter().find(|value| !value.is_finite()) {
            Some(value) => Err(bad(format!("its tensor {name} contains {value}"))),
            None => Ok(values),
        }
    }

    /// [`take`](Self::take) of whole numbers below `end`.
    pub fn take_whole(&mut self, name: &str, shape: &[usize], end: u64) -> Result<Vec<u64>> {
        let whole = |value: f64| (value >= 0.0 && value.fract() == 0.0 && value < end as f64).then_some(value as u64);
        let values: Option<Vec<u64>> = self.take(name, shape)?.into_iter().map(whole).collect();
        values.ok_or_else(|| bad(format!("its tensor {name} has numbers that are not whole ones from 0 below {end}")))
    }

    /// Fails if arrays are left, which are unknown to the algorithm.
    pub fn finish(self) -> Result<()> {
        match self.0.first_key_value() {
            Some((name, _)) => Err(bad(format!("its tensor {} is unknown", shown(name)))),
            None => Ok(()),
        }
    }

    /// The checksum of the arrays and the text that follows it.
    fn checksum(&self, text: &str) -> String {
        let mut checksum = Checksum::of(text);
        self.0.iter().for_each(|(name, array)| checksum.add(name, &array.shape, &array.bytes()));
        checksum.digits()
    }
}

/// The CRC-32 of a model: of its description, then of each array's name, shape and bytes.
pub struct Checksum(crc32fast::Hasher);

impl Checksum {
    /// Starts with the description.
    pub fn of(description: &str) -> Self {
        let mut checksum = crc32fast::Hasher::new();
        checksum.update(description.as_bytes());
        Self(checksum)
    }

    /// Adds an array.
    pub fn add(&mut self, name: &str, shape: &[usize], bytes: &[u8]) {
        self.0.update(name.as_bytes());
        shape.iter().for_each(|size| self.0.update(&(*size as u64).to_le_bytes()));
        self.0.update(bytes);
    }

    /// Returns the checksum as 8 hexadecimal digits.
    pub fn digits(self) -> String {
        format!("{:08x}", self.0.finalize())
    }
}

/// The error for a model with a checksum that does not match.
pub fn damaged() -> Error {
    Error::input("this model is damaged: its checksum does not match", "copy it again, or fit it again")
}

/// Encodes a model of `algorithm` in the format's `version`; `description` is everything but arrays.
///
/// # Errors
/// If the description cannot be written as JSON.
pub fn encode(algorithm: &str, version: u32, description: &impl Serialize, arrays: ModelArrays) -> Result<Vec<u8>> {
    let unwritable = |error: &dyn Display| Error::input(format!("the model cannot be encoded: {error}"), "");
    let entry = Entry { format: format!("firebox {algorithm} {version}"), model: description };
    let text = serde_json::to_string(&entry).map_err(|error| unwritable(&error))?;
    // The text begins with a brace, which the checksum precedes.
    let rest = format!("\",{}", text.strip_prefix('{').unwrap_or_default());
    let text = format!("{CHECKSUM}{}{rest}", arrays.checksum(&rest));
    arrays::encode(&arrays.0, text).map_err(|error| unwritable(&error))
}

/// Decodes a model that [`encode`] wrote.
///
/// # Errors
/// For a model of another algorithm or version, a checksum that does not match, and for any other content.
pub fn decode<T: DeserializeOwned>(bytes: &[u8], algorithm: &str, version: u32) -> Result<(T, ModelArrays)> {
    let format = format_of(bytes)?;
    let expected = format!("firebox {algorithm} {version}");
    if format != expected {
        let Some(found) = format.strip_prefix(&format!("firebox {algorithm} ")) else {
            return Err(bad(format!("its format is {}, not {expected}", shown(&format))));
        };
        let what = format!("this model is of version {}; this program reads version {version}", shown(found));
        return Err(Error::input(what, "fit it again, or use the version of Firebox that wrote it"));
    }
    let (text, arrays) = arrays::decode(bytes).map_err(bad)?;
    let arrays = ModelArrays(arrays);
    let sealed = text.strip_prefix(CHECKSUM).and_then(|text| text.split_at_checked(DIGITS));
    let (digits, rest) = sealed.ok_or_else(|| bad("it has no checksum"))?;
    if digits != arrays.checksum(rest) {
        return Err(damaged());
    }
    let entry: Entry<T> = serde_json::from_str(&text).map_err(|error| bad(one_line(&error)))?;
    Ok((entry.model, arrays))
}

/// The format that a model file names, such as `firebox ocnn 1`, of models in safetensors or JSON.
///
/// # Errors
/// If the bytes are not a model of Firebox.
pub fn format_of(bytes: &[u8]) -> Result<String> {
    if bytes.starts_with(STATE) {
        let what = "this is the state of an interrupted run, not a model";
        return Err(Error::input(what, "give a file that `model` wrote"));
    }
    if bytes.first() == Some(&b'{') {
        let versioned: Versioned = serde_json::from_slice(bytes).map_err(|error| bad(one_line(&error)))?;
        return Ok(versioned.format);
    }
    let entry = arrays::entry(bytes).map_err(bad)?;
    if !entry.starts_with('{') {
        return Ok(entry);
    }
    let versioned: Versioned = serde_json::from_str(&entry).map_err(|error| bad(one_line(&error)))?;
    Ok(versioned.format)
}

/// The format of the model in a file, of which no more is read than that needs.
///
/// # Errors
/// As [`format_of`], and if the file cannot be read.
pub fn format_in(path: &Path) -> Result<String> {
    let failed = |source| Error::Io { action: "read", path: path.into(), source };
    let mut file = File::open(path).map_err(failed)?;
    let mut start = Vec::new();
    (&mut file).take(LENGTH).read_to_end(&mut start).map_err(failed)?;
    let length = match <[u8; 8]>::try_from(&start[..]) {
        _ if start.first() == Some(&b'{') => u64::MAX,
        Ok(length) => u64::from_le_bytes(length).min(MAX_DESCRIPTION),
        Err(_) => 0,
    };
    file.take(length).read_to_end(&mut start).map_err(failed)?;
    format_of(&start).map_err(|error| error.in_file(path))
}

/// The error for bytes that are not a model, as `what` describes.
pub fn bad(what: impl Display) -> Error {
    Error::input(format!("this is not a model of Firebox: {what}"), "give a file that `model` wrote")
}

/// Fails unless a condition on a model holds; `what` describes its violation.
pub fn require(holds: bool, what: &str) -> Result<()> {
    if holds { Ok(()) } else { Err(bad(what)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> Vec<u8> {
        let mut arrays = ModelArrays::default();
        arrays.put("b", &[2, 1], vec![0.1, 2.0]);
        arrays.put("a", &[3], vec![0.0, 1.0, 7.0]);
        encode("toy", 3, &("x\"é", 0.1 + 0.2), arrays).unwrap()
    }

    #[test]
    fn models_round_trip() {
        let bytes = file();
        let ((name, number), mut arrays) = decode::<(String, f64)>(&bytes, "toy", 3).unwrap();
        assert_eq!((name.as_str(), number), ("x\"é", 0.1 + 0.2));
        assert_eq!(arrays.clone().take_whole("a", &[3], 8).unwrap(), [0, 1, 7]);
        assert!(arrays.clone().take_whole("a", &[3], 7).unwrap_err().to_string().contains("below 7"));
        assert!(arrays.clone().take_whole("b", &[2, 1], 8).unwrap_err().to_string().contains("not whole"));
        assert!(arrays.take("a", &[2]).unwrap_err().to_string().contains("shape [3] instead of [2]"));
        assert_eq!(arrays.take("b", &[2, 1]).unwrap(), [0.1, 2.0]);
        assert!(arrays.clone().finish().unwrap_err().to_string().contains("tensor \"a\" is unknown"));
        assert!(arrays.take("b", &[2, 1]).unwrap_err().to_string().contains("no tensor b"));
        assert_eq!(bytes, file());
    }

    #[test]
    fn other_models_are_refused_by_name() {
        let error = |name, version| decode::<(String, f64)>(&file(), name, version).unwrap_err().to_string();
        assert_eq!(error("toy", 4), "this model is of version \"3\"; this program reads version 4");
        assert!(error("other", 3).contains("its format is \"firebox toy 3\", not firebox other 3"));
        assert!(decode::<u8>(&file(), "toy", 3).unwrap_err().to_string().contains("invalid type"));
        assert_eq!(format_of(b"{\"format\":\"firebox rbf network 1\",\"x\":[]}").unwrap(), "firebox rbf network 1");
        for other in [&b""[..], b"x,y\n1,2\n", b"{}", b"[", &[0; 40]] {
            assert!(format_of(other).unwrap_err().to_string().starts_with("this is not a model of Firebox"));
        }
    }

    #[test]
    fn no_changed_bit_and_no_cut_goes_undetected() {
        let bytes = file();
        for cut in 0..bytes.len() {
            assert!(decode::<(String, f64)>(&bytes[..cut], "toy", 3).is_err(), "{cut}");
        }
        let whole = decode::<(String, f64)>(&bytes, "toy", 3).unwrap();
        for bit in 0..8 * bytes.len() {
            let mut other = bytes.clone();
            other[bit / 8] ^= 1 << (bit % 8);
            // A changed padding or escape may leave the content as it is.
            if let Ok(changed) = decode::<(String, f64)>(&other, "toy", 3) {
                assert_eq!(changed, whole, "bit {bit}");
            }
        }
    }
}
