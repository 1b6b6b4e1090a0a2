#![doc = include_str!("../README.md")]

pub mod command;
pub mod config;
mod model;
pub mod ops;
pub mod parity;
mod solve;
mod types;

pub use command::OcnnPlugin;
pub use config::{AutoConfig, Cut, Distance, Linking, OcnnConfig, Scale, Sync, Weights};
pub use model::{Auto, Clustering, Clusters, Ocnn, Step, SyncMatrix, Trial};
pub use ops::OcnnOps;
pub use solve::{
    auto::{AutoInput, Links},
    neighbours, scale,
};
pub use types::{Graph, MAX_NEAREST, Matvec, Metric, Network, Parts, REPLICAS, rows};
