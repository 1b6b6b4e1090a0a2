//! Sums over pairs with source distances computed on the fly, without memory of n².
//!
//! Each pair is computed once, for both of its points. One cube computes a square block of tiles of pairs. A block
//! writes the sums of its rows to the part of its column, and those of its columns to the part of its row: in each part
//! each point belongs to one block, so sums need neither synchronization nor atomics, and their order is fixed.

#![allow(missing_docs)] // `#[cube]` writes companions that cannot be documented.

use burn_cubecl::{CubeRuntime, FloatElement, tensor::CubeTensor};
use cubecl::prelude::*;
use firebox_backends::kernel::launch;
use firebox_core::Share;

use super::{
    pair::{Terms, add_both},
    tile::{
        DistanceForm, Four, GROUPS, SHARE, SIDE, STAGE, TILE, WIDTH, accumulate, delta_of, finish_sums, inverse_of,
        tile_index,
    },
};
use crate::types::{self, Metric, pair_blocks};

// Blocks are planned for tiles of this size.
const _: () = assert!(TILE as usize == types::TILE);

/// Stages sum `s` of the unit's 8 points in shared memory. `lane` is the unit's index among those that share these
/// points, `slot` the index of the 8 points; swizzling by `lane` avoids bank conflicts.
#[cube]
fn stage_sums<F: Float>(
    values: &Array<F>,
    to: &mut SharedMemory<Four<F>>,
    lane: u32,
    slot: u32,
    #[comptime] s: u32,
    #[comptime] count: u32,
) {
    #[unroll]
    for v in 0..comptime!(SHARE / WIDTH) {
        let mut four = Four::<F>::empty();
        #[unroll]
        for c in 0..WIDTH {
            four[c as usize] = values[comptime!(((v * WIDTH + c) * count + s) as usize)];
        }
        to[(lane * GROUPS + ((slot + comptime!(v * SIDE)) ^ lane)) as usize] = four;
    }
}

/// Reduces a staged sum of the four points `first`.. over the units that share them, to `sums` from `at` on; with
/// `further` adds to the value there.
#[cube]
fn reduce_staged<F: Float>(
    from: &SharedMemory<Four<F>>,
    sums: &mut Array<F>,
    at: usize,
    group: u32,
    first: u32,
    n: u32,
    further: bool,
) {
    let mut total = Four::<F>::new(F::new(0.0));
    for lane in 0..SIDE {
        total += from[(lane * GROUPS + (group ^ lane)) as usize];
    }
    #[unroll]
    for c in 0..WIDTH {
        let i = first + group * WIDTH + c;
        if i < n {
            let to = at + i as usize;
            let mut sum = total[c as usize];
            if further {
                sum += sums[to];
            }
            sums[to] = sum;
        }
    }
}

/// Reduces the sums of a tile's points, 8 per unit, to `part` of `sums` `[parts, terms, n]`, two sums at a time.
#[cube]
fn reduce_tile<F: Float>(
    values: &Array<F>,
    a: &mut SharedMemory<Four<F>>,
    b: &mut SharedMemory<Four<F>>,
    sums: &mut Array<F>,
    lane: u32,
    slot: u32,
    part: u32,
    first: u32,
    n: u32,
    further: bool,
    #[comptime] count: u32,
) {
    let unit = UNIT_POS_Y * SIDE + UNIT_POS_X;
    #[unroll]
    for pair in 0..comptime!(count.div_ceil(2)) {
        let s = comptime!(2 * pair);
        let at = (part * count + s) as usize * n as usize;
        sync_cube();
        stage_sums::<F>(values, a, lane, slot, s, count);
        if comptime!(s + 1 < count) {
            stage_sums::<F>(values, b, lane, slot, s + 1, count);
        }
        sync_cube();
        if unit < GROUPS {
            reduce_staged::<F>(a, sums, at, unit, first, n, further);
        }
        if comptime!(s + 1 < count) {
            // Wraps around for lower units, which the guard then excludes.
            let group = unit - GROUPS;
            if group < GROUPS {
                reduce_staged::<F>(b, sums, at + n as usize, group, first, n, further);
            }
        }
    }
}

