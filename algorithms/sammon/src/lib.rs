//! Sammon mapping.

mod cpu;
mod fusion;
mod kernel;
mod ndarray;
pub mod ops;
mod tensor_ops;

pub use ops::{Metric, SammonOps, Source, Variant};
