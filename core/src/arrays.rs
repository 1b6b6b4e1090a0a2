//! Named arrays of 64-bit floats as safetensors with one entry of metadata.

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap},
    fmt::Display,
};

use safetensors::{
    Dtype, SafeTensorError,
    tensor::{Metadata, View},
};

use crate::error::shown;

/// Key of the metadata entry.
const KEY: &str = "firebox";

/// An array of 64-bit floats, row-major.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Array {
    pub(crate) shape: Vec<usize>,
    pub(crate) values: Vec<f64>,
}

impl Array {
    /// The values as little-endian bytes.
    pub(crate) fn bytes(&self) -> Cow<'_, [u8]> {
        if cfg!(target_endian = "little") {
            bytemuck::cast_slice(&self.values).into()
        } else {
            self.values.iter().flat_map(|value| value.to_le_bytes()).collect()
        }
    }
}

impl View for &Array {
    fn dtype(&self) -> Dtype {
        Dtype::F64
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn data(&self) -> Cow<'_, [u8]> {
        self.bytes()
    }

    fn data_len(&self) -> usize {
        size_of_val(&self.values[..])
    }
}

/// Encodes arrays with the entry `text`.
pub(crate) fn encode(arrays: &BTreeMap<String, Array>, text: String) -> Result<Vec<u8>, SafeTensorError> {
    // A single entry keeps the bytes deterministic: the order of several in a hash map is random.
    safetensors::serialize(arrays, Some(HashMap::from([(KEY.to_string(), text)])))
}

/// Splits safetensors into their description and the bytes of the arrays.
fn description(bytes: &[u8]) -> Result<(Metadata, &[u8]), String> {
    let (length, rest) = bytes.split_first_chunk::<8>().ok_or("it is empty")?;
    let length = usize::try_from(u64::from_le_bytes(*length)).unwrap_or(usize::MAX);
    let (description, data) = rest.split_at_checked(length).ok_or("its description is cut short")?;
    let metadata = serde_json::from_slice(description).map_err(|error| one_line(&error))?;
    Ok((metadata, data))
}

/// The metadata of safetensors of any kind, of which the arrays may be cut off: the entry of [`encode`], or else the one
/// called `format`.
pub(crate) fn entry(bytes: &[u8]) -> Result<String, String> {
    let (metadata, _) = description(bytes)?;
    let entries = metadata.metadata().as_ref();
    let entry = entries.and_then(|entries| entries.get(KEY).or_else(|| entries.get("format")));
    entry.cloned().ok_or_else(|| "its description is missing".into())
}

/// Inverse of [`encode`], which does not trust the bytes: the entry and the arrays, or the reason of a refusal.
pub(crate) fn decode(bytes: &[u8]) -> Result<(String, BTreeMap<String, Array>), String> {
    let (metadata, data) = description(bytes)?;
    if metadata.data_len() != data.len() {
        return Err("its tensors do not fill it".into());
    }
    let entries = metadata.metadata().as_ref().filter(|entries| entries.len() == 1);
    let text = entries.and_then(|entries| entries.get(KEY)).ok_or("its description is missing")?;
    let mut arrays = BTreeMap::new();
    for (name, info) in metadata.tensors() {
        let (start, end) = info.data_offsets;
        let bytes = data.get(start..end).filter(|_| info.dtype == Dtype::F64);
        let bytes = bytes.ok_or_else(|| format!("its tensor {} is not of 64-bit floats", shown(&name)))?;
        let (numbers, rest) = bytes.as_chunks::<8>();
        if !rest.is_empty() {
            return Err(format!("its tensor {} is cut short", shown(&name)));
        }
        let values = numbers.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect();
        arrays.insert(name, Array { shape: info.shape.clone(), values });
    }
    Ok((text.clone(), arrays))
}

/// A library's message on one line: text quoted from the file may contain line breaks.
pub(crate) fn one_line(error: &impl Display) -> String {
    error.to_string().chars().take(200).map(|it| if it.is_control() { ' ' } else { it }).collect()
}
