//! Thread-per-neuron: a unit per neuron; f(x), and coordinates in few dimensions, are staged in shared memory.

#![allow(missing_docs)] // `#[cube]` writes companions that cannot be documented.

use cubecl::prelude::*;

use super::plan::{
    Plan, REGISTER_DIMENSIONS, column_sum_to_row_sum, diagonal, distance_from_memory, drive, finish, range_end,
    range_start,
};
use crate::ops::cube::weights::weight;

#[cube(launch_unchecked, address_type = "dynamic", fast_math = FastMath::all())]
pub(crate) fn thread_per_neuron<F: Float + CubeElement>(
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
    let units = comptime!(plan.units);
    let near = comptime!(if d <= REGISTER_DIMENSIONS { d } else { 0 });
    let mut drives = SharedMemory::<F>::new(comptime!(units as usize));
    let mut others = SharedMemory::<F>::new(comptime!((units * near).max(1) as usize));

    let first = range_start(first, plan.part);
    let end = range_end(end, n, plan.part);
    let now = step as usize * n as usize;
    let neuron = first + CUBE_POS_X * units + UNIT_POS_X;
    let i = neuron.min(n - 1);
    let own_diagonal = diagonal::<F>(multiplicity[i as usize], self_term);
    let mut own = Array::<F>::new(comptime!(near.max(1) as usize));
    #[unroll]
    for k in 0..near {
        own[k as usize] = source[(k * n + i) as usize];
    }

    let mut sum = F::new(0.0);
    for tile in range_stepped(0u32, n, units) {
        let staged = (tile + UNIT_POS_X).min(n - 1);
        drives[UNIT_POS_X as usize] =
            drive::<F>(trajectory[now + staged as usize], multiplicity[staged as usize], plan.strengths);
        #[unroll]
        for k in 0..near {
            others[(k * units + UNIT_POS_X) as usize] = source[(k * n + staged) as usize];
        }
        sync_cube();
        let here = (n - tile).min(units);
        for t in 0..here {
            let j = tile + t;
            let a = if comptime!(d == 0) {
                source[j as usize * n as usize + i as usize]
            } else if comptime!(near > 0) {
                let mut square = F::new(0.0);
                #[unroll]
                for k in 0..near {
                    let delta = own[k as usize] - others[(k * units + t) as usize];
                    square += delta * delta;
                }
                weight::<F>(square, own_diagonal, i == j, plan.strengths)
            } else {
                weight::<F>(distance_from_memory::<F>(source, i, j, n, d), own_diagonal, i == j, plan.strengths)
            };
            sum += a * drives[t as usize];
        }
        // All units must have read the tile before it is overwritten.
        sync_cube();
    }

    if neuron < end {
        let sum = column_sum_to_row_sum::<F>(sum, multiplicity[i as usize], d);
        let next = finish::<F>(sum, trajectory[now + i as usize], inverse[i as usize], plan.strengths);
        trajectory[now + n as usize + i as usize] = next;
    }
}
