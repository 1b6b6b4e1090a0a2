//! Distances of a tile of pairs, computed from features: 128 points against 128, each unit 8 × 8 of them in registers.

#![allow(missing_docs)] // `#[cube]` writes companions that cannot be documented.

use cubecl::prelude::*;

use crate::ops::{CLOSE, Metric};

/// Units along each side of a cube.
pub(super) const SIDE: u32 = 16;
/// Points along each side of a unit's share.
pub(super) const SHARE: u32 = 8;
/// Points along each side of a tile.
pub(super) const TILE: u32 = SIDE * SHARE;
/// Numbers read from shared memory at once.
const WIDTH: u32 = 4;
/// Dimensions staged at once.
const CHUNK: u32 = 16;
/// Vectors of a staged side.
pub(super) const STAGE: u32 = CHUNK * TILE / WIDTH;
/// Those of them that a unit brings.
const ITEMS: u32 = STAGE / (SIDE * SIDE);

/// Four numbers.
pub(super) type Four<F> = Vector<F, Const<4>>;

/// How distances are computed, known when the kernel is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Way {
    pub(super) metric: Metric,
    /// Through dot products.
    pub(super) gram: bool,
}

/// The point of a unit's share, within the tile: groups of four that lie together, so that they are read at once.
#[cube]
pub(super) fn place_of(unit: u32, #[comptime] p: u32) -> u32 {
    (unit + comptime!(p / WIDTH * SIDE)) * WIDTH + comptime!(p % WIDTH)
}

/// Reads the unit's share of dimensions `start`.. of points `first`.. of `points` `[d, n]`; dimensions past d are 0.
#[cube]
fn fetch<F: Float>(points: &Array<F>, to: &mut Array<Four<F>>, start: u32, d: u32, first: u32, n: u32) {
    let unit = UNIT_POS_Y * SIDE + UNIT_POS_X;
    #[unroll]
    for item in 0..ITEMS {
        let at = unit + comptime!(item * SIDE * SIDE);
        let k = start + at / comptime!(TILE / WIDTH);
        let column = first + at % comptime!(TILE / WIDTH) * WIDTH;
        let row = k.min(d - 1) as usize * n as usize;
        let mut four = Four::<F>::empty();
        #[unroll]
        for c in 0..WIDTH {
            let value = points[row + (column + c).min(n - 1) as usize];
            four[c as usize] = select(k < d, value, F::new(0.0));
        }
        to[item as usize] = four;
    }
}

/// Puts the unit's share where all of the cube can read it.
#[cube]
fn stage<F: Float>(from: &Array<Four<F>>, to: &mut SharedMemory<Four<F>>) {
    let unit = UNIT_POS_Y * SIDE + UNIT_POS_X;
    #[unroll]
    for item in 0..ITEMS {
        to[(unit + comptime!(item * SIDE * SIDE)) as usize] = from[item as usize];
    }
}

/// Fills `into` with the sums of the unit's 8 × 8 pairs of `rows` `[d, r]` from `row` on and `columns` `[d, n]` from
/// `column` on: Σ(a − b)², Σ|a − b| or Σa·b. Every unit of the cube takes part.
#[cube]
pub(super) fn accumulate<F: Float>(
    rows: &Array<F>,
    columns: &Array<F>,
    a: &mut SharedMemory<Four<F>>,
    b: &mut SharedMemory<Four<F>>,
    into: &mut Array<F>,
    d: u32,
    row: u32,
    r: u32,
    column: u32,
    n: u32,
    #[comptime] way: Way,
) {
    #[unroll]
    for c in 0..comptime!(SHARE * SHARE) {
        into[c as usize] = F::new(0.0);
    }
    // What comes next is read while what is staged is worked on, so that nobody waits for memory.
    let mut next_rows = Array::<Four<F>>::new(comptime!(ITEMS as usize));
    let mut next_columns = Array::<Four<F>>::new(comptime!(ITEMS as usize));
    fetch::<F>(rows, &mut next_rows, 0u32, d, row, r);
    fetch::<F>(columns, &mut next_columns, 0u32, d, column, n);
    for start in range_stepped(0u32, d, CHUNK) {
        // What is staged is overwritten now, so all must be done with it.
        sync_cube();
        stage::<F>(&next_rows, a);
        stage::<F>(&next_columns, b);
        sync_cube();
        if start + CHUNK < d {
            fetch::<F>(rows, &mut next_rows, start + CHUNK, d, row, r);
            fetch::<F>(columns, &mut next_columns, start + CHUNK, d, column, n);
        }
        let here = (d - start).min(CHUNK);
        for k in 0..here {
            let line = k * comptime!(TILE / WIDTH);
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
                    let term = if comptime!(way.gram) {
                        x * y
                    } else if comptime!(way.metric == Metric::Manhattan) {
                        (x - y).abs()
                    } else {
                        (x - y) * (x - y)
                    };
                    into[comptime!((p * SHARE + q) as usize)] += term;
                }
            }
        }
    }
}

/// The sum over dimensions that δ is made from, of points i and j, out of what [`accumulate`] found. From dot
/// products, where digits would cancel, it is computed again from differences.
#[cube]
pub(super) fn settle<F: Float>(
    found: F,
    rows: &Array<F>,
    columns: &Array<F>,
    row_norm: F,
    column_norm: F,
    d: u32,
    i: u32,
    r: u32,
    j: u32,
    n: u32,
    #[comptime] way: Way,
) -> F {
    if comptime!(way.gram) {
        let norms = row_norm + column_norm;
        let mut square = norms - found - found;
        if square < norms * F::new(comptime!(CLOSE)) {
            square = F::new(0.0);
            for k in 0..d {
                let delta = rows[k as usize * r as usize + i as usize] - columns[k as usize * n as usize + j as usize];
                square += delta * delta;
            }
        }
        square
    } else {
        found
    }
}

/// 1/δ from the sum over dimensions, 0 where δ = 0.
#[cube]
pub(super) fn inverse_of<F: Float>(sum: F, #[comptime] metric: Metric) -> F {
    let sure = select(sum > F::new(0.0), sum, F::new(1.0));
    let inverse = match comptime!(metric) {
        Metric::Euclidean => sure.inverse_sqrt(),
        Metric::Manhattan => F::new(1.0) / sure,
        Metric::Cosine => F::new(2.0) / sure,
    };
    select(sum > F::new(0.0), inverse, F::new(0.0))
}

/// δ from the sum over dimensions and 1/δ.
#[cube]
pub(super) fn delta_of<F: Float>(sum: F, inverse: F, #[comptime] metric: Metric) -> F {
    match comptime!(metric) {
        Metric::Euclidean => sum * inverse,
        Metric::Manhattan => sum,
        Metric::Cosine => sum * F::new(0.5),
    }
}
