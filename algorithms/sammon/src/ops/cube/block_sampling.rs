//! Sums over the pairs of each block of points with its partner block.

#![allow(missing_docs)] // `#[cube]` writes companions that cannot be documented.

use burn_cubecl::{CubeRuntime, FloatElement, tensor::CubeTensor};
use cubecl::prelude::*;
use firebox_backends::kernel::{launch, reduce::row_sum};

use super::{
    pair::{Terms, add_pair},
    tile::{DistanceForm, Four, SHARE, SIDE, STAGE, TILE, accumulate, delta_of, inverse_of, tile_index},
};
use crate::types::Metric;

/// Sums for the row points of a tile over the partner of their block of `block` points, to `sums` `[terms, n]`.
#[cube(launch_unchecked, address_type = "dynamic", fast_math = FastMath::all() - FastMath::NotNaN)]
fn sum_sampled<F: Float + CubeElement, W: Size>(
    points: &Array<Vector<F, W>>,
    multiplicity: &Array<F>,
    embedding: &Array<F>,
    sums: &mut Array<F>,
    d: u32,
    n: u32,
    block: u32,
    power: F,
    #[comptime] terms: Terms,
    #[comptime] form: DistanceForm,
) {
    let mut a = SharedMemory::<Four<F>>::new(comptime!(STAGE as usize));
    let mut b = SharedMemory::<Four<F>>::new(comptime!(STAGE as usize));
    let mut scratch = SharedMemory::<F>::new(comptime!((SIDE * SIDE) as usize));
    let m = comptime!(terms.m);
    let count = comptime!(terms.count());
    let blocks = n.div_ceil(block);
    let row = CUBE_POS_Y * block + CUBE_POS_X * TILE;
    let rows_end = (CUBE_POS_Y * block + block).min(n);
    // The partner of an odd block is the previous one, of an even block the next one or, for the last, the first.
    let after = select(CUBE_POS_Y + 1 < blocks, CUBE_POS_Y + 1, 0u32);
    let partner = select(CUBE_POS_Y % 2 == 1, CUBE_POS_Y.max(1) - 1, after);
    let first = partner * block;
    let last = (first + block).min(n);

    // Uniform across the cube, as the barriers inside require.
    if row < rows_end {
        let mut own = Array::<F>::new(comptime!((SHARE * m) as usize));
        let mut totals = Array::<F>::new(comptime!((SHARE * count) as usize));
        #[unroll]
        for p in 0..SHARE {
            let i = (row + tile_index(UNIT_POS_Y, p)).min(n - 1);
            #[unroll]
            for k in 0..m {
                own[comptime!((p * m + k) as usize)] = embedding[k as usize * n as usize + i as usize];
            }
            #[unroll]
            for s in 0..count {
                totals[comptime!((p * count + s) as usize)] = F::new(0.0);
            }
        }
        let mut tile = Array::<F>::new(comptime!((SHARE * SHARE) as usize));
        for column in range_stepped(first, last, TILE) {
            accumulate::<F, W>(points, points, &mut a, &mut b, &mut tile, d, row, n, column, n, form);
            #[unroll]
            for q in 0..SHARE {
                let j = column + tile_index(UNIT_POS_X, q);
                let other = j.min(n - 1);
                let mu = multiplicity[other as usize];
                let mut other_y = Array::<F>::new(comptime!(m as usize));
                #[unroll]
                for k in 0..m {
                    other_y[k as usize] = embedding[k as usize * n as usize + other as usize];
                }
                #[unroll]
                for p in 0..SHARE {
                    let sum = select(j < last, tile[comptime!((p * SHARE + q) as usize)], F::new(0.0));
                    let inverse = inverse_of::<F>(sum, form.metric);
                    let delta = delta_of::<F>(sum, inverse, form.metric);
                    let mut difference = Array::<F>::new(comptime!(m as usize));
                    #[unroll]
                    for k in 0..m {
                        difference[k as usize] = own[comptime!((p * m + k) as usize)] - other_y[k as usize];
                    }
                    add_pair::<F>(&mut totals, comptime!(p * count), inverse, delta, mu, &difference, power, terms);
                }
            }
        }
        #[unroll]
        for p in 0..SHARE {
            let i = row + tile_index(UNIT_POS_Y, p);
            #[unroll]
            for s in 0..count {
                let total = row_sum::<F>(totals[comptime!((p * count + s) as usize)], &mut scratch, SIDE, false);
                if UNIT_POS_X == 0 && i < rows_end {
                    sums[s as usize * n as usize + i as usize] = total;
                }
            }
        }
    }
}

/// Sums `[1, terms, n]` over the pairs of each block of `block` of `points` `[d, n]` with its partner, for an embedding
/// `[m, n]`.
pub(super) fn sums<R: CubeRuntime, F: FloatElement>(
    points: &CubeTensor<R>,
    metric: Metric,
    multiplicity: &CubeTensor<R>,
    embedding: &CubeTensor<R>,
    power: f64,
    terms: Terms,
    block: usize,
) -> CubeTensor<R> {
    let [d, n] = points.meta.shape().dims();
    let sums = launch::output(embedding, [1, terms.count() as usize, n], embedding.dtype);
    // Blocks must begin at whole vectors too.
    let form = DistanceForm::new(metric, false, &[n, block]);
    // SAFETY: points are clamped to n where they are read and guarded where sums are written.
    unsafe {
        sum_sampled::launch_unchecked::<F, R>(
            &points.client,
            CubeCount::Static((block as u32).div_ceil(TILE), n.div_ceil(block) as u32, 1),
            CubeDim::new_2d(SIDE, SIDE),
            launch::address(&[points, &sums]),
            form.width as usize,
            points.clone().into_array_arg(),
            multiplicity.clone().into_array_arg(),
            embedding.clone().into_array_arg(),
            sums.clone().into_array_arg(),
            d as u32,
            n as u32,
            block as u32,
            F::from_elem(power),
            terms,
            form,
        );
    }
    sums
}
