#![doc = include_str!("../README.md")]

#[cfg(feature = "command")]
pub mod command;
pub mod config;
#[cfg(feature = "io")]
mod io;
mod model;
pub mod ops;
#[cfg(any(test, feature = "parity"))]
pub mod parity;
mod solve;
mod types;

#[cfg(feature = "command")]
pub use command::OcnnPlugin;
pub use config::{Cut, Distance, Linking, OcnnConfig, PaperConfig, Scale, Sync, Weights};
pub use model::{Clustering, FittedOcnn, Half, Ocnn, OcnnInput, PaperClusters, PaperOcnn, Step, SyncMatrix, Trial};
pub use ops::OcnnOps;
pub use solve::{
    auto::{CondensedTree, Join, Level, Levels, Links, OcnnModel, Shares},
    execution_plan::Strategy,
    scale::ScaleMethod,
};
pub use types::{Graph, MAX_NEAREST, Matvec, Metric, Network, Parts, REPLICAS, WORD_STEPS, rows};
