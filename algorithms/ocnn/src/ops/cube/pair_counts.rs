//! Counts over recorded steps for a tile of pairs, common to phase and fragmentary synchronisation.

use burn_cubecl::{CubeRuntime, FloatElement, tensor::CubeTensor};
use cubecl::prelude::*;
use firebox_backends::kernel::launch;

/// Recorded values of steps, and how their pairs are counted.
pub(crate) struct Record<R: CubeRuntime, E> {
    /// Dense, `[depth, n]`.
    pub(super) values: CubeTensor<R>,
    pub(super) steps: u32,
    pub(super) epsilon: E,
    /// Counts the steps at which pairs differ instead of those at which they are in step.
    pub(super) differences: bool,
}

impl<R: CubeRuntime> Record<R, u32> {
    /// Packed signs of increase `[w, n]` over `steps` steps, for [`SignsDiffer`].
    pub(super) fn signs(bits: CubeTensor<R>, steps: usize) -> Self {
        Self { values: launch::dense(bits), steps: steps as u32, epsilon: 0, differences: true }
    }
}

impl<R: CubeRuntime, F: FloatElement> Record<R, F> {
    /// Outputs `[P, n]`, for [`Within`].
    pub(super) fn outputs(outputs: CubeTensor<R>, epsilon: f64) -> Self {
        let steps = outputs.meta.shape()[0] as u32;
        Self { values: launch::dense(outputs), steps, epsilon: F::from_elem(epsilon), differences: false }
    }
}

/// Units along each side of a cube.
pub(crate) const SIDE: u32 = 16;
/// Pairs per unit along each side: 4 × 4 counts in registers, and 8 values read per 16 pairs.
pub(crate) const BLOCK: u32 = 4;
/// Neurons along each side of a cube's tile.
pub(crate) const TILE: u32 = SIDE * BLOCK;
/// Recorded values per neuron of the tile staged in shared memory.
const CHUNK: u32 = 16;

/// Unrolled steps.
const STRIDE: u32 = 4;

/// Comparison of two recorded values.
#[cube]
pub(crate) trait PairRule<E: Numeric>: 'static + Send + Sync {
    /// The pair's contribution to the count: an integer, in the cheapest type.
    fn count(a: E, b: E, epsilon: E) -> E;

    /// A value whose count with 0 is 0, for padding.
    fn padding() -> E;
}

/// Packed signs of increase: counts the steps at which they differ.
pub(crate) struct SignsDiffer;

#[cube]
impl PairRule<u32> for SignsDiffer {
    fn count(a: u32, b: u32, _epsilon: u32) -> u32 {
        (a ^ b).count_ones()
    }

    fn padding() -> u32 {
        0u32.runtime()
    }
}

/// Outputs: counts the steps at which they are closer than ε.
pub(crate) struct Within;

#[cube]
impl<F: Float> PairRule<F> for Within {
    // A float of 1 or 0 takes one instruction, an integer two.
    fn count(a: F, b: F, epsilon: F) -> F {
        select((a - b).abs() < epsilon, F::new(1.0), F::new(0.0))
    }

    fn padding() -> F {
        F::max_value()
    }
}

/// Row within the tile of the unit's p-th neuron along the first side.
#[cube]
pub(crate) fn tile_row_of(#[comptime] p: u32) -> u32 {
    UNIT_POS_Y + comptime!(p * SIDE)
}

/// Column within the tile of the unit's q-th neuron along the second side.
#[cube]
pub(crate) fn tile_column_of(#[comptime] q: u32) -> u32 {
    UNIT_POS_X + comptime!(q * SIDE)
}

/// Counts for the pairs (first + row, second + column) over a record `[depth, n]`; all units of the cube must call
/// this.
#[cube]
pub(crate) fn count_pairs<E: Numeric, P: PairRule<E>>(
    record: &Array<E>,
    n: u32,
    depth: u32,
    first: u32,
    second: u32,
    epsilon: E,
) -> Array<u32> {
    let mut a = SharedMemory::<E>::new(comptime!((CHUNK * TILE) as usize));
    let mut b = SharedMemory::<E>::new(comptime!((CHUNK * TILE) as usize));
    let mut counts = Array::<u32>::new(comptime!((BLOCK * BLOCK) as usize));
    #[unroll]
    for c in 0..comptime!(BLOCK * BLOCK) {
        counts[c as usize] = 0;
    }
    let unit = UNIT_POS_Y * SIDE + UNIT_POS_X;

    for start in range_stepped(0u32, depth, CHUNK) {
        let strides = (depth - start).min(CHUNK).div_ceil(STRIDE);
        for item in range_stepped(unit, strides * comptime!(STRIDE * TILE), comptime!(SIDE * SIDE)) {
            let step = start + item / TILE;
            let row = step.min(depth - 1) as usize * n as usize;
            let column = item % TILE;
            let left = record[row + (first + column).min(n - 1) as usize];
            let right = record[row + (second + column).min(n - 1) as usize];
            a[item as usize] = select(step < depth, left, E::from_int(0));
            b[item as usize] = select(step < depth, right, P::padding());
        }
        sync_cube();
        let mut more = Array::<E>::new(comptime!((BLOCK * BLOCK) as usize));
        #[unroll]
        for c in 0..comptime!(BLOCK * BLOCK) {
            more[c as usize] = E::from_int(0);
        }
        for stride in 0..strides {
            #[unroll]
            for s in 0..STRIDE {
                let line = stride * comptime!(STRIDE * TILE) + comptime!(s * TILE);
                let mut left = Array::<E>::new(comptime!(BLOCK as usize));
                let mut right = Array::<E>::new(comptime!(BLOCK as usize));
                #[unroll]
                for p in 0..BLOCK {
                    left[p as usize] = a[(line + tile_row_of(p)) as usize];
                    right[p as usize] = b[(line + tile_column_of(p)) as usize];
                }
                #[unroll]
                for p in 0..BLOCK {
                    #[unroll]
                    for q in 0..BLOCK {
                        more[comptime!((p * BLOCK + q) as usize)] +=
                            P::count(left[p as usize], right[q as usize], epsilon);
                    }
                }
            }
        }
        #[unroll]
        for c in 0..comptime!(BLOCK * BLOCK) {
            counts[c as usize] += u32::cast_from(more[c as usize]);
        }
        // All units must have read the staged values before they are overwritten.
        sync_cube();
    }
    counts
}

/// The number of steps at which a pair is in step; `count` is of differences or of these steps themselves.
#[cube]
pub(crate) fn in_step(count: u32, steps: u32, #[comptime] differences: bool) -> u32 {
    if comptime!(differences) { steps - count } else { count }
}
