//! CubeCL kernels for the operations, each beside its launch, for CUDA, Vulkan, Metal and ROCm.

mod column_sums;
mod conjugate;
mod descend;
mod functional;
mod launch;
mod normal;
mod operands;
mod operators;
mod reduction;
mod residual;
mod single_cube;
mod slopes;
mod strategy;
