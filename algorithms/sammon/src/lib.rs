//! Sammon mapping.

pub mod ops;
mod tensor_ops;

pub use ops::{Metric, SammonOps, Source, Variant};
