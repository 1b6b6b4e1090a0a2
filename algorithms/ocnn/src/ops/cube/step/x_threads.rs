//! X-threads: the units of a row share neurons and reduce in logarithmically many steps.

#![allow(missing_docs)] // `#[cube]` writes companions that cannot be documented.

use cubecl::prelude::*;
use firebox_backends::kernel::reduce::row_sum;

use super::plan::{
    HEIGHT, Plan, REGISTER_DIMENSIONS, WIDTH, diagonal, distance_from_memory, drive, finish, range_end, range_start,
};
use crate::ops::cube::weights::weight;

/// Adds the terms of neuron j to the sums of the row's neurons; 0 if j ≥ n.
#[cube]
fn add<F: Float>(
    source: &Array<F>,
    multiplicity: &Array<F>,
    trajectory: &Array<F>,
    own: &Array<F>,
    diagonals: &Array<F>,
    sums: &mut Array<F>,
    now: usize,
    lead: u32,
    j: u32,
    n: u32,
    first: u32,
    end: u32,
    #[comptime] plan: Plan,
) {
    let d = comptime!(plan.d);
    let near = comptime!(if d <= REGISTER_DIMENSIONS { d } else { 0 });
    let column = if comptime!(plan.span == 0) { j } else { j.min(n - 1) };
    let x = trajectory[now + column as usize];
    // A stored J_ij contains the factor m_j.
    let factor = if comptime!(d == 0) { F::new(1.0) } else { multiplicity[column as usize] };
    let factor = if comptime!(plan.span == 0) { factor } else { select(j < n, factor, F::new(0.0)) };
    let g = drive::<F>(x, factor, plan.strengths);
    let mut other = Array::<F>::new(comptime!(near.max(1) as usize));
    #[unroll]
    for k in 0..near {
        other[k as usize] = source[(k * n + column) as usize];
    }
    #[unroll]
    for r in 0..comptime!(plan.rows) {
        let i = lead + r;
        let a = if comptime!(d == 0) {
            source[(i.min(end - 1) - first) as usize * n as usize + j as usize]
        } else if comptime!(near > 0) {
            let mut square = F::new(0.0);
            #[unroll]
            for k in 0..near {
                let delta = own[comptime!((r * near + k) as usize)] - other[k as usize];
                square += delta * delta;
            }
            weight::<F>(square, diagonals[r as usize], i == j, plan.strengths)
        } else {
            let square = distance_from_memory::<F>(source, i.min(n - 1), j, n, d);
            weight::<F>(square, diagonals[r as usize], i == j, plan.strengths)
        };
        sums[r as usize] += a * g;
    }
}

#[cube(launch_unchecked, address_type = "dynamic", fast_math = FastMath::all())]
pub(crate) fn x_threads<F: Float + CubeElement>(
    source: &Array<F>,
    multiplicity: &Array<F>,
    inverse: &Array<F>,
    trajectory: &mut Array<F>,
    reach: &Array<u32>,
    n: u32,
    first: u32,
    end: u32,
    step: u32,
    width: u32,
    self_term: F,
    #[comptime] plan: Plan,
) {
    let d = comptime!(plan.d);
    let rows = comptime!(plan.rows);
    let span = comptime!(plan.span);
    let near = comptime!(if d <= REGISTER_DIMENSIONS { d } else { 0 });
    let scratch_len = comptime!(if plan.planes { 1 } else { WIDTH * HEIGHT });
    let mut scratch = SharedMemory::<F>::new(comptime!(scratch_len as usize));

    let first = range_start(first, plan.part);
    let end = range_end(end, n, plan.part);
    let now = step as usize * n as usize;
    let lead = first + (CUBE_POS_X * HEIGHT + UNIT_POS_Y) * rows;

    let mut sums = Array::<F>::new(comptime!(rows as usize));
    let mut diagonals = Array::<F>::new(comptime!(rows as usize));
    let mut own = Array::<F>::new(comptime!((rows * near).max(1) as usize));
    #[unroll]
    for r in 0..rows {
        let i = (lead + r).min(n - 1);
        sums[r as usize] = F::new(0.0);
        diagonals[r as usize] = diagonal::<F>(multiplicity[i as usize], self_term);
        #[unroll]
        for k in 0..near {
            own[comptime!((r * near + k) as usize)] = source[(k * n + i) as usize];
        }
    }

    if comptime!(span == 0) {
        for j in range_stepped(UNIT_POS_X, n, WIDTH) {
            add::<F>(source, multiplicity, trajectory, &own, &diagonals, &mut sums, now, lead, j, n, first, end, plan);
        }
    } else {
        // A cube's neurons lie within one tile.
        let row = (first + CUBE_POS_X * comptime!(HEIGHT * rows)) / span * width;
        for w in 0..width {
            let mut word = reach[(row + w) as usize];
            // Not `while`, which Mesa's software Vulkan rejects here.
            for _ in 0..word.count_ones() {
                let tile = w * 32 + word.trailing_zeros();
                word &= word - 1;
                #[unroll]
                for block in 0..comptime!(span / WIDTH) {
                    let j = tile * span + comptime!(block * WIDTH) + UNIT_POS_X;
                    add::<F>(
                        source,
                        multiplicity,
                        trajectory,
                        &own,
                        &diagonals,
                        &mut sums,
                        now,
                        lead,
                        j,
                        n,
                        first,
                        end,
                        plan,
                    );
                }
            }
        }
    }

    #[unroll]
    for r in 0..rows {
        let sum = row_sum::<F>(sums[r as usize], &mut scratch, WIDTH, plan.planes);
        let i = lead + r;
        if UNIT_POS_X == 0 && i < end {
            let next = finish::<F>(sum, trajectory[now + i as usize], inverse[i as usize], plan.strengths);
            trajectory[now + n as usize + i as usize] = next;
        }
    }
}
