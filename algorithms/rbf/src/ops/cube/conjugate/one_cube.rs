//! All iterations in a single launch of one cube, with the vectors, and A if it fits, in shared memory.

#![allow(missing_docs)] // `#[cube]` writes companions that cannot be documented.

use burn_cubecl::{CubeRuntime, FloatElement, tensor::CubeTensor};
use cubecl::prelude::*;
use firebox_backends::kernel::launch;

use crate::ops::cube::{
    column_sums::Sums,
    functional::Functional,
    operands::{Kinds, Neurons},
    reduction::cube_sum,
    single_cube::{CubeConfig, add_columns, fill_matrix, load_neurons, part_sum, sum_rows},
};

/// Numbers per neuron in shared memory in addition to the network's: the direction.
pub(in crate::ops::cube) const VECTORS: usize = 1;

/// `norm`/`curvature` for the squared residual norm and the curvature along the direction; 0 unless both are positive.
#[cube]
pub(super) fn step_length<F: Float>(norm: F, curvature: F) -> F {
    let there = norm > F::new(0.0) && curvature > F::new(0.0);
    select(there, norm / select(there, curvature, F::new(1.0)), F::new(0.0))
}

/// Writes `share`·A·p for conditions `from`..`to` to `product`, from stored Aᵀ `[m, stride]`.
#[cube]
fn stored_rows<F: Float>(
    matrix: &SharedMemory<F>,
    vector: &SharedMemory<F>,
    product: &mut SharedMemory<F>,
    from: u32,
    to: u32,
    m: u32,
    stride: u32,
    share: F,
    #[comptime] units: u32,
) {
    for i in range_stepped(from + UNIT_POS_X, to, units) {
        let mut sum = F::new(0.0);
        for j in 0..m {
            sum += matrix[(j * stride + i) as usize] * vector[j as usize];
        }
        product[i as usize] = share * sum;
    }
}

#[cube(launch_unchecked, fast_math = FastMath::all() - FastMath::NotNaN - FastMath::NotInf)]
fn conjugate_kernel<F: Float + CubeElement>(
    interior_points: &Array<F>,
    interior_coefficients: &Array<F>,
    interior_target: &Array<F>,
    boundary_points: &Array<F>,
    boundary_coefficients: &Array<F>,
    boundary_target: &Array<F>,
    centres: &Array<F>,
    widths: &Array<F>,
    first: &Array<F>,
    weights: &mut Array<F>,
    history: &mut Array<F>,
    inside: u32,
    outside: u32,
    m: u32,
    side: u32,
    stride: u32,
    iterations: u32,
    interior_share: F,
    boundary_share: F,
    #[comptime] interior: Functional,
    #[comptime] boundary: Functional,
    #[comptime] config: CubeConfig,
) {
    let d = comptime!(interior.d);
    let units = comptime!(config.units);
    let stored = comptime!(config.stores_matrix());
    let mut centre = SharedMemory::<F>::new(comptime!((d * config.neurons) as usize));
    let mut inverse = SharedMemory::<F>::new(comptime!(config.neurons as usize));
    // w first, then p.
    let mut vector = SharedMemory::<F>::new(comptime!(config.neurons as usize));
    let mut product = SharedMemory::<F>::new(comptime!(config.rows as usize));
    let mut scratch = SharedMemory::<F>::new(comptime!(units as usize));
    let mut matrix = SharedMemory::<F>::new(comptime!(config.elements as usize));

    load_neurons::<F>(centres, widths, &mut centre, &mut inverse, m, d, config);
    let own = (UNIT_POS_X % side).min(m - 1);
    let part = UNIT_POS_X / side;
    let parts = units / side;
    let is_own = UNIT_POS_X < m;
    // w, the residual of the normal equation, and p of the unit's neuron, valid in units below m.
    let mut weight = first[own as usize];
    let mut normal_residual = F::new(0.0);
    let mut direction = F::new(0.0);
    let mut norm = F::new(0.0);
    if is_own {
        vector[UNIT_POS_X as usize] = weight;
    }
    sync_cube();
    let g = inverse[own as usize];
    if comptime!(stored) {
        let (c, i) = (&centre, &inverse);
        let (p, k) = (interior_points, interior_coefficients);
        fill_matrix::<F>(p, k, c, i, &mut matrix, inside, m, 0u32, stride, interior, config);
        let (p, k) = (boundary_points, boundary_coefficients);
        fill_matrix::<F>(p, k, c, i, &mut matrix, outside, m, inside, stride, boundary, config);
    }

    // Pass 0 is the start: the residual −Aᵀ(A·w − t). Pass k is iteration k − 1.
    for pass in 0..iterations + 1 {
        if comptime!(stored) {
            // Makes p, and before the first pass A, visible to all units.
            sync_cube();
        }
        if pass == 0 {
            sum_rows::<F>(
                interior_points,
                interior_coefficients,
                interior_target,
                &centre,
                &inverse,
                &vector,
                &mut product,
                UNIT_POS_X,
                inside,
                m,
                0u32,
                F::new(0.0) - interior_share,
                true,
                interior,
                config,
            );
            sum_rows::<F>(
                boundary_points,
                boundary_coefficients,
                boundary_target,
                &centre,
                &inverse,
                &vector,
                &mut product,
                units - 1 - UNIT_POS_X,
                outside,
                m,
                inside,
                F::new(0.0) - boundary_share,
                true,
                boundary,
                config,
            );
        } else if comptime!(stored) {
            let all = inside + outside;
            stored_rows::<F>(&matrix, &vector, &mut product, 0u32, inside, m, stride, interior_share, units);
            stored_rows::<F>(&matrix, &vector, &mut product, inside, all, m, stride, boundary_share, units);
        } else {
            sum_rows::<F>(
                interior_points,
                interior_coefficients,
                interior_target,
                &centre,
                &inverse,
                &vector,
                &mut product,
                UNIT_POS_X,
                inside,
                m,
                0u32,
                interior_share,
                false,
                interior,
                config,
            );
            sum_rows::<F>(
                boundary_points,
                boundary_coefficients,
                boundary_target,
                &centre,
                &inverse,
                &vector,
                &mut product,
                units - 1 - UNIT_POS_X,
                outside,
                m,
                inside,
                boundary_share,
                false,
                boundary,
                config,
            );
        }
        sync_cube();

        let mut sums = Array::<F>::new(1usize);
        sums[0] = F::new(0.0);
        if comptime!(stored) {
            for i in range_stepped(part, inside + outside, parts) {
                sums[0] += matrix[(own * stride + i) as usize] * product[i as usize];
            }
        } else {
            add_columns::<F>(
                interior_points,
                interior_coefficients,
                &centre,
                g,
                &product,
                &mut sums,
                own,
                part,
                parts,
                inside,
                0u32,
                Sums::Elements,
                interior,
                config,
            );
            add_columns::<F>(
                boundary_points,
                boundary_coefficients,
                &centre,
                g,
                &product,
                &mut sums,
                own,
                part,
                parts,
                outside,
                inside,
                Sums::Elements,
                boundary,
                config,
            );
        }
        // Contains a barrier, after which no unit reads the previous p.
        let total = part_sum::<F>(sums[0], &mut scratch, side, parts);

        let share = select(is_own, direction * total, F::new(0.0));
        let curvature = cube_sum::<F>(share, &mut scratch, units, config.planes);
        let length = step_length::<F>(norm, curvature);
        weight += length * direction;
        normal_residual = select(pass == 0, total, normal_residual - length * total);
        let share = select(is_own, normal_residual * normal_residual, F::new(0.0));
        let next = cube_sum::<F>(share, &mut scratch, units, config.planes);
        let moved = length > F::new(0.0);
        let ratio = select(moved, next / select(moved, norm, F::new(1.0)), F::new(0.0));
        direction = select(pass == 0 || moved, normal_residual + ratio * direction, direction);
        norm = next;
        if is_own {
            vector[UNIT_POS_X as usize] = direction;
        }
        if UNIT_POS_X == 0 {
            history[pass as usize] = norm;
        }
        sync_cube();
    }
    if is_own {
        weights[UNIT_POS_X as usize] = weight;
    }
}

