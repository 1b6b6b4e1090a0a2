//! Sums over pairs with stored 1/δ, which is read once.
//!
//! The 32 units of a row of a cube, a plane where the device has plane reductions, read along one row of the matrix.
//! Coordinates of the columns are staged in shared memory for all rows: reading them for each row would take four times
//! the traffic of the matrix.

#![allow(missing_docs)] // `#[cube]` writes companions that cannot be documented.

use burn::tensor::{DType, f16};
use burn_cubecl::{CubeRuntime, FloatElement, tensor::CubeTensor};
use cubecl::prelude::*;
use firebox_backends::kernel::{launch, reduce::row_sum};

use super::pair::{Terms, add_pair};

/// Units per row of a cube.
const UNITS: u32 = 32;
/// Rows per cube, of units and of the matrix.
const HEIGHT: u32 = 8;
/// Loads in flight per unit, in vectors of a row.
const READS: u32 = 4;
/// Staged numbers of the columns.
const STAGED: u32 = 4096;

/// Compile-time parameters of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct KernelConfig {
    terms: Terms,
    /// A row of units is a plane with reductions.
    planes: bool,
    /// Width of vector loads.
    width: u32,
}

impl KernelConfig {
    /// Staged vectors of a row of the matrix.
    fn span(self) -> u32 {
        let most = STAGED / (self.terms.m + 1) / self.width;
        (most / UNITS * UNITS).max(most.clamp(1, UNITS))
    }
}

/// Sums for the rows of `inverse` `[r, n]`, the points from `first` on of `embedding` `[m, q]`, over the columns, with
/// embedding `columns` `[m, n]`; to `sums` `[terms, q]`.
#[cube(launch_unchecked, address_type = "dynamic", fast_math = FastMath::all() - FastMath::NotNaN)]
fn sum_stored<F: Float + CubeElement, S: Float + CubeElement, N: Size>(
    inverse: &Array<Vector<S, N>>,
    multiplicity: &Array<Vector<F, N>>,
    columns: &Array<Vector<F, N>>,
    embedding: &Array<F>,
    sums: &mut Array<F>,
    first: u32,
    r: u32,
    vectors: u32,
    q: u32,
    power: F,
    #[comptime] config: KernelConfig,
) {
    let m = comptime!(config.terms.m);
    let count = comptime!(config.terms.count());
    let width = comptime!(config.width);
    let span = comptime!(config.span());
    let scratch_len = comptime!(if config.planes { 1 } else { UNITS * HEIGHT });
    let mut scratch = SharedMemory::<F>::new(comptime!(scratch_len as usize));
    let mut staged = SharedMemory::<Vector<F, N>>::new(comptime!(((m + 1) * span) as usize));
    let row = CUBE_POS as u32 * HEIGHT + UNIT_POS_Y;
    let line = row.min(r - 1) as usize * vectors as usize;

    let mut own = Array::<F>::new(comptime!(m as usize));
    let mut totals = Array::<F>::new(comptime!(count as usize));
    #[unroll]
    for k in 0..m {
        own[k as usize] = embedding[k as usize * q as usize + (first + row.min(r - 1)) as usize];
    }
    #[unroll]
    for s in 0..count {
        totals[s as usize] = F::new(0.0);
    }

    for start in range_stepped(0u32, vectors, span) {
        let length = (vectors - start).min(span);
        // All units must have finished reading the previous contents.
        sync_cube();
        for v in range_stepped(UNIT_POS_Y * UNITS + UNIT_POS_X, length, comptime!(UNITS * HEIGHT)) {
            #[unroll]
            for k in 0..m {
                staged[(k * span + v) as usize] = columns[k as usize * vectors as usize + (start + v) as usize];
            }
            staged[(m * span + v) as usize] = multiplicity[(start + v) as usize];
        }
        sync_cube();
        for v in range_stepped(UNIT_POS_X, length, comptime!(READS * UNITS)) {
            let mut stored = Array::<Vector<S, N>>::new(comptime!(READS as usize));
            #[unroll]
            for read in 0..READS {
                stored[read as usize] = inverse[line + (start + (v + read * UNITS).min(length - 1)) as usize];
            }
            #[unroll]
            for read in 0..READS {
                let at = (v + read * UNITS).min(length - 1);
                let in_range = v + read * UNITS < length;
                let mu = staged[(m * span + at) as usize];
                let mut other = Array::<F>::new(comptime!((m * width) as usize));
                #[unroll]
                for k in 0..m {
                    let vector = staged[(k * span + at) as usize];
                    #[unroll]
                    for c in 0..width {
                        other[comptime!((k * width + c) as usize)] = vector[c as usize];
                    }
                }
                #[unroll]
                for c in 0..width {
                    let stored = select(in_range, F::cast_from(stored[read as usize][c as usize]), F::new(0.0));
                    let delta = select(stored > F::new(0.0), F::new(1.0) / stored, F::new(0.0));
                    let mut difference = Array::<F>::new(comptime!(m as usize));
                    #[unroll]
                    for k in 0..m {
                        difference[k as usize] = own[k as usize] - other[comptime!((k * width + c) as usize)];
                    }
                    add_pair::<F>(&mut totals, 0u32, stored, delta, mu[c as usize], &difference, power, config.terms);
                }
            }
        }
    }

    #[unroll]
    for s in 0..count {
        let total = row_sum::<F>(totals[s as usize], &mut scratch, UNITS, config.planes);
        if UNIT_POS_X == 0 && row < r {
            sums[s as usize * q as usize + (first + row) as usize] = total;
        }
    }
}

/// Sums `[1, terms, q]` over blocks of stored 1/δ `[r, n]`: points `first`.. of `embedding` `[m, q]` against points
/// with embedding `columns` `[m, n]`. Sums of points outside the blocks are 0.
pub(super) fn sums<R: CubeRuntime, F: FloatElement>(
    blocks: &[CubeTensor<R>],
    mut first: usize,
    multiplicity: &CubeTensor<R>,
    columns: &CubeTensor<R>,
    embedding: &CubeTensor<R>,
    power: f64,
    terms: Terms,
) -> CubeTensor<R> {
    let client = embedding.client.clone();
    let [_, n] = columns.meta.shape().dims();
    let [_, q] = embedding.meta.shape().dims();
    let shape = [1, terms.count() as usize, q];
    let all = blocks.iter().map(|block| block.meta.shape()[0]).sum::<usize>() == q;
    let sums = if all { launch::output(embedding, shape, embedding.dtype) } else { launch::zeros(embedding, shape) };
    let width = if n % 4 == 0 { 4 } else { 1 };
    let config = KernelConfig { terms, planes: launch::plane(&client) == Some(UNITS), width };
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
                    sum_stored::launch_unchecked::<F, $stored, R>(
                        &client,
                        launch::cubes_for(&client, r, HEIGHT),
                        CubeDim::new_2d(UNITS, HEIGHT),
                        address,
                        width as usize,
                        block.clone().into_array_arg(),
                        multiplicity.clone().into_array_arg(),
                        columns.clone().into_array_arg(),
                        embedding.clone().into_array_arg(),
                        sums.clone().into_array_arg(),
                        first as u32,
                        r as u32,
                        n as u32 / width,
                        q as u32,
                        F::from_elem(power),
                        config,
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
