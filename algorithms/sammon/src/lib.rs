#![doc = include_str!("../README.md")]

mod bench;
mod bits;
mod checkpoint;
pub mod config;
mod descent;
mod distances;
mod input;
mod lbfgs;
mod ndarray;
pub mod ops;
mod paper;
mod plan;
pub mod plugin;
mod quality;
mod run;
mod sampled;
mod solver;
mod start;
mod tensor_ops;
#[cfg(test)]
mod tests;
mod transform;
mod vector;
mod work;

pub use config::{Memory, SammonConfig, Solver, Start, Step};
pub use distances::Distances;
pub use input::{Data, SammonInput};
pub use ops::{Metric, SammonOps, Source, Variant};
pub use plugin::SammonPlugin;
pub use quality::Neighbourhoods;
pub use run::{Checkpoints, Stop};
pub use solver::{Embedding, Sammon};
