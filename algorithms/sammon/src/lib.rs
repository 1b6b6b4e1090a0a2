#![doc = include_str!("../README.md")]

#[cfg(feature = "command")]
pub mod command;
pub mod config;
mod io;
mod model;
pub mod ops;
#[cfg(any(test, feature = "parity"))]
pub mod parity;
mod solve;
pub mod types;

#[cfg(feature = "command")]
pub use command::SammonPlugin;
pub use config::{Memory, SammonConfig, Solver, Start, Step};
pub use firebox_core::{checkpoint::Checkpoints, data::Distances};
pub use io::state::check_state;
pub use model::{
    map::{Implementation, SammonMap, StressSample},
    sammon::{Sammon, SammonInput},
};
pub use ops::SammonOps;
pub use solve::{
    fitted::SammonModel,
    quality::{NeighbourhoodSample, Neighbourhoods, ShepardPair},
    state::{AppliedStep, Stop},
};
pub use types::{Data, Metric, Source, Variant};
