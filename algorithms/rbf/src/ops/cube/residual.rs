//! r = A·w − t, with or without storing A, in one kernel.
//!
//! The 32 units of a row of a cube (a plane, with subgroup reductions) share some conditions: each takes every 32nd
//! neuron, so that writes of a stored row of A are coalesced, and the sums are reduced among them. Neurons are tiled
//! through shared memory, with 1/a².

#![allow(missing_docs)] // `#[cube]` writes companions that cannot be documented.

use burn_cubecl::{CubeRuntime, FloatElement, tensor::CubeTensor};
use cubecl::prelude::*;
use firebox_backends::kernel::{launch, reduce::row_sum};

use super::{
    functional::{Functional, element},
    operands::{Conditions, Neurons},
};

/// Units per row.
pub(super) const WIDTH: u32 = 32;
/// Rows of units per cube.
pub(super) const HEIGHT: u32 = 8;
/// Neurons per tile.
pub(super) const TILE: u32 = 512;

/// Compile-time parameters of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Plan {
    functional: Functional,
    /// Conditions per row of units.
    rows: u32,
    /// A is stored.
    store: bool,
    /// t is subtracted.
    subtract: bool,
    /// A row of units is a plane with subgroup reductions.
    planes: bool,
}

/// Writes A·w, less t if the plan subtracts it, to `sums` `[n]`, and A to `matrix` `[n, m]` if stored.
#[cube(launch_unchecked, address_type = "dynamic", fast_math = FastMath::all() - FastMath::NotNaN - FastMath::NotInf)]
fn sum_rows<F: Float + CubeElement>(
    points: &Array<F>,
    coefficients: &Array<F>,
    target: &Array<F>,
    centres: &Array<F>,
    widths: &Array<F>,
    weights: &Array<F>,
    matrix: &mut Array<F>,
    sums: &mut Array<F>,
    n: u32,
    m: u32,
    #[comptime] plan: Plan,
) {
    let rows = comptime!(plan.rows);
    let functional = comptime!(plan.functional);
    let d = comptime!(functional.d);
    let c = comptime!(functional.count());
    let mut centre = SharedMemory::<F>::new(comptime!((d * TILE) as usize));
    let mut inverse = SharedMemory::<F>::new(comptime!(TILE as usize));
    let mut weight = SharedMemory::<F>::new(comptime!(TILE as usize));
    let scratch_len = comptime!(if plan.planes { 1 } else { WIDTH * HEIGHT });
    let mut scratch = SharedMemory::<F>::new(comptime!(scratch_len as usize));

    let first = (CUBE_POS as u32 * HEIGHT + UNIT_POS_Y) * rows;
    let mut at = Array::<F>::new(comptime!((rows * d) as usize));
    let mut own = Array::<F>::new(comptime!((rows * c).max(1) as usize));
    let mut totals = Array::<F>::new(comptime!(rows as usize));
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
        totals[r as usize] = F::new(0.0);
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
            inverse[j as usize] = F::new(1.0) / (width * width);
            weight[j as usize] = weights[neuron as usize];
        }
        sync_cube();
        for j in range_stepped(UNIT_POS_X, here, WIDTH) {
            let g = inverse[j as usize];
            let w = weight[j as usize];
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
                let value = element::<F>(&delta, g, &own, comptime!(r * c), functional);
                totals[r as usize] += value * w;
                if comptime!(plan.store) {
                    let i = first + r;
                    if i < n {
                        matrix[i as usize * m as usize + (tile + j) as usize] = value;
                    }
                }
            }
        }
    }

    #[unroll]
    for r in 0..rows {
        let total = row_sum::<F>(totals[r as usize], &mut scratch, WIDTH, plan.planes);
        let i = first + r;
        if UNIT_POS_X == 0 && i < n {
            sums[i as usize] = if comptime!(plan.subtract) { total - target[i as usize] } else { total };
        }
    }
}

/// Conditions per row of units. Several reuse every neuron read; for small n more rows of units matter more.
pub(super) fn shared_rows<R: CubeRuntime>(client: &ComputeClient<R>, n: usize, functional: Functional) -> u32 {
    let in_flight = client.properties().hardware.num_streaming_multiprocessors.map_or(256, |sm| sm * 16);
    let most = if functional.count() == 0 { 8 } else { 4 };
    if n as u64 >= u64::from(in_flight * most) { most } else { 1 }
}

/// A·w − t `[n]`, or A·w without `subtract`; A to `matrix` `[n, m]` if given.
fn run<R: CubeRuntime, F: FloatElement>(
    conditions: &Conditions<R>,
    neurons: &Neurons<R>,
    weights: &CubeTensor<R>,
    matrix: Option<&CubeTensor<R>>,
    subtract: bool,
) -> CubeTensor<R> {
    let (n, functional) = (conditions.n, conditions.functional);
    let sums = launch::output(weights, [n], weights.dtype);
    if n == 0 {
        return sums;
    }
    let client = &weights.client;
    let rows = shared_rows(client, n, functional);
    let planes = launch::plane(client) == Some(WIDTH);
    let plan = Plan { functional, rows, store: matrix.is_some(), subtract, planes };
    let matrix = matrix.unwrap_or(&sums);
    // SAFETY: reads of conditions are clamped to n and writes guarded, neurons stay
    // below m. Where A is not stored, its place is never written.
    unsafe {
        sum_rows::launch_unchecked::<F, R>(
            client,
            launch::cubes_for(client, n, HEIGHT * rows),
            CubeDim::new_2d(WIDTH, HEIGHT),
            launch::address(&[&conditions.points, &conditions.coefficients, matrix]),
            conditions.points.clone().into_array_arg(),
            conditions.coefficients.clone().into_array_arg(),
            conditions.target.clone().into_array_arg(),
            neurons.centres.clone().into_array_arg(),
            neurons.widths.clone().into_array_arg(),
            weights.clone().into_array_arg(),
            matrix.clone().into_array_arg(),
            sums.clone().into_array_arg(),
            n as u32,
            neurons.m as u32,
            plan,
        );
    }
    sums
}

/// A·w − t `[n]`.
pub(super) fn residual<R: CubeRuntime, F: FloatElement>(
    conditions: &Conditions<R>,
    neurons: &Neurons<R>,
    weights: &CubeTensor<R>,
) -> CubeTensor<R> {
    run::<R, F>(conditions, neurons, weights, None, true)
}

/// A·p `[n]`.
pub(super) fn product<R: CubeRuntime, F: FloatElement>(
    conditions: &Conditions<R>,
    neurons: &Neurons<R>,
    vector: &CubeTensor<R>,
) -> CubeTensor<R> {
    run::<R, F>(conditions, neurons, vector, None, false)
}

/// A `[n, m]`, and A·w − t `[n]`.
pub(super) fn matrix<R: CubeRuntime, F: FloatElement>(
    conditions: &Conditions<R>,
    neurons: &Neurons<R>,
    weights: &CubeTensor<R>,
) -> (CubeTensor<R>, CubeTensor<R>) {
    let matrix = launch::output(weights, [conditions.n, neurons.m], weights.dtype);
    let residual = run::<R, F>(conditions, neurons, weights, Some(&matrix), true);
    (matrix, residual)
}
