#![doc = include_str!("../README.md")]

mod bench;
pub mod cases;
mod components;
pub mod config;
mod cpu;
mod fusion;
mod kernel;
mod ndarray;
pub mod ops;
mod paper;
pub mod plugin;
mod record;
pub mod reference;
pub mod scale;
mod solver;
mod tensor_ops;

pub use config::{Linking, OcnnConfig, Sync, Weights};
pub use ops::{Matvec, Network, OcnnOps};
pub use plugin::OcnnPlugin;
pub use scale::Scale;
pub use solver::{Clusters, Ocnn};
