#![doc = include_str!("../README.md")]

pub mod command;
pub mod config;
mod io;
mod model;
pub mod ops;
pub mod parity;
mod solve;
mod types;

pub use command::PerceptronPlugin;
pub use config::{MlpConfig, Optimizer, SigmoidLayerConfig, Task, TrainConfig};
pub use firebox_core::checkpoint::Checkpoints;
pub use io::checkpoint::check_state;
pub use model::{
    layer::{Linear, SigmoidLayer},
    mlp::Mlp,
    score::Score,
    train::{Trained, train},
};
pub use ops::PerceptronOps;
pub use solve::{
    data,
    fitted::{LayerNumbers, Model, OutputKind},
    logits::{argmax, probabilities},
    metrics,
    state::{Epoch, Stop},
};
pub use types::{Activation, Matmul, Sigmoid, Sign};
