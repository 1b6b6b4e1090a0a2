//! Distances of a tile of 128 × 128 pairs computed from features, 8 × 8 per unit in registers.

#![allow(missing_docs)] // `#[cube]` writes companions that cannot be documented.

use cubecl::prelude::*;

use crate::types::{CLOSE, Metric};

/// Units along each side of a cube.
pub(super) const SIDE: u32 = 16;
/// Points along each side of a unit's share.
pub(super) const SHARE: u32 = 8;
/// Points along each side of a tile.
pub(super) const TILE: u32 = SIDE * SHARE;
/// Width of vectors in shared memory.
pub(super) const WIDTH: u32 = 4;
/// Dimensions staged at once: each unit loads one vector of either side.
const CHUNK: u32 = SIDE * SIDE / GROUPS;
/// Vectors of points along a side of a tile.
pub(super) const GROUPS: u32 = TILE / WIDTH;
/// Vectors of a staged side, double-buffered.
pub(super) const STAGE: u32 = 2 * CHUNK * GROUPS;

pub(super) type Four<F> = Vector<F, Const<4>>;

/// Compile-time description of the computation of distances.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct DistanceForm {
    pub(super) metric: Metric,
    /// From dot products.
    pub(super) gram: bool,
    /// Width of vector loads of features.
    pub(super) width: u32,
}

impl DistanceForm {
    /// Vector loads are used if all of `points`, row lengths and tile offsets, are multiples of [`WIDTH`].
    pub(super) fn new(metric: Metric, gram: bool, points: &[usize]) -> Self {
        let whole = points.iter().all(|n| n.is_multiple_of(WIDTH as usize) && *n > 0);
        Self { metric, gram: gram && metric != Metric::Manhattan, width: if whole { WIDTH } else { 1 } }
    }
}

/// Index within the tile of point `p` of a unit's share: vectors of four contiguous points.
#[cube]
pub(super) fn tile_index(unit: u32, p: u32) -> u32 {
    (unit + p / WIDTH * SIDE) * WIDTH + p % WIDTH
}

/// The unit's vector of a chunk of `points` `[d, n]` from dimension `start` and point `first` on; 0 for dimensions from
/// d on.
#[cube]
fn fetch<F: Float, W: Size>(
    points: &Array<Vector<F, W>>,
    start: u32,
    d: u32,
    first: u32,
    n: u32,
    #[comptime] width: u32,
) -> Four<F> {
    let unit = UNIT_POS_Y * SIDE + UNIT_POS_X;
    let k = start + unit / GROUPS;
    let column = first + unit % GROUPS * WIDTH;
    let row = k.min(d - 1) as usize * n as usize;
    let mut four = Four::<F>::empty();
    if comptime!(width == WIDTH) {
        let vector = points[(row + column.min(n - WIDTH) as usize) / comptime!(WIDTH as usize)];
        #[unroll]
        for c in 0..WIDTH {
            four[c as usize] = select(k < d, vector[c as usize], F::new(0.0));
        }
    } else {
        #[unroll]
        for c in 0..WIDTH {
            let value = points[row + (column + c).min(n - 1) as usize][0];
            four[c as usize] = select(k < d, value, F::new(0.0));
        }
    }
    four
}

/// Computes Σ(a − b)², Σ|a − b| or Σa·b for the unit's 8 × 8 pairs of `rows` `[d, r]` from `row` on and `columns`
/// `[d, n]` from `column` on. All units of the cube must call it.
#[cube]
pub(super) fn accumulate<F: Float, W: Size>(
    rows: &Array<Vector<F, W>>,
    columns: &Array<Vector<F, W>>,
    a: &mut SharedMemory<Four<F>>,
    b: &mut SharedMemory<Four<F>>,
    into: &mut Array<F>,
    d: u32,
    row: u32,
    r: u32,
    column: u32,
    n: u32,
    #[comptime] form: DistanceForm,
) {
    #[unroll]
    for c in 0..comptime!(SHARE * SHARE) {
        into[c as usize] = F::new(0.0);
    }
    let unit = UNIT_POS_Y * SIDE + UNIT_POS_X;
    let first_rows = fetch::<F, W>(rows, 0u32, d, row, r, form.width);
    let first_columns = fetch::<F, W>(columns, 0u32, d, column, n, form.width);
    // All units must have finished reading the previous contents.
    sync_cube();
    a[unit as usize] = first_rows;
    b[unit as usize] = first_columns;
    sync_cube();
    let mut current = 0u32;
    for start in range_stepped(0u32, d, CHUNK) {
        // Prefetches the next chunk to hide memory latency. Unconditionally, since a condition would let the compiler
        // sink the loads to their use.
        let next = STAGE / 2 - current;
        let next_rows = fetch::<F, W>(rows, start + CHUNK, d, row, r, form.width);
        let next_columns = fetch::<F, W>(columns, start + CHUNK, d, column, n, form.width);
        for k in 0..CHUNK {
            let line = current + k * GROUPS;
            let mut left = Array::<F>::new(comptime!(SHARE as usize));
            let mut right = Array::<F>::new(comptime!(SHARE as usize));
            #[unroll]
            for v in 0..comptime!(SHARE / WIDTH) {
                let of_row = a[(line + UNIT_POS_Y + comptime!(v * SIDE)) as usize];
                let of_column = b[(line + UNIT_POS_X + comptime!(v * SIDE)) as usize];
                #[unroll]
                for c in 0..WIDTH {
                    left[comptime!((v * WIDTH + c) as usize)] = of_row[c as usize];
                    right[comptime!((v * WIDTH + c) as usize)] = of_column[c as usize];
                }
            }
            #[unroll]
            for p in 0..SHARE {
                #[unroll]
                for q in 0..SHARE {
                    let x = left[p as usize];
                    let y = right[q as usize];
                    let term = if comptime!(form.gram) {
                        x * y
                    } else if comptime!(form.metric == Metric::Manhattan) {
                        (x - y).abs()
                    } else {
                        (x - y) * (x - y)
                    };
                    into[comptime!((p * SHARE + q) as usize)] += term;
                }
            }
        }
        a[(next + unit) as usize] = next_rows;
        b[(next + unit) as usize] = next_columns;
        sync_cube();
        current = next;
    }
}

