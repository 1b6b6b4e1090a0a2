//! Configurations of layers, networks and training: parameters, defaults, ranges.

mod network;
mod training;

use firebox_core::{Error, Result};

pub use network::{MlpConfig, SigmoidLayerConfig};
pub use training::{ClassWeight, InputScale, Optimizer, Task, TrainConfig};

/// Error of a field that is out of its range.
pub(crate) fn invalid<T>(field: &'static str, value: impl ToString, reason: impl Into<String>) -> Result<T> {
    Err(Error::Config { field, value: value.to_string(), reason: reason.into() })
}

/// Fails unless `count` lies between 1 and `most`.
fn check_count(field: &'static str, count: usize, most: usize) -> Result<()> {
    if (1..=most).contains(&count) { Ok(()) } else { invalid(field, count, format!("must lie between 1 and {most}")) }
}
