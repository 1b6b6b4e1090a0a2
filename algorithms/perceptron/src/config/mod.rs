//! Configurations of layers, networks and training: parameters, defaults, ranges.

mod layer;
mod mlp;
mod training;

pub use layer::SigmoidLayerConfig;
pub use mlp::MlpConfig;
pub use training::{Optimizer, Task, TrainConfig};
