//! Reductions in a fixed order: over the parts that cubes wrote, and over the units of a cube.

#![allow(missing_docs)] // `#[cube]` writes companions that cannot be documented.

use burn_cubecl::{CubeRuntime, FloatElement, tensor::CubeTensor};
use cubecl::prelude::*;
use firebox_backends::kernel::launch;

/// Columns per cube.
pub(super) const COLUMNS: u32 = 8;
/// Units that share a column's parts.
pub(super) const LINES: u32 = 32;

/// The sum over `parts` of column `column` of `[parts, rest]`, in the units of line 0. Every unit of a cube of
/// [`COLUMNS`] × [`LINES`] calls this.
#[cube]
pub(super) fn column_sum<F: Float>(
    sums: &Array<F>,
    scratch: &mut SharedMemory<F>,
    parts: u32,
    rest: u32,
    column: u32,
) -> F {
    let mut total = F::new(0.0);
    for part in range_stepped(UNIT_POS_Y, parts, LINES) {
        total += sums[part as usize * rest as usize + column as usize];
    }
    // All units must have read the scratch of the previous call before it is overwritten.
    sync_cube();
    scratch[(UNIT_POS_Y * COLUMNS + UNIT_POS_X) as usize] = total;
    sync_cube();
    let steps = comptime!(LINES.trailing_zeros());
    #[unroll]
    for s in 0..steps {
        let half = comptime!(LINES >> (s + 1));
        if UNIT_POS_Y < half {
            let other = scratch[((UNIT_POS_Y + half) * COLUMNS + UNIT_POS_X) as usize];
            scratch[(UNIT_POS_Y * COLUMNS + UNIT_POS_X) as usize] += other;
        }
        sync_cube();
    }
    scratch[UNIT_POS_X as usize]
}

#[cube(launch_unchecked, address_type = "dynamic")]
fn fold_parts<F: Float + CubeElement>(sums: &Array<F>, out: &mut Array<F>, parts: u32, rest: u32) {
    let mut scratch = SharedMemory::<F>::new(comptime!((COLUMNS * LINES) as usize));
    let column = CUBE_POS as u32 * COLUMNS + UNIT_POS_X;
    let total = column_sum::<F>(sums, &mut scratch, parts, rest, column.min(rest - 1));
    if UNIT_POS_Y == 0 && column < rest {
        out[column as usize] = total;
    }
}

/// Sums `parts` rows of `sums` to `out`, of the length of a row; 0 without parts.
pub(super) fn fold<R: CubeRuntime, F: FloatElement>(sums: &CubeTensor<R>, parts: usize, out: &CubeTensor<R>) {
    let rest = out.meta.shape().num_elements();
    if rest == 0 {
        return;
    }
    let client = &sums.client;
    // SAFETY: reads of columns are clamped, writes guarded.
    unsafe {
        fold_parts::launch_unchecked::<F, R>(
            client,
            launch::cubes_for(client, rest, COLUMNS),
            CubeDim::new_2d(COLUMNS, LINES),
            launch::address(&[sums, out]),
            sums.clone().into_array_arg(),
            out.clone().into_array_arg(),
            parts as u32,
            rest as u32,
        );
    }
}

/// The sum of `value` over the `units` of a one-dimensional cube, a power of two, returned in every unit.
///
/// `scratch` holds one number per unit, or per plane of 32 with subgroup reductions (`planes`).
#[cube]
pub(super) fn cube_sum<F: Float>(
    value: F,
    scratch: &mut SharedMemory<F>,
    #[comptime] units: u32,
    #[comptime] planes: bool,
) -> F {
    // All units must have read the scratch of the previous call before it is overwritten.
    sync_cube();
    if comptime!(planes && units >= 32) {
        let own = plane_sum(value);
        let count = comptime!(units / 32);
        let lane = UNIT_POS_X % 32;
        if lane == 0 {
            scratch[(UNIT_POS_X / 32) as usize] = own;
        }
        sync_cube();
        let other = scratch[lane.min(comptime!(count - 1)) as usize];
        plane_sum(select(lane < count, other, F::new(0.0)))
    } else {
        scratch[UNIT_POS_X as usize] = value;
        sync_cube();
        let steps = comptime!(units.trailing_zeros());
        #[unroll]
        for s in 0..steps {
            let half = comptime!(units >> (s + 1));
            if UNIT_POS_X < half {
                let other = scratch[(UNIT_POS_X + half) as usize];
                scratch[UNIT_POS_X as usize] += other;
            }
            sync_cube();
        }
        scratch[0]
    }
}
