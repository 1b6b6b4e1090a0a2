//! Sammon mapping.

mod fusion;
mod kernel;
pub mod ops;
mod tensor_ops;

pub use ops::{Metric, SammonOps, Source, Variant};
