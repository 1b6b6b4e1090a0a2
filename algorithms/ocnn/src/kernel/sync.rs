//! Hot loops 3 and 4: the synchronisation matrix S, its upper half counted and mirrored.

use burn_cubecl::{CubeElement, CubeRuntime, FloatElement, tensor::CubeTensor};
use cubecl::prelude::*;
use firebox_backends::kernel::{
    launch,
    tiles::{tile_column, tile_row, triangle},
};

use super::pairs::{
    BLOCK, PairRule, SIDE, SignsDiffer, TILE, Within, count_pairs, in_step, tile_column_of, tile_row_of,
};

#[cube(launch_unchecked, address_type = "dynamic")]
fn sync_kernel<E: Numeric + CubeElement, P: PairRule<E>>(
    record: &Array<E>,
    counts: &mut Array<u32>,
    n: u32,
    depth: u32,
    steps: u32,
    tiles: u32,
    epsilon: E,
    #[comptime] differences: bool,
) {
    let row = tile_row(tiles);
    let column = tile_column(tiles);
    // The same for all units of a cube, as the barriers inside need.
    if column < tiles {
        let found = count_pairs::<E, P>(record, n, depth, row * TILE, column * TILE, epsilon);
        #[unroll]
        for p in 0..BLOCK {
            #[unroll]
            for q in 0..BLOCK {
                let i = (row * TILE + tile_row_of(p)) as usize;
                let j = (column * TILE + tile_column_of(q)) as usize;
                let width = n as usize;
                if i < width && j < width {
                    let more = in_step(found[comptime!((p * BLOCK + q) as usize)], steps, differences);
                    counts[i * width + j] += more;
                    // A tile on the diagonal holds both halves itself.
                    if row != column {
                        counts[j * width + i] += more;
                    }
                }
            }
        }
    }
}

/// S + the phase synchronisation of bits `[words, n]` over `steps` steps.
pub(super) fn phase<R: CubeRuntime>(bits: CubeTensor<R>, steps: usize, counts: CubeTensor<R>) -> CubeTensor<R> {
    accumulate::<R, u32, SignsDiffer>(bits, steps, 0, counts, true)
}

/// S + the fragmentary synchronisation of outputs `[steps, n]`.
pub(super) fn fragmentary<R: CubeRuntime, F: FloatElement>(
    outputs: CubeTensor<R>,
    epsilon: f64,
    counts: CubeTensor<R>,
) -> CubeTensor<R> {
    let steps = outputs.meta.shape()[0];
    accumulate::<R, F, Within>(outputs, steps, F::from_elem(epsilon), counts, false)
}

fn accumulate<R: CubeRuntime, E: CubeElement + Numeric, P: PairRule<E>>(
    record: CubeTensor<R>,
    steps: usize,
    epsilon: E,
    counts: CubeTensor<R>,
    differences: bool,
) -> CubeTensor<R> {
    let record = launch::dense(record);
    let counts = launch::dense(counts);
    // The sum is written in place unless someone else still holds the old one.
    let counts = if counts.can_mut() { counts } else { counts.copy() };
    let [depth, n] = record.meta.shape().dims();
    if n == 0 || depth == 0 {
        return counts;
    }
    let tiles = (n as u32).div_ceil(TILE);
    let (x, y) = triangle(tiles);
    let client = record.client.clone();
    // SAFETY: the kernel clamps what it reads of the record [depth, n] and guards i, j < n where it writes S [n, n].
    unsafe {
        sync_kernel::launch_unchecked::<E, P, R>(
            &client,
            CubeCount::Static(x, y, 1),
            CubeDim::new_2d(SIDE, SIDE),
            launch::address(&[&record, &counts]),
            record.into_array_arg(),
            counts.clone().into_array_arg(),
            n as u32,
            depth as u32,
            steps as u32,
            tiles,
            epsilon,
            differences,
        );
    }
    counts
}
