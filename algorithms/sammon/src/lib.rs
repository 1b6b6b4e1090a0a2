//! Sammon mapping.

mod cpu;
mod ndarray;
pub mod ops;
mod tensor_ops;

pub use ops::{Metric, SammonOps, Source, Variant};
