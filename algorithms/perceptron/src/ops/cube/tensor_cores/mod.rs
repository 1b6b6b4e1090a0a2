//! f32 products on tensor cores, fused with bias and sigmoid: f32 truncated to TF32, or split into h + l, where
//! hh + hl + lh is as precise as f32 (3×TF32; l·l is 2⁻²² of the product).
//!
//! A plane holds a block of results as 16 × 8 tiles in registers. Both factors are contiguous along k, so that 16 bytes are
//! four numbers of a row: ldmatrix loads them as 8 × 8 matrices of 16-bit numbers, which gives each unit the element of
//! its fragment. Loading elements one by one would take four moves a product for A.

mod blocking;
pub(super) mod mma;
mod transpose;
