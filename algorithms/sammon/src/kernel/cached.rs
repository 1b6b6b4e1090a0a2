//! Sums over pairs whose 1/δ is kept in memory: one read of the matrix.
//!
//! The 32 units of a row of a cube (a plane, where planes reduce by themselves) read along one row of the matrix. What
//! all rows need of the columns lies in shared memory: read for each row by itself, it would be four times the matrix.

#![allow(missing_docs)] // `#[cube]` writes companions that cannot be documented.

use burn::tensor::{DType, f16};
use burn_cubecl::{CubeRuntime, FloatElement, tensor::CubeTensor};
use cubecl::prelude::*;
use firebox_backends::kernel::{launch, reduce::row_sum};

use super::pair::{Terms, add_pair};

/// Units of a row of a cube.
const UNITS: u32 = 32;
/// Rows of units in a cube, and of the matrix.
const HEIGHT: u32 = 8;
/// Vectors of a row that a unit reads at once, so that enough of them are under way.
const READS: u32 = 4;
/// Numbers of the columns that are staged at once.
const STAGED: u32 = 4096;

/// What a launch computes; known when the kernel is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Plan {
    terms: Terms,
    /// Whether a row of units is a plane that reduces by itself.
    planes: bool,
    /// Neighbours read at once.
    width: u32,
}

impl Plan {
    /// Vectors of a row of the matrix that are staged at once.
    fn span(self) -> u32 {
        let most = STAGED / (self.terms.m + 1) / self.width;
        (most / UNITS * UNITS).max(most.clamp(1, UNITS))
    }
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
    let m = comptime!(plan.terms.m);
    let count = comptime!(plan.terms.count());
    let width = comptime!(plan.width);
    let span = comptime!(plan.span());
    let scratch_len = comptime!(if plan.planes { 1 } else { UNITS * HEIGHT });
    let mut scratch = SharedMemory::<F>::new(comptime!(scratch_len as usize));
    let mut staged = SharedMemory::<Vector<F, N>>::new(comptime!(((m + 1) * span) as usize));
    let row = CUBE_POS as u32 * HEIGHT + UNIT_POS_Y;
    let line = row.min(r - 1) as usize * vectors as usize;

    let mut own = Array::<F>::new(comptime!(m as usize));
    let mut totals = Array::<F>::new(comptime!(count as usize));
    #[unroll]
    for k in 0..m {
        own[k as usize] = places[k as usize * q as usize + (first + row.min(r - 1)) as usize];
    }
    #[unroll]
    for s in 0..count {
        totals[s as usize] = F::new(0.0);
    }

    for start in range_stepped(0u32, vectors, span) {
        let here = (vectors - start).min(span);
        // What is staged is overwritten now, so all must be done with it.
        sync_cube();
        for v in range_stepped(UNIT_POS_Y * UNITS + UNIT_POS_X, here, comptime!(UNITS * HEIGHT)) {
            #[unroll]
            for k in 0..m {
                staged[(k * span + v) as usize] = columns[k as usize * vectors as usize + (start + v) as usize];
            }
            staged[(m * span + v) as usize] = multiplicity[(start + v) as usize];
        }
        sync_cube();
        for v in range_stepped(UNIT_POS_X, here, comptime!(READS * UNITS)) {
            let mut kept = Array::<Vector<S, N>>::new(comptime!(READS as usize));
            #[unroll]
            for read in 0..READS {
                kept[read as usize] = inverse[line + (start + (v + read * UNITS).min(here - 1)) as usize];
            }
            #[unroll]
            for read in 0..READS {
                let at = (v + read * UNITS).min(here - 1);
                let there = v + read * UNITS < here;
                let mu = staged[(m * span + at) as usize];
                let mut far = Array::<F>::new(comptime!((m * width) as usize));
                #[unroll]
                for k in 0..m {
                    let vector = staged[(k * span + at) as usize];
                    #[unroll]
                    for c in 0..width {
                        far[comptime!((k * width + c) as usize)] = vector[c as usize];
                    }
                }
                #[unroll]
                for c in 0..width {
                    let kept = select(there, F::cast_from(kept[read as usize][c as usize]), F::new(0.0));
                    let delta = select(kept > F::new(0.0), F::new(1.0) / kept, F::new(0.0));
                    let mut across = Array::<F>::new(comptime!(m as usize));
                    #[unroll]
                    for k in 0..m {
                        across[k as usize] = own[k as usize] - far[comptime!((k * width + c) as usize)];
                    }
                    add_pair::<F>(&mut totals, 0u32, kept, delta, mu[c as usize], &across, power, plan.terms);
                }
            }
        }
    }

    #[unroll]
    for s in 0..count {
        let total = row_sum::<F>(totals[s as usize], &mut scratch, UNITS, plan.planes);
        if UNIT_POS_X == 0 && row < r {
            sums[s as usize * q as usize + (first + row) as usize] = total;
        }
    }
}

/// Sums `[1, terms, q]` over stored 1/δ, `[r, n]` a block: points at `places` `[m, q]`, from `first` on, among points at
/// `columns` `[m, n]`. Where the blocks are not of all q points, those of the others are 0.
pub(super) fn sums<R: CubeRuntime, F: FloatElement>(
    blocks: &[CubeTensor<R>],
    mut first: usize,
    multiplicity: &CubeTensor<R>,
    columns: &CubeTensor<R>,
    places: &CubeTensor<R>,
    power: f64,
    terms: Terms,
) -> CubeTensor<R> {
    let client = places.client.clone();
    let [_, n] = columns.meta.shape().dims();
    let [_, q] = places.meta.shape().dims();
    let shape = [1, terms.count() as usize, q];
    let all = blocks.iter().map(|block| block.meta.shape()[0]).sum::<usize>() == q;
    let sums = if all { launch::output(places, shape, places.dtype) } else { launch::zeros(places, shape) };
    let width = if n % 4 == 0 { 4 } else { 1 };
    let plan = Plan { terms, planes: launch::plane(&client) == Some(UNITS), width };
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
                        launch::cubes_for(&client, r, HEIGHT),
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
