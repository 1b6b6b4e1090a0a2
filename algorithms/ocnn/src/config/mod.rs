//! Parameters, their defaults and their ranges.

mod auto;
mod paper;

pub use auto::{AutoConfig, Cut, Distance};
pub use paper::{Linking, OcnnConfig, Scale, Sync, Weights};
