//! The synchronisation matrix S: its upper half is counted and mirrored.

use burn::tensor::DType;
use burn_cubecl::{CubeElement, CubeRuntime, tensor::CubeTensor};
use cubecl::prelude::*;
use firebox_backends::kernel::{
    launch,
    tiles::{tile_column, tile_row, triangle},
};

use super::{
    pair_counts::{
        BLOCK, PairRule, Record, SIDE, SignsDiffer, TILE, count_pairs, in_step, tile_column_of, tile_row_of,
    },
    tensor_cores,
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
    #[comptime] fresh: bool,
) {
    let row = tile_row(tiles);
    let column = tile_column(tiles);
    // Uniform over the cube, as the barriers inside require.
    if column < tiles {
        let found = count_pairs::<E, P>(record, n, depth, row * TILE, column * TILE, epsilon);
        let mut before = Array::<u32>::new(comptime!((BLOCK * BLOCK) as usize));
        // All reads first, since reads wait for earlier writes.
        #[unroll]
        for p in 0..BLOCK {
            #[unroll]
            for q in 0..BLOCK {
                let i = row * TILE + tile_row_of(p);
                let j = column * TILE + tile_column_of(q);
                before[comptime!((p * BLOCK + q) as usize)] = if comptime!(fresh) {
                    0u32.runtime()
                } else {
                    counts[i.min(n - 1) as usize * n as usize + j.min(n - 1) as usize]
                };
            }
        }
        #[unroll]
        for p in 0..BLOCK {
            #[unroll]
            for q in 0..BLOCK {
                let i = row * TILE + tile_row_of(p);
                let j = column * TILE + tile_column_of(q);
                let at = comptime!((p * BLOCK + q) as usize);
                if i < n && j < n {
                    counts[i as usize * n as usize + j as usize] = before[at] + in_step(found[at], steps, differences);
                }
            }
        }
        // A tile on the diagonal holds both halves itself. The other half is turned in shared memory, some rows at a
        // time, so that neighbours write neighbours.
        if row != column {
            let mut turned = SharedMemory::<u32>::new(comptime!((SIDE * (TILE + 1)) as usize));
            #[unroll]
            for p in 0..BLOCK {
                #[unroll]
                for q in 0..BLOCK {
                    let at = comptime!((p * BLOCK + q) as usize);
                    turned[(UNIT_POS_Y * comptime!(TILE + 1) + tile_column_of(q)) as usize] =
                        in_step(found[at], steps, differences);
                }
                sync_cube();
                let i = row * TILE + comptime!(p * SIDE) + UNIT_POS_X;
                #[unroll]
                for q in 0..BLOCK {
                    let j = column * TILE + tile_row_of(q);
                    if comptime!(!fresh) {
                        before[q as usize] = counts[j.min(n - 1) as usize * n as usize + i.min(n - 1) as usize];
                    }
                }
                #[unroll]
                for q in 0..BLOCK {
                    let j = column * TILE + tile_row_of(q);
                    if i < n && j < n {
                        counts[j as usize * n as usize + i as usize] =
                            before[q as usize] + turned[(UNIT_POS_X * comptime!(TILE + 1) + tile_row_of(q)) as usize];
                    }
                }
                sync_cube();
            }
        }
    }
}

/// See [`ocnn_phase_sync`](crate::OcnnOps::ocnn_phase_sync); on tensor cores where available.
pub(super) fn phase<R: CubeRuntime>(bits: CubeTensor<R>, steps: usize, counts: Option<CubeTensor<R>>) -> CubeTensor<R> {
    if bits.meta.num_elements() > 0 && tensor_cores::available(&bits.client) {
        let bits = launch::dense(bits);
        let (counts, fresh) = target(counts, &bits);
        tensor_cores::accumulate(&bits, steps, &counts, fresh);
        return counts;
    }
    accumulate::<R, u32, SignsDiffer>(Record::signs(bits, steps), counts)
}

/// The S to write, in place unless `counts` is shared, and whether it is uninitialised.
fn target<R: CubeRuntime>(counts: Option<CubeTensor<R>>, record: &CubeTensor<R>) -> (CubeTensor<R>, bool) {
    let Some(counts) = counts else {
        let n = record.meta.shape()[1];
        return (launch::output(record, [n, n], DType::I32), true);
    };
    let counts = launch::dense(counts);
    (if counts.can_mut() { counts } else { launch::copy(&counts) }, false)
}

/// See [`ocnn_fragmentary_sync`](crate::OcnnOps::ocnn_fragmentary_sync).
pub(super) fn accumulate<R: CubeRuntime, E: CubeElement + Numeric, P: PairRule<E>>(
    Record { values: record, steps, epsilon, differences }: Record<R, E>,
    counts: Option<CubeTensor<R>>,
) -> CubeTensor<R> {
    let [depth, n] = record.meta.shape().dims();
    if n == 0 || depth == 0 {
        let none = || launch::zeros_of(&record, [n, n].into(), DType::I32);
        return counts.unwrap_or_else(none);
    }
    let (counts, fresh) = target(counts, &record);
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
            steps,
            tiles,
            epsilon,
            differences,
            fresh,
        );
    }
    counts
}
