//! Kernels for a sparse graph: steps, signs, common bits, and nearest neighbours.

pub(crate) mod common_ones;
pub(crate) mod nearest;
mod replicas;
pub(crate) mod signs;
pub(crate) mod step;
