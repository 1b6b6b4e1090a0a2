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
pub(super) const WIDTH: u32 = 4;
/// Dimensions staged at once: so many that each unit brings one vector of either side.
const CHUNK: u32 = SIDE * SIDE / GROUPS;
/// Groups of points that are read at once, along a side of a tile.
pub(super) const GROUPS: u32 = TILE / WIDTH;
/// Vectors of a staged side: there are two, one to work on and one to fill.
pub(super) const STAGE: u32 = 2 * CHUNK * GROUPS;

/// Four numbers.
pub(super) type Four<F> = Vector<F, Const<4>>;

/// How distances are computed, known when the kernel is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Way {
    pub(super) metric: Metric,
    /// Through dot products.
    pub(super) gram: bool,
    /// Numbers of the features read at once.
    pub(super) width: u32,
}

impl Way {
    /// For features of so many points in rows, and tiles that begin at multiples of such numbers.
    pub(super) fn new(metric: Metric, gram: bool, points: &[usize]) -> Self {
        let whole = points.iter().all(|n| n.is_multiple_of(WIDTH as usize) && *n > 0);
        Self { metric, gram: gram && metric != Metric::Manhattan, width: if whole { WIDTH } else { 1 } }
    }
}

/// The point of a unit's share, within the tile: groups of four that lie together, so that they are read at once.
#[cube]
pub(super) fn place_of(unit: u32, p: u32) -> u32 {
    (unit + p / WIDTH * SIDE) * WIDTH + p % WIDTH
}

/// The unit's vector of dimensions `start`.. of points `first`.. of `points` `[d, n]`; dimensions past d are 0.
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

/// Fills `into` with the sums of the unit's 8 × 8 pairs of `rows` `[d, r]` from `row` on and `columns` `[d, n]` from
/// `column` on: Σ(a − b)², Σ|a − b| or Σa·b. Every unit of the cube takes part.
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
    #[comptime] way: Way,
) {
    #[unroll]
    for c in 0..comptime!(SHARE * SHARE) {
        into[c as usize] = F::new(0.0);
    }
    let unit = UNIT_POS_Y * SIDE + UNIT_POS_X;
    let first_rows = fetch::<F, W>(rows, 0u32, d, row, r, way.width);
    let first_columns = fetch::<F, W>(columns, 0u32, d, column, n, way.width);
    // What was here before is overwritten now, so all must be done with it.
    sync_cube();
    a[unit as usize] = first_rows;
    b[unit as usize] = first_columns;
    sync_cube();
    let mut here = 0u32;
    for start in range_stepped(0u32, d, CHUNK) {
        // What comes next is read while what is staged is worked on, so that nobody waits for memory. After the last
        // dimension too: a condition would have the compiler put it off to where it is used.
        let there = STAGE / 2 - here;
        let next_rows = fetch::<F, W>(rows, start + CHUNK, d, row, r, way.width);
        let next_columns = fetch::<F, W>(columns, start + CHUNK, d, column, n, way.width);
        #[unroll]
        for k in 0..CHUNK {
            let line = here + comptime!(k * GROUPS);
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
        a[(there + unit) as usize] = next_rows;
        b[(there + unit) as usize] = next_columns;
        sync_cube();
        here = there;
    }
}

/// Makes what [`accumulate`] found for pairs of `points` `[d, n]` the sums that δ is made from, 0 where there is no
/// pair. From dot products, where digits would cancel, they are computed again from differences.
#[cube]
pub(super) fn settle<F: Float, W: Size>(
    found: &mut Array<F>,
    points: &Array<Vector<F, W>>,
    norms: &Array<F>,
    d: u32,
    row: u32,
    column: u32,
    n: u32,
    #[comptime] way: Way,
) {
    let mut rare = row == column || row + TILE > n || column + TILE > n;
    if comptime!(way.gram) {
        let mut own = Array::<F>::new(comptime!(SHARE as usize));
        #[unroll]
        for p in 0..SHARE {
            own[p as usize] = norms[(row + place_of(UNIT_POS_Y, p)).min(n - 1) as usize];
        }
        #[unroll]
        for q in 0..SHARE {
            let other = norms[(column + place_of(UNIT_POS_X, q)).min(n - 1) as usize];
            #[unroll]
            for p in 0..SHARE {
                let both = own[p as usize] + other;
                let dot = found[comptime!((p * SHARE + q) as usize)];
                let square = both - dot - dot;
                rare = rare || square < both * F::new(comptime!(CLOSE));
                found[comptime!((p * SHARE + q) as usize)] = square;
            }
        }
    }
    if rare {
        // Found by an index that is known at run time only, so that there is one such loop, not one a pair: apart from
        // registers, and seldom.
        let mut apart = Array::<F>::new(comptime!((SHARE * SHARE) as usize));
        #[unroll]
        for c in 0..comptime!(SHARE * SHARE) {
            apart[c as usize] = found[c as usize];
        }
        for c in 0..comptime!(SHARE * SHARE) {
            let i = row + place_of(UNIT_POS_Y, c / SHARE);
            let j = column + place_of(UNIT_POS_X, c % SHARE);
            if i == j || i >= n || j >= n {
                apart[c as usize] = F::new(0.0);
            } else if comptime!(way.gram) {
                let both = norms[i as usize] + norms[j as usize];
                if apart[c as usize] < both * F::new(comptime!(CLOSE)) {
                    let mut square = F::new(0.0);
                    for k in 0..d {
                        let delta = coordinate::<F, W>(points, k, i, n, way.width)
                            - coordinate::<F, W>(points, k, j, n, way.width);
                        square += delta * delta;
                    }
                    apart[c as usize] = square;
                }
            }
        }
        #[unroll]
        for c in 0..comptime!(SHARE * SHARE) {
            found[c as usize] = apart[c as usize];
        }
    }
}

/// Dimension k of point i.
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