/// Row stride of Aᵀ. Odd, so that the units of a plane read from different banks, whether they differ in condition or
/// in neuron.
fn stride(rows: usize) -> usize {
    rows | 1
}

/// `config` with storage for A if it fits.
pub(in crate::ops::cube) fn with_matrix<R: CubeRuntime, F: FloatElement>(
    client: &ComputeClient<R>,
    config: CubeConfig,
    m: usize,
    rows: usize,
    d: usize,
) -> CubeConfig {
    config.with_elements::<R, F>(client, stride(rows) * m, d, VECTORS)
}

/// The weights after `history.len() − 1` iterations.
pub(super) fn conjugate<R: CubeRuntime, F: FloatElement>(
    kinds: &Kinds<R>,
    neurons: &Neurons<R>,
    first: &CubeTensor<R>,
    history: &CubeTensor<R>,
    config: CubeConfig,
) -> CubeTensor<R> {
    let [entries] = history.meta.shape().dims();
    let (d, m) = (neurons.d, neurons.m);
    let weights = launch::output(first, [m], first.dtype);
    let stride = stride(kinds.rows());
    let config = with_matrix::<R, F>(&first.client, config, m, kinds.rows(), d);
    let (interior, boundary) = (&kinds.interior, &kinds.boundary);
    // SAFETY: conditions stay below the number of their kind, neurons are clamped to m; shared memory holds all of
    // both, and A if it is stored.
    unsafe {
        conjugate_kernel::launch_unchecked::<F, R>(
            &first.client,
            CubeCount::Static(1, 1, 1),
            CubeDim::new_1d(config.units),
            interior.points.clone().into_array_arg(),
            interior.coefficients.clone().into_array_arg(),
            interior.target.clone().into_array_arg(),
            boundary.points.clone().into_array_arg(),
            boundary.coefficients.clone().into_array_arg(),
            boundary.target.clone().into_array_arg(),
            neurons.centres.clone().into_array_arg(),
            neurons.widths.clone().into_array_arg(),
            first.clone().into_array_arg(),
            weights.clone().into_array_arg(),
            history.clone().into_array_arg(),
            interior.n as u32,
            boundary.n as u32,
            m as u32,
            config.side(m),
            stride as u32,
            entries.saturating_sub(1) as u32,
            F::from_elem(kinds.shares[0]),
            F::from_elem(kinds.shares[1]),
            interior.functional,
            boundary.functional,
            config,
        );
    }
    weights
}
