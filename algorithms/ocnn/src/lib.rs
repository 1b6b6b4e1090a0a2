#![doc = include_str!("../README.md")]

mod args;
pub mod auto;
mod bench;
pub mod cases;
mod components;
pub mod config;
mod cpu;
mod curve;
mod fusion;
mod kernel;
mod ndarray;
pub mod neighbours;
mod network;
mod neurons;
pub mod ops;
mod pace;
mod paper;
mod plan;
pub mod plugin;
mod record;
pub mod reference;
pub mod scale;
mod solver;
mod tensor_ops;
mod told;

pub use auto::{Auto, AutoConfig, AutoInput, Clustering};
pub use config::{Linking, OcnnConfig, Sync, Weights};
pub use ops::{Graph, MAX_NEAREST, Matvec, Metric, Network, OcnnOps, Parts, REPLICAS};
pub use plugin::OcnnPlugin;
pub use record::SyncMatrix;
pub use scale::Scale;
pub use solver::{Clusters, Ocnn};
