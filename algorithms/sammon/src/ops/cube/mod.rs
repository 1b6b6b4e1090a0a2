//! CubeCL kernels for CUDA, Vulkan, Metal and ROCm; each file has kernels and their launch.

mod backend;
mod block_sampling;
mod combine;
mod feature_distances;
mod gather;
mod inverse;
mod pair;
mod paper_variants;
mod stored_distances;
mod tile;
