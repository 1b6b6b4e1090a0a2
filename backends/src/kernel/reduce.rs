//! Sums and maxima over the units of a row of a cube (the units with one `UNIT_POS_Y`).

#![allow(missing_docs)] // `#[cube]` generates items without documentation.

use cubecl::prelude::*;

/// Returns the sum of `value` over the `width` units of this row to every one of them.
///
/// With `planes` the row must be exactly one plane (`width` = plane size). Without, the sum is a tree of log₂ `width`
/// steps in `scratch` (`width` × rows values), and all units of the cube must call this in uniform control flow. In
/// both cases the order of additions is fixed, so that equal inputs give equal bits.
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
        // All units must have read the result of an earlier call before it is overwritten.
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

/// Returns the largest `value` of the `width` units of this row to every one of them. `width` is a power of two, and
/// `scratch` as in [`fn@row_sum`].
#[cube]
pub fn row_max<F: Float>(value: F, scratch: &mut SharedMemory<F>, #[comptime] width: u32) -> F {
    let row = UNIT_POS_Y * width;
    sync_cube();
    scratch[(row + UNIT_POS_X) as usize] = value;
    sync_cube();
    let steps = comptime!(width.trailing_zeros());
    #[unroll]
    for s in 0..steps {
        let half = comptime!(width >> (s + 1));
        if UNIT_POS_X < half {
            let (own, other) = (scratch[(row + UNIT_POS_X) as usize], scratch[(row + UNIT_POS_X + half) as usize]);
            scratch[(row + UNIT_POS_X) as usize] = own.max(other);
        }
        sync_cube();
    }
    scratch[row as usize]
}
