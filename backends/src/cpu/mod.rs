//! What hot loops on the CPU share: one body compiled for several instruction sets, blocks of 64 numbers that the
//! compiler turns into vector registers, `exp2`, and the work on symmetric matrices split into tiles.
//!
//! A hot loop is a struct of borrowed slices that implements [`Loop`]. Its body is plain Rust over [`Block`]s and is
//! compiled once for each [`Level`]; the level found at run time picks one. There is no intrinsic in any loop, so
//! every other architecture runs the same body, vectorised for what its target always has.
//!
//! What a body must keep to, so that it vectorises and gives the same bits on every run:
//! - fused multiply–add through [`Real::fma`] only: where the target has none, `f32::mul_add` calls the C library;
//! - sums in lanes ([`dot`], [`sum_lanes`]): a floating-point sum may not be reordered by the compiler;
//! - everything it calls marked `#[inline(always)]`: what is not inlined is compiled for the baseline, which [`gain`]
//!   finds out.

mod block;
mod gain;
mod lanes;
mod level;
mod real;
mod tiles;
mod union_find;

pub use block::{BLOCK, Block, Blocks, transpose};
pub use gain::gain;
pub use lanes::{dot, sum_lanes};
pub use level::{Isa, Level, Loop};
pub use real::Real;
pub use tiles::{Tile, for_each_tile, tile_pairs};
pub use union_find::UnionFind;
