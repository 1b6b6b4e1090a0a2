//! Configurations of the library from the JSON of the options that a caller gives.

use pyo3::{PyErr, PyResult, exceptions::PyValueError};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

/// `defaults` with the fields of a JSON object `options` in place of its own.
///
/// Fails for text that is not an object, a field that the configuration does not have, and a value of another type.
pub fn with_options<T: Serialize + DeserializeOwned>(defaults: &T, options: &str) -> PyResult<T> {
    let options: Map<String, Value> = serde_json::from_str(options).map_err(wrong)?;
    let Value::Object(mut fields) = serde_json::to_value(defaults).map_err(wrong)? else {
        return Err(PyValueError::new_err("this configuration has no fields"));
    };
    for (field, value) in options {
        let Some(own) = fields.get_mut(&field) else {
            return Err(PyValueError::new_err(format!("there is no option `{field}`")));
        };
        let given = value.to_string();
        let before = std::mem::replace(own, value);
        // One field at a time, so that the error names it.
        if let Err(error) = serde_json::from_value::<T>(Value::Object(fields.clone())) {
            let default = if before.is_null() { "None".into() } else { before.to_string() };
            let text = format!("{field} = {given}: {}; the default is {default}", reason(&error));
            return Err(PyValueError::new_err(text));
        }
    }
    serde_json::from_value(Value::Object(fields)).map_err(wrong)
}

/// Why a value was refused, with Rust's names of types in plain words.
fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    if text.ends_with("expected usize") || text.ends_with("expected u64") {
        "must be a whole number of at least 0".into()
    } else if text.ends_with("expected f64") || text.ends_with("expected f32") {
        "must be a number".into()
    } else {
        text
    }
}

fn wrong(error: serde_json::Error) -> PyErr {
    PyValueError::new_err(error.to_string())
}