/// Sums over the block of `side` × `side` tiles in row `CUBE_POS_Y`, column `CUBE_POS_X` of the upper triangle, to
/// `sums` `[parts, terms, n]`. Skips blocks of other ranks.
#[cube(launch_unchecked, address_type = "dynamic", fast_math = FastMath::all() - FastMath::NotNaN)]
fn sum_features<F: Float + CubeElement, W: Size>(
    points: &Array<Vector<F, W>>,
    norms: &Array<F>,
    multiplicity: &Array<F>,
    embedding: &Array<F>,
    sums: &mut Array<F>,
    d: u32,
    n: u32,
    side: u32,
    rank: u32,
    ranks: u32,
    power: F,
    #[comptime] terms: Terms,
    #[comptime] form: DistanceForm,
) {
    let mut a = SharedMemory::<Four<F>>::new(comptime!(STAGE as usize));
    let mut b = SharedMemory::<Four<F>>::new(comptime!(STAGE as usize));
    let m = comptime!(terms.m);
    let count = comptime!(terms.count());
    let tiles = n.div_ceil(TILE);
    let top = CUBE_POS_Y * side;
    // Uniform across the cube, as the barriers inside require.
    let mine = CUBE_POS_X >= CUBE_POS_Y && (CUBE_POS_X + CUBE_POS_Y) % ranks == rank;
    let bottom = select(mine, (top + side).min(tiles), top);
    let end = (CUBE_POS_X * side + side).min(tiles);
    for i in top..bottom {
        let start = i.max(CUBE_POS_X * side);
        for j in start..end {
            let row = i * TILE;
            let column = j * TILE;
            let mut tile = Array::<F>::new(comptime!((SHARE * SHARE) as usize));
            accumulate::<F, W>(points, points, &mut a, &mut b, &mut tile, d, row, n, column, n, form);
            finish_sums::<F, W>(&mut tile, points, norms, d, row, column, n, form);

            let mut own = Array::<F>::new(comptime!((SHARE * m) as usize));
            let mut own_multiplicity = Array::<F>::new(comptime!(SHARE as usize));
            let mut row_sums = Array::<F>::new(comptime!((SHARE * count) as usize));
            let mut column_sums = Array::<F>::new(comptime!((SHARE * count) as usize));
            #[unroll]
            for p in 0..SHARE {
                let at = (row + tile_index(UNIT_POS_Y, p)).min(n - 1);
                own_multiplicity[p as usize] = multiplicity[at as usize];
                #[unroll]
                for k in 0..m {
                    own[comptime!((p * m + k) as usize)] = embedding[k as usize * n as usize + at as usize];
                }
                #[unroll]
                for s in 0..count {
                    row_sums[comptime!((p * count + s) as usize)] = F::new(0.0);
                    column_sums[comptime!((p * count + s) as usize)] = F::new(0.0);
                }
            }
            #[unroll]
            for q in 0..SHARE {
                let at = (column + tile_index(UNIT_POS_X, q)).min(n - 1);
                let mu = multiplicity[at as usize];
                let mut other = Array::<F>::new(comptime!(m as usize));
                #[unroll]
                for k in 0..m {
                    other[k as usize] = embedding[k as usize * n as usize + at as usize];
                }
                #[unroll]
                for p in 0..SHARE {
                    let sum = tile[comptime!((p * SHARE + q) as usize)];
                    let inverse = inverse_of::<F>(sum, form.metric);
                    let delta = delta_of::<F>(sum, inverse, form.metric);
                    let mut difference = Array::<F>::new(comptime!(m as usize));
                    #[unroll]
                    for k in 0..m {
                        difference[k as usize] = own[comptime!((p * m + k) as usize)] - other[k as usize];
                    }
                    add_both::<F>(
                        &mut row_sums,
                        comptime!(p * count),
                        &mut column_sums,
                        comptime!(q * count),
                        inverse,
                        delta,
                        own_multiplicity[p as usize],
                        mu,
                        &difference,
                        power,
                        terms,
                    );
                }
            }

            let (x, y) = (UNIT_POS_X, UNIT_POS_Y);
            // A diagonal tile has each pair twice, so its row sums are complete.
            if j > i {
                reduce_tile::<F>(&column_sums, &mut a, &mut b, sums, y, x, CUBE_POS_Y, column, n, i > top, count);
            }
            let further = j > start || CUBE_POS_X == CUBE_POS_Y && i > top;
            reduce_tile::<F>(&row_sums, &mut a, &mut b, sums, x, y, CUBE_POS_X, row, n, further, count);
        }
    }
}

