//! Decoders of files that may be damaged.

use std::any::Any;
use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::error::{Error, Result};

/// The error of a file that does not follow its format.
pub(super) fn broken(reason: &dyn Display) -> Error {
    let reason = reason.to_string();
    let help = match reason.contains("Disabled feature") {
        true => "compression by snappy, zstd, lz4 and gzip is read: write the file again with one of them, or without",
        false => "write it again, for example with pandas or polars",
    };
    Error::input(format!("the file cannot be decoded: {reason}"), help)
}

/// Runs a decoder. Those of damaged files may panic, which is an error here.
pub(super) fn guarded<T, E: Display>(decode: impl FnOnce() -> std::result::Result<T, E>) -> Result<T> {
    let text = |payload: Box<dyn Any + Send>| {
        let text = payload.downcast_ref::<String>().cloned();
        text.or_else(|| payload.downcast_ref::<&str>().map(ToString::to_string))
            .unwrap_or_else(|| "it is damaged".into())
    };
    match catch_unwind(AssertUnwindSafe(decode)) {
        Ok(decoded) => decoded.map_err(|error| broken(&error)),
        Err(payload) => Err(broken(&text(payload))),
    }
}
