//! Sums over pairs whose 1/δ is kept in memory: one read of the matrix.
//!
//! The 32 units of a row of a cube (a plane, where planes reduce by themselves) share some rows of the matrix and read
//! along them.

#![allow(missing_docs)] // `#[cube]` writes companions that cannot be documented.

use burn::tensor::{DType, f16};
use burn_cubecl::{CubeRuntime, FloatElement, tensor::CubeTensor};
use cubecl::prelude::*;
use firebox_backends::kernel::{launch, reduce::row_sum};

use super::pair::{Terms, add_pair};

/// Units of a row of a cube.
const UNITS: u32 = 32;
/// Rows of units in a cube.
const HEIGHT: u32 = 8;

/// What a launch computes; known when the kernel is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Plan {
    terms: Terms,
    /// Rows of the matrix that a row of units works on at once.
    rows: u32,
    /// Whether a row of units is a plane that reduces by itself.
    planes: bool,
    /// Neighbours read at once.
    width: u32,
}

/// Sums for the rows of `inverse` `[r, n]`, which are the points from `first` on of `places` `[m, q]`, over the columns,
/// which are at `columns` `[m, n]`; to `sums` `[terms, q]`.
#[cube(launch_unchecked, address_type = "dynamic", fast_math = FastMath::all() - FastMath::NotNaN)]
fn sum_cached<F: Float + CubeElement, S: Float + CubeElement, N: Size>(
    inverse: &Array<Vector<S, N>>,
    multiplicity: &Array<Vector<F, N>>,
    columns: &Array<Vector<F, N>>,
    places: &Array<F>,
    sums: &mut Array<F>,
    first: u32,
    r: u32,
    vectors: u32,
    q: u32,
    power: F,
    #[comptime] plan: Plan,
) {
    let rows = comptime!(plan.rows);
    let m = comptime!(plan.terms.m);
    let count = comptime!(plan.terms.count());
    let width = comptime!(plan.width);
    let scratch_len = comptime!(if plan.planes { 1 } else { UNITS * HEIGHT });
    let mut scratch = SharedMemory::<F>::new(comptime!(scratch_len as usize));
    let row = (CUBE_POS as u32 * HEIGHT + UNIT_POS_Y) * rows;

    let mut own = Array::<F>::new(comptime!((rows * m) as usize));
    let mut totals = Array::<F>::new(comptime!((rows * count) as usize));
    #[unroll]
    for p in 0..rows {
        let i = first + (row + p).min(r - 1);
        #[unroll]
        for k in 0..m {
            own[comptime!((p * m + k) as usize)] = places[k as usize * q as usize + i as usize];
        }
        #[unroll]
        for s in 0..count {
            totals[comptime!((p * count + s) as usize)] = F::new(0.0);
        }
    }

    for v in range_stepped(UNIT_POS_X, vectors, UNITS) {
        let mu = multiplicity[v as usize];
        let mut far = Array::<F>::new(comptime!((m * width) as usize));
        #[unroll]
        for k in 0..m {
            let four = columns[k as usize * vectors as usize + v as usize];
            #[unroll]
            for c in 0..width {
                far[comptime!((k * width + c) as usize)] = four[c as usize];
            }
        }
        #[unroll]
        for p in 0..rows {
            let line = inverse[(row + p).min(r - 1) as usize * vectors as usize + v as usize];
            #[unroll]
            for c in 0..width {
                let kept = F::cast_from(line[c as usize]);
                let delta = select(kept > F::new(0.0), F::new(1.0) / kept, F::new(0.0));
                let mut across = Array::<F>::new(comptime!(m as usize));
                #[unroll]
                for k in 0..m {
                    across[k as usize] =
                        own[comptime!((p * m + k) as usize)] - far[comptime!((k * width + c) as usize)];
                }
                let at = comptime!(p * count);
                add_pair::<F>(&mut totals, at, kept, delta, mu[c as usize], &across, power, plan.terms);
            }
        }
    }

    #[unroll]
    for p in 0..rows {
        let i = row + p;
        #[unroll]
        for s in 0..count {
            let total = row_sum::<F>(totals[comptime!((p * count + s) as usize)], &mut scratch, UNITS, plan.planes);
            if UNIT_POS_X == 0 && i < r {
                sums[s as usize * q as usize + (first + i) as usize] = total;
            }
        }
    }
}

/// Sums `[1, terms, q]` over stored 1/δ, `[r, n]` a block, q rows in all: points at `places` `[m, q]` among points at
/// `columns` `[m, n]`.
pub(super) fn sums<R: CubeRuntime, F: FloatElement>(
    blocks: &[CubeTensor<R>],
    multiplicity: &CubeTensor<R>,
    columns: &CubeTensor<R>,
    places: &CubeTensor<R>,
    power: f64,
    terms: Terms,
) -> CubeTensor<R> {
    let client = places.client.clone();
    let [_, n] = columns.meta.shape().dims();
    let [_, q] = places.meta.shape().dims();
    let sums = launch::output(places, [1, terms.count() as usize, q], places.dtype);
    let hardware = &client.properties().hardware;
    // Four rows share what is read of the others; below that many in flight, more rows of units matter more.
    let in_flight = hardware.num_streaming_multiprocessors.map_or(1 << 12, |sm| sm * 16) as usize;
    let rows = match terms.m {
        0..=4 if q >= 4 * in_flight => 4,
        0..=4 if q >= 2 * in_flight => 2,
        _ => 1,
    };
    let width = if n % 4 == 0 { 4 } else { 1 };
    let plan = Plan { terms, rows, planes: launch::plane(&client) == Some(UNITS), width };
    let mut first = 0;
    for block in blocks {
        let [r, _] = block.meta.shape().dims();
        if r == 0 {
            continue;
        }
        let address = launch::address(&[block, &sums]);
        macro_rules! launch {
            ($stored:ty) => {
                // SAFETY: rows are clamped to r where they are read and guarded where sums are written; a row holds a
                // whole number of vectors.
                unsafe {
                    sum_cached::launch_unchecked::<F, $stored, R>(
                        &client,
                        launch::cubes_for(&client, r, HEIGHT * rows),
                        CubeDim::new_2d(UNITS, HEIGHT),
                        address,
                        width as usize,
                        block.clone().into_array_arg(),
                        multiplicity.clone().into_array_arg(),
                        columns.clone().into_array_arg(),
                        places.clone().into_array_arg(),
                        sums.clone().into_array_arg(),
                        first as u32,
                        r as u32,
                        n as u32 / width,
                        q as u32,
                        F::from_elem(power),
                        plan,
                    )
                }
            };
        }
        if block.dtype == DType::F16 {
            launch!(f16)
        } else {
            launch!(F)
        }
        first += r;
    }
    sums
}
