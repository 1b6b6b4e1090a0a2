//! CubeCL kernels with their launches, for CUDA, Vulkan, Metal and ROCm.

#![allow(missing_docs)] // `#[cube]` generates items that cannot be documented.

mod adam;
mod backend;
mod cubek;
mod grid;
pub(super) mod launch;
mod loss;
mod sigmoid;
pub(super) mod strategy;
mod tensor_cores;
mod tile;
