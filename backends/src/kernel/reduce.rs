//! Sums over the units of a row of a cube (the units with one `UNIT_POS_Y`).

#![allow(missing_docs)] // `#[cube]` writes companions that cannot be documented.

use cubecl::prelude::*;

/// The sum of `value` over the `width` units of this row, in every one of them.
///
/// With `planes` the row must be exactly one plane (`width` = plane size). Without, the sum goes through `scratch`
/// (`width` × rows values) in log₂ `width` steps, and every unit of the cube must call this together. Either way the
/// order of additions is fixed, so equal inputs give equal bits.
#[cube]
pub fn row_sum<F: Float>(
    value: F,
    scratch: &mut SharedMemory<F>,
    #[comptime] width: u32,
    #[comptime] planes: bool,
) -> F {
    if comptime!(planes) {
        plane_sum(value)
    } else {
        let row = UNIT_POS_Y * width;
        // What another call left must have been read by all before it is overwritten.
        sync_cube();
        scratch[(row + UNIT_POS_X) as usize] = value;
        sync_cube();
        let steps = comptime!(width.trailing_zeros());
        #[unroll]
        for s in 0..steps {
            let half = comptime!(width >> (s + 1));
            if UNIT_POS_X < half {
                let other = scratch[(row + UNIT_POS_X + half) as usize];
                scratch[(row + UNIT_POS_X) as usize] += other;
            }
            sync_cube();
        }
        scratch[row as usize]
    }
}
