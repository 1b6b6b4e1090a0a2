//! Python exceptions of the library's errors.

use firebox::Error;
use pyo3::{
    PyErr,
    exceptions::{PyKeyboardInterrupt, PyMemoryError, PyOSError, PyRuntimeError, PyValueError},
};

/// The exception of an error, with its advice: `ValueError` for input and parameters, `MemoryError`, `OSError` for files,
/// `KeyboardInterrupt` for a cancelled run, and `RuntimeError` for devices and runs that fail. An exception of a function in
/// Python stays what it is.
pub fn exception(error: Error) -> PyErr {
    let text = match error.help() {
        Some(help) => format!("{error}\n{help}"),
        None => error.to_string(),
    };
    match error {
        Error::Input { .. } | Error::Config { .. } => PyValueError::new_err(text),
        Error::Memory { .. } => PyMemoryError::new_err(text),
        Error::Io { .. } => PyOSError::new_err(text),
        Error::Cancelled => PyKeyboardInterrupt::new_err(text),
        Error::Function { source, .. } => match source.downcast() {
            Ok(raised) => *raised,
            Err(_) => PyRuntimeError::new_err(text),
        },
        _ => PyRuntimeError::new_err(text),
    }
}

/// `error` of a call for `count` of `all` rows from index `from` on, whose own row numbers count within them.
pub fn in_rows(error: Error, from: usize, count: usize, all: usize) -> Error {
    match error {
        Error::Input { what, place, help } if count < all => {
            Error::Input { what: format!("within rows {} to {}: {what}", from + 1, from + count), place, help }
        }
        other => other,
    }
}
