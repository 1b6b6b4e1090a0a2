#![doc = include_str!("../README.md")]

mod args;
mod autodiff;
mod bench;
pub mod cases;
mod checkpoint;
pub mod config;
mod cpu;
pub mod data;
mod fusion;
mod kernel;
mod layer;
mod loss;
pub mod metrics;
mod mlp;
mod model;
mod ndarray;
pub mod ops;
pub mod plugin;
pub mod reference;
mod rows;
mod saved;
mod score;
mod shared;
mod tensor_ops;
mod train;

pub use checkpoint::check_state;
pub use config::{Optimizer, Task, TrainConfig};
pub use firebox_core::checkpoint::Checkpoints;
pub use layer::{Linear, SigmoidLayer, SigmoidLayerConfig};
pub use mlp::{Activation, Mlp, MlpConfig};
pub use model::{Gives, LayerNumbers, Model, likeliest, probabilities};
pub use ops::{Matmul, PerceptronOps, Sigmoid, Sign};
pub use plugin::PerceptronPlugin;
pub use score::Score;
pub use train::{Epoch, Stop, Trained, train};
