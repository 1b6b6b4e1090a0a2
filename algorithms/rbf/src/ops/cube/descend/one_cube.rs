//! All steps in a single launch of one cube, with neurons and residuals in shared memory.

#![allow(missing_docs)] // `#[cube]` writes companions that cannot be documented.

use burn_cubecl::{CubeRuntime, FloatElement, tensor::CubeTensor};
use cubecl::prelude::*;
use firebox_backends::kernel::launch;

use crate::ops::cube::{
    column_sums::Sums,
    functional::{Functional, slope_factor},
    operands::{Kinds, Neurons},
    reduction::cube_sum,
    single_cube::{CubeConfig, add_columns, load_neurons, part_sum, sum_rows},
};

#[cube(launch_unchecked, fast_math = FastMath::all() - FastMath::NotNaN - FastMath::NotInf)]
fn descend_kernel<F: Float + CubeElement>(
    interior_points: &Array<F>,
    interior_coefficients: &Array<F>,
    interior_target: &Array<F>,
    boundary_points: &Array<F>,
    boundary_coefficients: &Array<F>,
    boundary_target: &Array<F>,
    centres: &Array<F>,
    widths: &Array<F>,
    weights: &Array<F>,
    next_centres: &mut Array<F>,
    next_widths: &mut Array<F>,
    history: &mut Array<F>,
    inside: u32,
    outside: u32,
    m: u32,
    side: u32,
    steps: u32,
    of_centres: F,
    of_widths: F,
    interior_share: F,
    boundary_share: F,
    #[comptime] interior: Functional,
    #[comptime] boundary: Functional,
    #[comptime] config: CubeConfig,
) {
    let d = comptime!(interior.d);
    let units = comptime!(config.units);
    let mut centre = SharedMemory::<F>::new(comptime!((d * config.neurons) as usize));
    let mut inverse = SharedMemory::<F>::new(comptime!(config.neurons as usize));
    let mut weight = SharedMemory::<F>::new(comptime!(config.neurons as usize));
    let mut residual = SharedMemory::<F>::new(comptime!(config.rows as usize));
    let mut scratch = SharedMemory::<F>::new(comptime!(units as usize));

    load_neurons::<F>(centres, widths, &mut centre, &mut inverse, m, d, config);
    let own = (UNIT_POS_X % side).min(m - 1);
    let part = UNIT_POS_X / side;
    let parts = units / side;
    // Only the unit that owns the neuron writes a.
    let mut width = widths[own as usize];
    let w = weights[own as usize];
    if UNIT_POS_X < m {
        weight[UNIT_POS_X as usize] = w;
    }
    sync_cube();

    for step in 0..steps {
        let inner = sum_rows::<F>(
            interior_points,
            interior_coefficients,
            interior_target,
            &centre,
            &inverse,
            &weight,
            &mut residual,
            UNIT_POS_X,
            inside,
            m,
            0u32,
            interior_share,
            true,
            interior,
            config,
        );
        let outer = sum_rows::<F>(
            boundary_points,
            boundary_coefficients,
            boundary_target,
            &centre,
            &inverse,
            &weight,
            &mut residual,
            units - 1 - UNIT_POS_X,
            outside,
            m,
            inside,
            boundary_share,
            true,
            boundary,
            config,
        );
        // Contains a barrier, after which all residuals are visible.
        let objective =
            cube_sum::<F>(interior_share * inner + boundary_share * outer, &mut scratch, units, config.planes);
        if UNIT_POS_X == 0 {
            history[step as usize] = F::new(0.5) * objective;
        }

        let mut sums = Array::<F>::new(comptime!((d + 1) as usize));
        #[unroll]
        for k in 0..comptime!(d + 1) {
            sums[k as usize] = F::new(0.0);
        }
        let g = inverse[own as usize];
        add_columns::<F>(
            interior_points,
            interior_coefficients,
            &centre,
            g,
            &residual,
            &mut sums,
            own,
            part,
            parts,
            inside,
            0u32,
            Sums::Slopes,
            interior,
            config,
        );
        add_columns::<F>(
            boundary_points,
            boundary_coefficients,
            &centre,
            g,
            &residual,
            &mut sums,
            own,
            part,
            parts,
            outside,
            inside,
            Sums::Slopes,
            boundary,
            config,
        );
        #[unroll]
        for k in 0..comptime!(d + 1) {
            // Contains a barrier, after the first of which no unit reads the previous neurons.
            let total = part_sum::<F>(sums[k as usize], &mut scratch, side, parts);
            if UNIT_POS_X < m {
                let slope = w * slope_factor::<F>(g, width, k, d) * total;
                if comptime!(k < d) {
                    centre[(comptime!(k * config.neurons) + UNIT_POS_X) as usize] -= of_centres * slope;
                } else {
                    // Steps in ln a multiply a.
                    width *= (F::new(0.0) - of_widths * width * slope).exp();
                    inverse[UNIT_POS_X as usize] = F::new(1.0) / (width * width);
                }
            }
        }
        sync_cube();
    }

    if UNIT_POS_X < m {
        #[unroll]
        for k in 0..d {
            next_centres[(k * m + UNIT_POS_X) as usize] = centre[(comptime!(k * config.neurons) + UNIT_POS_X) as usize];
        }
        next_widths[UNIT_POS_X as usize] = width;
    }
}

/// Centres and widths after `history.len()` steps.
pub(super) fn descend<R: CubeRuntime, F: FloatElement>(
    kinds: &Kinds<R>,
    neurons: &Neurons<R>,
    weights: &CubeTensor<R>,
    rates: [f64; 2],
    history: &CubeTensor<R>,
    config: CubeConfig,
) -> Neurons<R> {
    let [steps] = history.meta.shape().dims();
    let (d, m) = (neurons.d, neurons.m);
    let next = Neurons {
        centres: launch::output(weights, [d, m], weights.dtype),
        widths: launch::output(weights, [m], weights.dtype),
        ..*neurons
    };
    let (interior, boundary) = (&kinds.interior, &kinds.boundary);
    // SAFETY: conditions stay below the number of their kind, neurons are clamped to m; shared memory holds all of
    // both.
    unsafe {
        descend_kernel::launch_unchecked::<F, R>(
            &weights.client,
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
            weights.clone().into_array_arg(),
            next.centres.clone().into_array_arg(),
            next.widths.clone().into_array_arg(),
            history.clone().into_array_arg(),
            interior.n as u32,
            boundary.n as u32,
            m as u32,
            config.side(m),
            steps as u32,
            F::from_elem(rates[0]),
            F::from_elem(rates[1]),
            F::from_elem(kinds.shares[0]),
            F::from_elem(kinds.shares[1]),
            interior.functional,
            boundary.functional,
            config,
        );
    }
    next
}
