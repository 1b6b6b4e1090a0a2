//! ∂(Lu)/∂x at the points, parallelised like [`residual`](super::residual).

#![allow(missing_docs)] // `#[cube]` writes companions that cannot be documented.

use burn_cubecl::{CubeRuntime, FloatElement, tensor::CubeTensor};
use cubecl::prelude::*;
use firebox_backends::kernel::{launch, reduce::row_sum};

use super::{
    functional::{Functional, add_slopes},
    operands::{Conditions, Neurons},
    residual::{HEIGHT, TILE, WIDTH, shared_rows},
};

/// Compile-time parameters of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Plan {
    functional: Functional,
    /// Conditions per row of units.
    rows: u32,
    /// A row of units is a plane with subgroup reductions.
    planes: bool,
}

/// Σ_k w_k·∂(Lφ_k)/∂x to `out` `[d, n]`.
#[cube(launch_unchecked, address_type = "dynamic", fast_math = FastMath::all())]
fn sum_slopes<F: Float + CubeElement>(
    points: &Array<F>,
    coefficients: &Array<F>,
    centres: &Array<F>,
    widths: &Array<F>,
    weights: &Array<F>,
    out: &mut Array<F>,
    n: u32,
    m: u32,
    #[comptime] plan: Plan,
) {
    let rows = comptime!(plan.rows);
    let functional = comptime!(plan.functional);
    let d = comptime!(functional.d);
    let c = comptime!(functional.count());
    // The derivative by a comes with the others and is not used.
    let count = comptime!(functional.d + 1);
    let mut centre = SharedMemory::<F>::new(comptime!((d * TILE) as usize));
    let mut inverse = SharedMemory::<F>::new(comptime!(TILE as usize));
    let mut factor = SharedMemory::<F>::new(comptime!(TILE as usize));
    let scratch_len = comptime!(if plan.planes { 1 } else { WIDTH * HEIGHT });
    let mut scratch = SharedMemory::<F>::new(comptime!(scratch_len as usize));

    let first = (CUBE_POS as u32 * HEIGHT + UNIT_POS_Y) * rows;
    let mut at = Array::<F>::new(comptime!((rows * d) as usize));
    let mut own = Array::<F>::new(comptime!((rows * c).max(1) as usize));
    let mut totals = Array::<F>::new(comptime!((rows * count) as usize));
    #[unroll]
    for r in 0..rows {
        let i = (first + r).min(n - 1) as usize;
        #[unroll]
        for k in 0..d {
            at[comptime!((r * d + k) as usize)] = points[k as usize * n as usize + i];
        }
        #[unroll]
        for k in 0..c {
            own[comptime!((r * c + k) as usize)] = coefficients[k as usize * n as usize + i];
        }
        #[unroll]
        for k in 0..count {
            totals[comptime!((r * count + k) as usize)] = F::new(0.0);
        }
    }

    for tile in range_stepped(0u32, m, TILE) {
        let here = (m - tile).min(TILE);
        // All units must have read the staged tile before it is overwritten.
        sync_cube();
        for j in range_stepped(UNIT_POS_Y * WIDTH + UNIT_POS_X, here, comptime!(WIDTH * HEIGHT)) {
            let neuron = tile + j;
            #[unroll]
            for k in 0..d {
                centre[(comptime!(k * TILE) + j) as usize] = centres[(k * m + neuron) as usize];
            }
            let width = widths[neuron as usize];
            let g = F::new(1.0) / (width * width);
            inverse[j as usize] = g;
            // ∂/∂x = −∂/∂c.
            factor[j as usize] = F::new(-2.0) * g * weights[neuron as usize];
        }
        sync_cube();
        for j in range_stepped(UNIT_POS_X, here, WIDTH) {
            let g = inverse[j as usize];
            let value = factor[j as usize];
            let mut from = Array::<F>::new(comptime!(d as usize));
            #[unroll]
            for k in 0..d {
                from[k as usize] = centre[(comptime!(k * TILE) + j) as usize];
            }
            #[unroll]
            for r in 0..rows {
                let mut delta = Array::<F>::new(comptime!(d as usize));
                #[unroll]
                for k in 0..d {
                    delta[k as usize] = at[comptime!((r * d + k) as usize)] - from[k as usize];
                }
                add_slopes::<F>(
                    &mut totals,
                    comptime!(r * count),
                    value,
                    &delta,
                    g,
                    &own,
                    comptime!(r * c),
                    functional,
                );
            }
        }
    }

    #[unroll]
    for r in 0..rows {
        let i = first + r;
        #[unroll]
        for k in 0..d {
            let total = row_sum::<F>(totals[comptime!((r * count + k) as usize)], &mut scratch, WIDTH, plan.planes);
            if UNIT_POS_X == 0 && i < n {
                out[k as usize * n as usize + i as usize] = total;
            }
        }
    }
}

/// ∂(Lu)/∂x `[d, n]`.
pub(super) fn slopes<R: CubeRuntime, F: FloatElement>(
    conditions: &Conditions<R>,
    neurons: &Neurons<R>,
    weights: &CubeTensor<R>,
) -> CubeTensor<R> {
    let (n, functional) = (conditions.n, conditions.functional);
    let out = launch::output(weights, [neurons.d, n], weights.dtype);
    if n == 0 {
        return out;
    }
    let client = &weights.client;
    let rows = shared_rows(client, n, functional);
    let plan = Plan { functional, rows, planes: launch::plane(client) == Some(WIDTH) };
    // SAFETY: reads of conditions are clamped to n and writes guarded, neurons stay
    // below m.
    unsafe {
        sum_slopes::launch_unchecked::<F, R>(
            client,
            launch::cubes_for(client, n, HEIGHT * rows),
            CubeDim::new_2d(WIDTH, HEIGHT),
            launch::address(&[&conditions.points, &conditions.coefficients, &out]),
            conditions.points.clone().into_array_arg(),
            conditions.coefficients.clone().into_array_arg(),
            neurons.centres.clone().into_array_arg(),
            neurons.widths.clone().into_array_arg(),
            weights.clone().into_array_arg(),
            out.clone().into_array_arg(),
            n as u32,
            neurons.m as u32,
            plan,
        );
    }
    out
}
