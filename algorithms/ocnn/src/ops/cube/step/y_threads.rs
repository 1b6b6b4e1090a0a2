//! Y-threads: units of different rows of a cube share a neuron and add their sums in shared memory, by atomics as in
//! the paper; without float atomics, in order.

#![allow(missing_docs)] // `#[cube]` writes companions that cannot be documented.

use cubecl::prelude::*;

use super::plan::{
    HEIGHT, Plan, REGISTER_DIMENSIONS, WIDTH, column_sum_to_row_sum, diagonal, distance_from_memory, drive, finish,
    range_end, range_start,
};
use crate::ops::cube::weights::weight;

/// The sum over a column of the cube's units, valid in its first row, in varying order; all units must call this.
#[cube]
fn column_sum_by_atomics<F: Float>(value: F) -> F {
    let sums = SharedMemory::<Atomic<F>>::new(comptime!(WIDTH as usize));
    if UNIT_POS_Y == 0 {
        sums[UNIT_POS_X as usize].store(F::new(0.0));
    }
    sync_cube();
    sums[UNIT_POS_X as usize].fetch_add(value);
    sync_cube();
    sums[UNIT_POS_X as usize].load()
}

/// As [`column_sum_by_atomics`], in a fixed order.
#[cube]
fn column_sum<F: Float>(value: F) -> F {
    let mut sums = SharedMemory::<F>::new(comptime!((WIDTH * HEIGHT) as usize));
    sums[(UNIT_POS_Y * WIDTH + UNIT_POS_X) as usize] = value;
    sync_cube();
    let mut sum = F::new(0.0);
    #[unroll]
    for row in 0..HEIGHT {
        sum += sums[(row * WIDTH + UNIT_POS_X) as usize];
    }
    sum
}

#[cube(launch_unchecked, address_type = "dynamic", fast_math = FastMath::all())]
pub(crate) fn y_threads<F: Float + CubeElement>(
    source: &Array<F>,
    multiplicity: &Array<F>,
    inverse: &Array<F>,
    trajectory: &mut Array<F>,
    n: u32,
    first: u32,
    end: u32,
    step: u32,
    self_term: F,
    #[comptime] plan: Plan,
) {
    let d = comptime!(plan.d);
    let near = comptime!(if d <= REGISTER_DIMENSIONS { d } else { 0 });

    let first = range_start(first, plan.part);
    let end = range_end(end, n, plan.part);
    let now = step as usize * n as usize;
    let neuron = first + CUBE_POS_X * WIDTH + UNIT_POS_X;
    let i = neuron.min(n - 1);
    let own_diagonal = diagonal::<F>(multiplicity[i as usize], self_term);
    let mut own = Array::<F>::new(comptime!(near.max(1) as usize));
    #[unroll]
    for k in 0..near {
        own[k as usize] = source[(k * n + i) as usize];
    }

    let mut sum = F::new(0.0);
    for j in range_stepped(UNIT_POS_Y, n, HEIGHT) {
        let g = drive::<F>(trajectory[now + j as usize], multiplicity[j as usize], plan.strengths);
        let a = if comptime!(d == 0) {
            // J_ji in place of J_ij, for coalesced reads; J_ji·m_j = J_ij·m_i is corrected at the end.
            source[j as usize * n as usize + i as usize]
        } else if comptime!(near > 0) {
            let mut square = F::new(0.0);
            #[unroll]
            for k in 0..near {
                let delta = own[k as usize] - source[(k * n + j) as usize];
                square += delta * delta;
            }
            weight::<F>(square, own_diagonal, i == j, plan.strengths)
        } else {
            weight::<F>(distance_from_memory::<F>(source, i, j, n, d), own_diagonal, i == j, plan.strengths)
        };
        sum += a * g;
    }
    let all = if comptime!(plan.atomics) { column_sum_by_atomics::<F>(sum) } else { column_sum::<F>(sum) };

    if UNIT_POS_Y == 0 && neuron < end {
        let total = column_sum_to_row_sum::<F>(all, multiplicity[i as usize], d);
        let next = finish::<F>(total, trajectory[now + i as usize], inverse[i as usize], plan.strengths);
        trajectory[now + n as usize + i as usize] = next;
    }
}
