//! Parameters, their defaults and their ranges.

mod ocnn;
mod paper;

pub use ocnn::{Cut, Distance, OcnnConfig};
pub use paper::{Linking, PaperConfig, Scale, Sync, Weights};