/// Turns the result of [`accumulate`] for pairs of `points` `[d, n]` into the sums that δ is computed from, 0 where no
/// pair exists. Dot products with cancellation are recomputed from differences.
#[cube]
pub(super) fn finish_sums<F: Float, W: Size>(
    tile: &mut Array<F>,
    points: &Array<Vector<F, W>>,
    norms: &Array<F>,
    d: u32,
    row: u32,
    column: u32,
    n: u32,
    #[comptime] form: DistanceForm,
) {
    let mut rare = row == column || row + TILE > n || column + TILE > n;
    if comptime!(form.gram) {
        let mut own = Array::<F>::new(comptime!(SHARE as usize));
        #[unroll]
        for p in 0..SHARE {
            own[p as usize] = norms[(row + tile_index(UNIT_POS_Y, p)).min(n - 1) as usize];
        }
        #[unroll]
        for q in 0..SHARE {
            let other = norms[(column + tile_index(UNIT_POS_X, q)).min(n - 1) as usize];
            #[unroll]
            for p in 0..SHARE {
                let both = own[p as usize] + other;
                let dot = tile[comptime!((p * SHARE + q) as usize)];
                let square = both - dot - dot;
                rare = rare || square < both * F::new(comptime!(CLOSE));
                tile[comptime!((p * SHARE + q) as usize)] = square;
            }
        }
    }
    if rare {
        // Indexed at run time, so that the loop is not unrolled for each pair: in local memory, but rare.
        let mut local = Array::<F>::new(comptime!((SHARE * SHARE) as usize));
        #[unroll]
        for c in 0..comptime!(SHARE * SHARE) {
            local[c as usize] = tile[c as usize];
        }
        for c in 0..comptime!(SHARE * SHARE) {
            let i = row + tile_index(UNIT_POS_Y, c / SHARE);
            let j = column + tile_index(UNIT_POS_X, c % SHARE);
            if i == j || i >= n || j >= n {
                local[c as usize] = F::new(0.0);
            } else if comptime!(form.gram) {
                let both = norms[i as usize] + norms[j as usize];
                if local[c as usize] < both * F::new(comptime!(CLOSE)) {
                    let mut square = F::new(0.0);
                    for k in 0..d {
                        let delta = coordinate::<F, W>(points, k, i, n, form.width)
                            - coordinate::<F, W>(points, k, j, n, form.width);
                        square += delta * delta;
                    }
                    local[c as usize] = square;
                }
            }
        }
        #[unroll]
        for c in 0..comptime!(SHARE * SHARE) {
            tile[c as usize] = local[c as usize];
        }
    }
}

/// Coordinate k of point i.
#[cube]
fn coordinate<F: Float, W: Size>(points: &Array<Vector<F, W>>, k: u32, i: u32, n: u32, #[comptime] width: u32) -> F {
    let at = k as usize * n as usize + i as usize;
    let vector = points[at / comptime!(width as usize)];
    let mut value = vector[0];
    #[unroll]
    for c in 1..width {
        value = select(i % width == c, vector[c as usize], value);
    }
    value
}

/// 1/δ from the sum over dimensions; 0 where δ = 0.
#[cube]
pub(super) fn inverse_of<F: Float>(sum: F, #[comptime] metric: Metric) -> F {
    let divisor = select(sum > F::new(0.0), sum, F::new(1.0));
    let inverse = match comptime!(metric) {
        Metric::Euclidean => divisor.inverse_sqrt(),
        Metric::Manhattan => F::new(1.0) / divisor,
        Metric::Cosine | Metric::Correlation => F::new(2.0) / divisor,
    };
    select(sum > F::new(0.0), inverse, F::new(0.0))
}

/// δ from the sum over dimensions and 1/δ.
#[cube]
pub(super) fn delta_of<F: Float>(sum: F, inverse: F, #[comptime] metric: Metric) -> F {
    match comptime!(metric) {
        Metric::Euclidean => sum * inverse,
        Metric::Manhattan => sum,
        Metric::Cosine | Metric::Correlation => sum * F::new(0.5),
    }
}
