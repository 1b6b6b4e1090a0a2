//! Sums over pairs whose source distances are computed as they are needed: no memory of n².

#![allow(missing_docs)] // `#[cube]` writes companions that cannot be documented.

use burn_cubecl::{CubeRuntime, FloatElement, tensor::CubeTensor};
use cubecl::prelude::*;
use firebox_backends::kernel::{launch, reduce::row_sum};

use super::{
    pair::{Terms, add_pair},
    tile::{Four, SHARE, SIDE, STAGE, TILE, Way, accumulate, delta_of, inverse_of, place_of, settle},
};

/// Which pairs a launch covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cover {
    /// All, the columns of a row of tiles cut into as many parts as keep the device busy.
    All,
    /// Those of each block of this many points with the block it meets.
    Blocks(u32),
}

/// Sums for rows of a tile over a range of columns, to `sums` `[parts, terms, n]`.
///
/// `span` columns a part for `Cover::All`; points of a block for `Cover::Blocks`, whose blocks are the parts of the
/// launch but not of the result.
#[cube(launch_unchecked, address_type = "dynamic", fast_math = FastMath::all() - FastMath::NotNaN)]
fn sum_features<F: Float + CubeElement>(
    points: &Array<F>,
    norms: &Array<F>,
    multiplicity: &Array<F>,
    places: &Array<F>,
    sums: &mut Array<F>,
    d: u32,
    n: u32,
    span: u32,
    power: F,
    #[comptime] terms: Terms,
    #[comptime] way: Way,
    #[comptime] sampled: bool,
) {
    let mut a = SharedMemory::<Four<F>>::new(comptime!(STAGE as usize));
    let mut b = SharedMemory::<Four<F>>::new(comptime!(STAGE as usize));
    let mut scratch = SharedMemory::<F>::new(comptime!((SIDE * SIDE) as usize));
    let m = comptime!(terms.m);
    let count = comptime!(terms.count());

    let mut row = CUBE_POS_X * TILE;
    let mut rows_end = n;
    let mut first = CUBE_POS_Y * span;
    let mut part = CUBE_POS_Y;
    if comptime!(sampled) {
        let blocks = n.div_ceil(span);
        let block = CUBE_POS_Y;
        row += block * span;
        rows_end = (block * span + span).min(n);
        // An odd block meets the one before, an even one the one after, the last, if even, the first.
        let after = select(block + 1 < blocks, block + 1, 0u32);
        let met = select(block % 2 == 1, block.max(1) - 1, after);
        first = met * span;
        part = 0;
    }
    let last = (first + span).min(n);

    // The same for all units of a cube, as the barriers inside need.
    if row < rows_end {
        let mut own = Array::<F>::new(comptime!((SHARE * m) as usize));
        let mut totals = Array::<F>::new(comptime!((SHARE * count) as usize));
        let mut own_norms = Array::<F>::new(comptime!(SHARE as usize));
        #[unroll]
        for p in 0..SHARE {
            let i = (row + place_of(UNIT_POS_Y, p)).min(n - 1);
            own_norms[p as usize] = norms[i as usize];
            #[unroll]
            for k in 0..m {
                own[comptime!((p * m + k) as usize)] = places[k as usize * n as usize + i as usize];
            }
            #[unroll]
            for s in 0..count {
                totals[comptime!((p * count + s) as usize)] = F::new(0.0);
            }
        }
        let mut found = Array::<F>::new(comptime!((SHARE * SHARE) as usize));
        for column in range_stepped(first, last, TILE) {
            accumulate::<F>(points, points, &mut a, &mut b, &mut found, d, row, n, column, n, way);
            #[unroll]
            for q in 0..SHARE {
                let j = column + place_of(UNIT_POS_X, q);
                let other = j.min(n - 1);
                let mu = multiplicity[other as usize];
                let norm = norms[other as usize];
                let mut far = Array::<F>::new(comptime!(m as usize));
                #[unroll]
                for k in 0..m {
                    far[k as usize] = places[k as usize * n as usize + other as usize];
                }
                #[unroll]
                for p in 0..SHARE {
                    let i = row + place_of(UNIT_POS_Y, p);
                    let sum = settle::<F>(
                        found[comptime!((p * SHARE + q) as usize)],
                        points,
                        points,
                        own_norms[p as usize],
                        norm,
                        d,
                        i.min(n - 1),
                        n,
                        other,
                        n,
                        way,
                    );
                    let sum = select(i != j && j < last, sum, F::new(0.0));
                    let inverse = inverse_of::<F>(sum, way.metric);
                    let delta = delta_of::<F>(sum, inverse, way.metric);
                    let mut across = Array::<F>::new(comptime!(m as usize));
                    #[unroll]
                    for k in 0..m {
                        across[k as usize] = own[comptime!((p * m + k) as usize)] - far[k as usize];
                    }
                    let at = comptime!(p * count);
                    add_pair::<F>(&mut totals, at, inverse, delta, mu, &across, power, terms);
                }
            }
        }
        #[unroll]
        for p in 0..SHARE {
            let i = row + place_of(UNIT_POS_Y, p);
            #[unroll]
            for s in 0..count {
                let total = row_sum::<F>(totals[comptime!((p * count + s) as usize)], &mut scratch, SIDE, false);
                if UNIT_POS_X == 0 && i < rows_end {
                    sums[(part * count + s) as usize * n as usize + i as usize] = total;
                }
            }
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
    pub(super) fn new<F: FloatElement>(points: CubeTensor<R>, way: Way) -> Self {
        let points = launch::dense(points);
        let [d, n] = points.meta.shape().dims();
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

    /// How many parts the sums of `cover` come in, and the columns of each.
    fn parts(&self, cover: Cover) -> (u32, u32) {
        match cover {
            Cover::Blocks(block) => (1, block),
            Cover::All => {
                let tiles = self.n.div_ceil(TILE);
                let hardware = &self.points.client.properties().hardware;
                // Two cubes a multiprocessor, some rounds of them, so that the last round is a small share.
                let wanted = hardware.num_streaming_multiprocessors.map_or(1, |sm| sm * 8);
                let parts = wanted.div_ceil(tiles).clamp(1, tiles);
                let span = tiles.div_ceil(parts);
                (tiles.div_ceil(span), span * TILE)
            }
        }
    }

    /// Sums `[parts, terms, n]` over the pairs of an embedding `places` `[m, n]`.
    pub(super) fn sums<F: FloatElement>(
        &self,
        multiplicity: &CubeTensor<R>,
        places: &CubeTensor<R>,
        power: f64,
        terms: Terms,
        cover: Cover,
    ) -> CubeTensor<R> {
        let n = self.n;
        let (parts, span) = self.parts(cover);
        let sums = launch::output(places, [parts as usize, terms.count() as usize, n as usize], places.dtype);
        let count = match cover {
            Cover::All => CubeCount::Static(n.div_ceil(TILE), parts, 1),
            Cover::Blocks(block) => CubeCount::Static(block.div_ceil(TILE), n.div_ceil(block), 1),
        };
        // SAFETY: points are clamped to n where they are read and guarded where sums are written.
        unsafe {
            sum_features::launch_unchecked::<F, R>(
                &self.points.client,
                count,
                CubeDim::new_2d(SIDE, SIDE),
                launch::address(&[&self.points, &sums]),
                self.points.clone().into_array_arg(),
                self.norms.clone().into_array_arg(),
                multiplicity.clone().into_array_arg(),
                places.clone().into_array_arg(),
                sums.clone().into_array_arg(),
                self.d,
                n,
                span,
                F::from_elem(power),
                terms,
                self.way,
                matches!(cover, Cover::Blocks(_)),
            );
        }
        sums
    }
}