/// |x|² of each of `points` `[d, n]`.
#[cube(launch_unchecked, address_type = "dynamic")]
fn square_norms<F: Float + CubeElement>(points: &Array<F>, norms: &mut Array<F>, d: u32, n: u32) {
    let i = CUBE_POS_X * CUBE_DIM_X + UNIT_POS_X;
    if i < n {
        let mut sum = F::new(0.0);
        for k in 0..d {
            let x = points[k as usize * n as usize + i as usize];
            sum += x * x;
        }
        norms[i as usize] = sum;
    }
}

/// Features on their device, with their squared norms.
pub(super) struct Features<R: CubeRuntime> {
    points: CubeTensor<R>,
    norms: CubeTensor<R>,
    form: DistanceForm,
    d: u32,
    n: u32,
}

impl<R: CubeRuntime> Features<R> {
    pub(super) fn new<F: FloatElement>(points: CubeTensor<R>, metric: Metric, gram: bool) -> Self {
        let points = launch::dense(points);
        let [d, n] = points.meta.shape().dims();
        let form = DistanceForm::new(metric, gram, &[n]);
        // Without dot products norms are not read, but a buffer must be bound.
        let norms = if form.gram {
            let norms = launch::output(&points, [n], points.dtype);
            let client = points.client.clone();
            let units = launch::units_within(&client, 256);
            // SAFETY: the kernel guards points against n.
            unsafe {
                square_norms::launch_unchecked::<F, R>(
                    &client,
                    CubeCount::Static((n as u32).div_ceil(units), 1, 1),
                    CubeDim::new_1d(units),
                    launch::address(&[&points]),
                    points.clone().into_array_arg(),
                    norms.clone().into_array_arg(),
                    d as u32,
                    n as u32,
                );
            }
            norms
        } else {
            points.clone()
        };
        Self { points, norms, form, d: d as u32, n: n as u32 }
    }

    /// Sums `[parts, terms, n]` over a share of the pairs of an embedding `[m, n]`.
    pub(super) fn sums<F: FloatElement>(
        &self,
        multiplicity: &CubeTensor<R>,
        embedding: &CubeTensor<R>,
        power: f64,
        terms: Terms,
        share: Share,
    ) -> CubeTensor<R> {
        let client = &self.points.client;
        let (n, count) = (self.n as usize, terms.count() as usize);
        let largest = client.properties().memory.max_page_size;
        let (side, parts) = pair_blocks(n, count, size_of::<F>(), largest, share.size);
        let shape = [parts, count, n];
        // Blocks of other ranks are not written.
        let whole = share.is_whole();
        let sums =
            if whole { launch::output(embedding, shape, embedding.dtype) } else { launch::zeros(embedding, shape) };
        // SAFETY: points are clamped to n where they are read and guarded where sums are written.
        unsafe {
            sum_features::launch_unchecked::<F, R>(
                client,
                CubeCount::Static(parts as u32, parts as u32, 1),
                CubeDim::new_2d(SIDE, SIDE),
                launch::address(&[&self.points, &sums]),
                self.form.width as usize,
                self.points.clone().into_array_arg(),
                self.norms.clone().into_array_arg(),
                multiplicity.clone().into_array_arg(),
                embedding.clone().into_array_arg(),
                sums.clone().into_array_arg(),
                self.d,
                self.n,
                side as u32,
                share.rank as u32,
                share.size as u32,
                F::from_elem(power),
                terms,
                self.form,
            );
        }
        sums
    }
}
