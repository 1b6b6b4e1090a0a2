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
mod types;

#[cfg(feature = "command")]
pub use command::PerceptronPlugin;
pub use config::{ClassWeight, InputScale, MlpConfig, Optimizer, SigmoidLayerConfig, Task, TrainConfig};
pub use firebox_core::checkpoint::Checkpoints;
pub use io::check_state;
pub use model::{
    Classification, FittedMlp, FittedMlpClassifier, FittedMlpRegressor, Linear, Mlp, MlpClassifier, MlpEstimator,
    MlpRegressor, Regression, Score, SigmoidLayer, TaskKind, Training,
};
pub use ops::PerceptronOps;
pub use solve::{
    Classes, Confusion, Epoch, Imputation, Instances, LayerNumbers, Model, OutputKind, Parts, Scaling, Stop, Targets,
    r2, rmse,
};
pub use types::{Activation, AdamStep, Matmul, MatmulKernel, Sigmoid, Sign};
