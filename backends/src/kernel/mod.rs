//! Building blocks for CubeCL kernels, shared by pairwise algorithms.
//!
//! - [`reduce`]: sums over a row of units, by planes or through shared memory;
//! - [`triangle`]: norms of the columns of a triangular matrix;
//! - [`tiles`]: the map from cubes to tiles of a symmetric matrix;
//! - [`launch`]: launch shapes within a device's limits, contiguous inputs, outputs.

pub mod launch;
pub mod reduce;
pub mod tiles;
pub mod triangle;

pub use launch::supports_atomic_add;
