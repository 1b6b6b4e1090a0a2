//! Building blocks of hot loops on the CPU: dispatch of one body to several instruction sets, blocks of 64 numbers that
//! the compiler maps to vector registers, `exp2`, and tiles of symmetric matrices.
//!
//! A hot loop is a struct of borrowed slices that implements [`Loop`]. Its body is plain Rust over [`Block`]s, compiled
//! once for each [`SimdLevel`], of which one is selected at run time. Bodies contain no intrinsics, so that other
//! architectures run the same body, vectorised for their baseline.
//!
//! For vectorisation and reproducible bits, a body
//! - fuses multiply–adds through [`Real::fma`] only: without the instruction, `f32::mul_add` calls the C library;
//! - sums in lanes ([`dot`], [`sum_lanes`]), since the compiler may not reorder a floating-point sum;
//! - calls only functions marked `#[inline(always)]`: others are compiled for the baseline, which [`gain`] detects.

mod array;
mod block;
mod gain;
mod lanes;
mod level;
mod real;
mod tiles;
mod union_find;

pub use array::array;
pub use block::{BLOCK, Block, Blocks, transpose};
pub use gain::{LEAST_GAIN, gain};
pub use lanes::{dot, sum_lanes};
pub use level::{Isa, Loop, SimdLevel};
pub use real::Real;
pub use tiles::{Tile, for_each_tile, tile_pairs};
pub use union_find::UnionFind;
