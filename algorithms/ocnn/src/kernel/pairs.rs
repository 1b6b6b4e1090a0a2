//! What phase and fragmentary synchronisation share: counting, for a tile of pairs, over all recorded steps.

use cubecl::prelude::*;

/// Units along each side of a cube.
pub(super) const SIDE: u32 = 16;
/// Pairs a unit counts along each side: 4 × 4 counts live in registers, and 8 values read serve 16 pairs.
pub(super) const BLOCK: u32 = 4;
/// Neurons along each side of a cube's tile.
pub(super) const TILE: u32 = SIDE * BLOCK;
/// Recorded values staged at once for each neuron of the tile.
const CHUNK: u32 = 16;

/// Steps worked on between two looks at whether there are more.
const STRIDE: u32 = 4;

/// What two records have in common at one place.
#[cube]
pub(super) trait PairRule<E: Numeric>: 'static + Send + Sync {
    /// What this pair of values adds to the count: a whole number, in the type in which it costs least.
    fn count(a: E, b: E, epsilon: E) -> E;

    /// What counts for nothing beside 0.
    fn nothing() -> E;
}

/// Packed signs of increase: counts the steps at which they differ.
pub(super) struct SignsDiffer;

#[cube]
impl PairRule<u32> for SignsDiffer {
    fn count(a: u32, b: u32, _epsilon: u32) -> u32 {
        (a ^ b).count_ones()
    }

    fn nothing() -> u32 {
        0u32.runtime()
    }
}

/// Outputs: counts the steps at which they are closer than ε.
pub(super) struct Within;

#[cube]
impl<F: Float> PairRule<F> for Within {
    // A comparison gives 1 or 0 as a float in one instruction, as an integer in two.
    fn count(a: F, b: F, epsilon: F) -> F {
        select((a - b).abs() < epsilon, F::new(1.0), F::new(0.0))
    }

    fn nothing() -> F {
        F::max_value()
    }
}

/// The row, within a tile, of the unit's p-th neuron along the first side.
#[cube]
pub(super) fn tile_row_of(#[comptime] p: u32) -> u32 {
    UNIT_POS_Y + comptime!(p * SIDE)
}

/// The column, within a tile, of the unit's q-th neuron along the second side.
#[cube]
pub(super) fn tile_column_of(#[comptime] q: u32) -> u32 {
    UNIT_POS_X + comptime!(q * SIDE)
}

/// Counts for the pairs (first + row, second + column) over a record `[depth, n]`; every unit of the cube takes part.
#[cube]
pub(super) fn count_pairs<E: Numeric, P: PairRule<E>>(
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
            b[item as usize] = select(step < depth, right, P::nothing());
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
        // The tile is overwritten next, so all must be done with it.
        sync_cube();
    }
    counts
}

/// The steps at which a pair was in step: what was counted, or what is left of `steps` where differences were.
#[cube]
pub(super) fn in_step(count: u32, steps: u32, #[comptime] differences: bool) -> u32 {
    if comptime!(differences) { steps - count } else { count }
}
