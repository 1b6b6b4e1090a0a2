//! Sums over pairs whose source distances are computed as they are needed: no memory of n².
//!
//! Each pair is computed once, for both of its points. Tiles of pairs make up square blocks, a cube each. A block leaves
//! the sums of its rows in the part of its column, and those of its columns in the part of its row: in each part each
//! point belongs to one block, so that nobody waits, nothing is added atomically, and the order is always the same.

#![allow(missing_docs)] // `#[cube]` writes companions that cannot be documented.

use burn_cubecl::{CubeRuntime, FloatElement, tensor::CubeTensor};
use cubecl::prelude::*;
use firebox_backends::kernel::launch;
use firebox_core::Share;

use super::{
    pair::{Terms, add_both},
    tile::{Four, GROUPS, SHARE, SIDE, STAGE, TILE, WIDTH, Way, accumulate, delta_of, inverse_of, place_of, settle},
};
use crate::ops::Metric;

/// So many parts are always allowed; fewer blocks would leave a device idle while the last ones end.
const FEW_PARTS: usize = 64;
/// Bytes up to which there are more.
const PARTS_BYTES: usize = 1 << 24;

/// Tiles along each side of a block, and the parts that `count` sums of `size` bytes for each of `n` points come in,
/// on a device whose largest buffer has so many bytes, one of so many that share them.
pub(crate) fn blocks(n: usize, count: usize, size: usize, largest: u64, ranks: usize) -> (usize, usize) {
    let tiles = n.div_ceil(TILE as usize).max(1);
    let part = (count * size * n).max(1);
    let most = usize::try_from(largest).unwrap_or(usize::MAX) / part;
    // Blocks go with the square of the parts: each rank has as many as one by itself, or more.
    let few = FEW_PARTS * if ranks > 1 { (2 * ranks).isqrt() } else { 1 };
    let parts = (PARTS_BYTES / part).max(few).min(most).clamp(1, tiles);
    let side = tiles.div_ceil(parts);
    (side, tiles.div_ceil(side))
}

/// Puts sum `s` of the unit's 8 points where all of the cube can read it. `who` of the units that share these points it
/// is, and `place` which 8 they are; turned about by `who`, vectors that are written together are in different banks.
#[cube]
fn spread<F: Float>(
    values: &Array<F>,
    to: &mut SharedMemory<Four<F>>,
    who: u32,
    place: u32,
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
        to[(who * GROUPS + ((place + comptime!(v * SIDE)) ^ who)) as usize] = four;
    }
}

