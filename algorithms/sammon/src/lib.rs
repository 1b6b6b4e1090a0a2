#![doc = include_str!("../README.md")]

pub mod command;
pub mod config;
mod io;
mod model;
pub mod ops;
pub mod parity;
mod solve;
pub mod types;

pub use command::SammonPlugin;
pub use config::{Memory, SammonConfig, Solver, Start, Step};
pub use firebox_core::{checkpoint::Checkpoints, data::Distances};
pub use io::state::check_state;
pub use model::{embedding::Embedding, sammon::Sammon};
pub use ops::SammonOps;
pub use solve::{quality::Neighbourhoods, state::Stop};
pub use types::{Data, Metric, SammonInput, Source, Variant};
