#![doc = include_str!("../README.md")]

mod bench;
pub mod cases;
mod checkpoint;
pub mod config;
mod cpu;
mod descent;
mod fusion;
mod input;
mod kernel;
mod lbfgs;
mod ndarray;
pub mod ops;
mod paper;
mod place;
mod plan;
pub mod plugin;
mod quality;
#[cfg(test)]
mod quality_tests;
pub mod reference;
mod run;
mod sampled;
mod solver;
mod start;
mod tensor_ops;
#[cfg(test)]
mod tests;
mod told;
mod transform;
mod vector;
mod work;

pub use checkpoint::check_state;
pub use config::{Memory, SammonConfig, Solver, Start, Step};
pub use firebox_core::{checkpoint::Checkpoints, data::Distances};
pub use input::{Data, SammonInput};
pub use ops::{Metric, SammonOps, Source, Variant};
pub use plugin::SammonPlugin;
pub use quality::Neighbourhoods;
pub use run::Stop;
pub use solver::{Embedding, Sammon};
