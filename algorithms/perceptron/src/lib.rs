#![doc = include_str!("../README.md")]

mod autodiff;
pub mod cases;
mod cpu;
mod fusion;
mod kernel;
mod layer;
mod mlp;
mod ndarray;
pub mod ops;
pub mod reference;
mod tensor_ops;

pub use layer::{Linear, SigmoidLayer, SigmoidLayerConfig};
pub use mlp::{Activation, Mlp, MlpConfig};
pub use ops::{Matmul, PerceptronOps, Sigmoid, Sign};