/// Brings a sum of the four points `first`.. from the units that share them to `sums`, which begin at `at`; adds it to
/// what is there if this is not the first.
#[cube]
fn collect<F: Float>(
    from: &SharedMemory<Four<F>>,
    sums: &mut Array<F>,
    at: usize,
    group: u32,
    first: u32,
    n: u32,
    further: bool,
) {
    let mut total = Four::<F>::new(F::new(0.0));
    #[unroll]
    for who in 0..SIDE {
        total += from[(who * GROUPS + (group ^ who)) as usize];
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

/// Brings the sums of a tile's points, 8 a unit, to `part` of `sums` `[parts, terms, n]`, two at a time.
#[cube]
fn bring<F: Float>(
    values: &Array<F>,
    a: &mut SharedMemory<Four<F>>,
    b: &mut SharedMemory<Four<F>>,
    sums: &mut Array<F>,
    who: u32,
    place: u32,
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
        spread::<F>(values, a, who, place, s, count);
        if comptime!(s + 1 < count) {
            spread::<F>(values, b, who, place, s + 1, count);
        }
        sync_cube();
        if unit < GROUPS {
            collect::<F>(a, sums, at, unit, first, n, further);
        }
        if comptime!(s + 1 < count) {
            // Large for units before these: numbers without a sign begin again.
            let group = unit - GROUPS;
            if group < GROUPS {
                collect::<F>(b, sums, at + n as usize, group, first, n, further);
            }
        }
    }
}

/// Sums for the block of `side` tiles a side in row `CUBE_POS_Y`, column `CUBE_POS_X` of the upper triangle, to `sums`
/// `[parts, terms, n]`; of the blocks of other ranks nothing.
#[cube(launch_unchecked, address_type = "dynamic", fast_math = FastMath::all() - FastMath::NotNaN)]
fn sum_features<F: Float + CubeElement, W: Size>(
    points: &Array<Vector<F, W>>,
    norms: &Array<F>,
    multiplicity: &Array<F>,
    places: &Array<F>,
    sums: &mut Array<F>,
    d: u32,
    n: u32,
    side: u32,
    rank: u32,
    ranks: u32,
    power: F,
    #[comptime] terms: Terms,
    #[comptime] way: Way,
) {
    let mut a = SharedMemory::<Four<F>>::new(comptime!(STAGE as usize));
    let mut b = SharedMemory::<Four<F>>::new(comptime!(STAGE as usize));
    let m = comptime!(terms.m);
    let count = comptime!(terms.count());
    let tiles = n.div_ceil(TILE);
    let top = CUBE_POS_Y * side;
    // The same for all units of a cube, as the barriers inside need.
    let mine = CUBE_POS_X >= CUBE_POS_Y && (CUBE_POS_X + CUBE_POS_Y) % ranks == rank;
    let bottom = select(mine, (top + side).min(tiles), top);
    let end = (CUBE_POS_X * side + side).min(tiles);
    for i in top..bottom {
        let start = i.max(CUBE_POS_X * side);
        for j in start..end {
            let row = i * TILE;
            let column = j * TILE;
            let mut found = Array::<F>::new(comptime!((SHARE * SHARE) as usize));
            accumulate::<F, W>(points, points, &mut a, &mut b, &mut found, d, row, n, column, n, way);
            settle::<F, W>(&mut found, points, norms, d, row, column, n, way);

            let mut own = Array::<F>::new(comptime!((SHARE * m) as usize));
            let mut own_multiplicity = Array::<F>::new(comptime!(SHARE as usize));
            let mut row_sums = Array::<F>::new(comptime!((SHARE * count) as usize));
            let mut column_sums = Array::<F>::new(comptime!((SHARE * count) as usize));
            #[unroll]
            for p in 0..SHARE {
                let at = (row + place_of(UNIT_POS_Y, p)).min(n - 1);
                own_multiplicity[p as usize] = multiplicity[at as usize];
                #[unroll]
                for k in 0..m {
                    own[comptime!((p * m + k) as usize)] = places[k as usize * n as usize + at as usize];
                }
                #[unroll]
                for s in 0..count {
                    row_sums[comptime!((p * count + s) as usize)] = F::new(0.0);
                    column_sums[comptime!((p * count + s) as usize)] = F::new(0.0);
                }
            }
            #[unroll]
            for q in 0..SHARE {
                let at = (column + place_of(UNIT_POS_X, q)).min(n - 1);
                let mu = multiplicity[at as usize];
                let mut far = Array::<F>::new(comptime!(m as usize));
                #[unroll]
                for k in 0..m {
                    far[k as usize] = places[k as usize * n as usize + at as usize];
                }
                #[unroll]
                for p in 0..SHARE {
                    let sum = found[comptime!((p * SHARE + q) as usize)];
                    let inverse = inverse_of::<F>(sum, way.metric);
                    let delta = delta_of::<F>(sum, inverse, way.metric);
                    let mut across = Array::<F>::new(comptime!(m as usize));
                    #[unroll]
                    for k in 0..m {
                        across[k as usize] = own[comptime!((p * m + k) as usize)] - far[k as usize];
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
                        &across,
                        power,
                        terms,
                    );
                }
            }

            let (x, y) = (UNIT_POS_X, UNIT_POS_Y);
            // On the diagonal a tile has each of its pairs twice, so that its rows are all there is.
            if j > i {
                bring::<F>(&column_sums, &mut a, &mut b, sums, y, x, CUBE_POS_Y, column, n, i > top, count);
            }
            let further = j > start || CUBE_POS_X == CUBE_POS_Y && i > top;
            bring::<F>(&row_sums, &mut a, &mut b, sums, x, y, CUBE_POS_X, row, n, further, count);
        }
    }
}

/// Σ over dimensions of x² for each of `points` `[d, n]`.
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

/// Features on their device, with what every launch needs of them.
pub(super) struct Features<R: CubeRuntime> {
    points: CubeTensor<R>,
    norms: CubeTensor<R>,
    way: Way,
    d: u32,
    n: u32,
}

impl<R: CubeRuntime> Features<R> {
    pub(super) fn new<F: FloatElement>(points: CubeTensor<R>, metric: Metric, gram: bool) -> Self {
        let points = launch::dense(points);
        let [d, n] = points.meta.shape().dims();
        let way = Way::new(metric, gram, &[n]);
        // Without dot products nobody reads norms, but something must be bound.
        let norms = if way.gram {
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
        Self { points, norms, way, d: d as u32, n: n as u32 }
    }

    /// Sums `[parts, terms, n]` over a share of the pairs of an embedding `places` `[m, n]`.
    pub(super) fn sums<F: FloatElement>(
        &self,
        multiplicity: &CubeTensor<R>,
        places: &CubeTensor<R>,
        power: f64,
        terms: Terms,
        share: Share,
    ) -> CubeTensor<R> {
        let client = &self.points.client;
        let (n, count) = (self.n as usize, terms.count() as usize);
        let largest = client.properties().memory.max_page_size;
        let (side, parts) = blocks(n, count, size_of::<F>(), largest, share.size);
        let shape = [parts, count, n];
        // Where blocks are others', nobody writes.
        let whole = share.is_whole();
        let sums = if whole { launch::output(places, shape, places.dtype) } else { launch::zeros(places, shape) };
        // SAFETY: points are clamped to n where they are read and guarded where sums are written.
        unsafe {
            sum_features::launch_unchecked::<F, R>(
                client,
                CubeCount::Static(parts as u32, parts as u32, 1),
                CubeDim::new_2d(SIDE, SIDE),
                launch::address(&[&self.points, &sums]),
                self.way.width as usize,
                self.points.clone().into_array_arg(),
                self.norms.clone().into_array_arg(),
                multiplicity.clone().into_array_arg(),
                places.clone().into_array_arg(),
                sums.clone().into_array_arg(),
                self.d,
                self.n,
                side as u32,
                share.rank as u32,
                share.size as u32,
                F::from_elem(power),
                terms,
                self.way,
            );
        }
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_hold_all_tiles_within_the_largest_buffer() {
        for n in [0, 1, 127, 128, 129, 1000, 10_000, 12_500, 100_000, 4_000_000] {
            for (count, size) in [(2, 4), (4, 4), (6, 8)] {
                for largest in [1 << 27, 1 << 33, u64::MAX] {
                    let (side, parts) = blocks(n, count, size, largest, 1);
                    let tiles = n.div_ceil(TILE as usize).max(1);
                    assert!(side * parts >= tiles && side * (parts - 1) < tiles, "{n}: {side} {parts}");
                    let bytes = parts * count * size * n;
                    assert!(parts == 1 || bytes as u64 <= largest, "{n}: {bytes}");
                    assert!(parts <= FEW_PARTS || bytes <= PARTS_BYTES, "{n}: {bytes}");
                }
            }
        }
        // As many blocks as there are pairs of tiles, while there is room.
        assert_eq!(blocks(10_000, 4, 4, u64::MAX, 1), (1, 79));
        assert!(blocks(12_500, 6, 4, u64::MAX, 1).0 > 1);
        for ranks in [2, 3, 5, 8, 64] {
            let each = |ranks: usize| blocks(4_000_000, 4, 4, u64::MAX, ranks).1.pow(2) / ranks;
            assert!(each(ranks) >= each(1));
        }
    }
}
