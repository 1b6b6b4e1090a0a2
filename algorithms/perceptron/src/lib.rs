#![doc = include_str!("../README.md")]

pub mod cases;
mod cpu;
mod fusion;
mod kernel;
mod ndarray;
pub mod ops;
pub mod reference;
mod tensor_ops;

pub use ops::{Matmul, PerceptronOps, Sigmoid, Sign};
