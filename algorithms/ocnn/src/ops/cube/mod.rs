//! CubeCL kernels with their launches, for CUDA, Vulkan, Metal and ROCm.

mod backend;
pub(crate) mod graph;
pub(crate) mod increase_bits;
pub(crate) mod links;
mod pair_counts;
pub(crate) mod step;
pub(crate) mod sync;
mod tensor_cores;
mod trajectory;
pub(crate) mod weights;
