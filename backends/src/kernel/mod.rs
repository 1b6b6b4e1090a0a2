//! Building blocks for CubeCL kernels: what pairwise algorithms share.
//!
//! - [`reduce`]: sums over a row of units, by planes or through shared memory;
//! - [`tiles`]: which pair of tiles of a symmetric matrix a cube works on;
//! - [`launch`]: shapes of launches within a device's limits, contiguous inputs, outputs.

pub mod launch;
pub mod reduce;
pub mod tiles;

pub use launch::adds_atomically;
