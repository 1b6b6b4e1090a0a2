//! All steps in one launch of one cube, which keeps neurons and residuals in shared memory.

#![allow(missing_docs)] // `#[cube]` writes companions that cannot be documented.

use burn_cubecl::{CubeRuntime, FloatElement, tensor::CubeTensor};
use cubecl::prelude::*;
use firebox_backends::kernel::launch;

use crate::kernel::{
    columns::Sums,
    fold::cube_sum,
    functional::{Law, slope_factor},
    input::{Kinds, Neurons},
    small::{Room, add_columns, bring, part_sum, sum_rows},
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
    #[comptime] interior: Law,
    #[comptime] boundary: Law,
    #[comptime] room: Room,
) {
    let d = comptime!(interior.d);
    let units = comptime!(room.units);
    let mut centre = SharedMemory::<F>::new(comptime!((d * room.neurons) as usize));
    let mut inverse = SharedMemory::<F>::new(comptime!(room.neurons as usize));
    let mut weight = SharedMemory::<F>::new(comptime!(room.neurons as usize));
    let mut residual = SharedMemory::<F>::new(comptime!(room.rows as usize));
    let mut scratch = SharedMemory::<F>::new(comptime!(units as usize));

    bring::<F>(centres, widths, &mut centre, &mut inverse, m, d, room);
    let own = (UNIT_POS_X % side).min(m - 1);
    let part = UNIT_POS_X / side;
    let parts = units / side;
    // The neuron's own unit keeps a; the others' is never written.
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
            room,
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
            room,
        );
        // A barrier inside: all residuals are there after it.
        let objective =
            cube_sum::<F>(interior_share * inner + boundary_share * outer, &mut scratch, units, room.planes);
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
            room,
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
            room,
        );
        #[unroll]
        for k in 0..comptime!(d + 1) {
            // A barrier inside: nobody needs the former neurons after the first.
            let total = part_sum::<F>(sums[k as usize], &mut scratch, side, parts);
            if UNIT_POS_X < m {
                let slope = w * slope_factor::<F>(g, width, k, d) * total;
                if comptime!(k < d) {
                    centre[(comptime!(k * room.neurons) + UNIT_POS_X) as usize] -= of_centres * slope;
                } else {
                    // A step of ln a is a factor of a.
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
            next_centres[(k * m + UNIT_POS_X) as usize] = centre[(comptime!(k * room.neurons) + UNIT_POS_X) as usize];
        }
        next_widths[UNIT_POS_X as usize] = width;
    }
}

/// The shape after as many steps as `history` is long.
pub(super) fn descend<R: CubeRuntime, F: FloatElement>(
    kinds: &Kinds<R>,
    neurons: &Neurons<R>,
    weights: &CubeTensor<R>,
    rates: [f64; 2],
    history: &CubeTensor<R>,
    room: Room,
) -> Neurons<R> {
    let [steps] = history.meta.shape().dims();
    let (d, m) = (neurons.d, neurons.m);
    let next = Neurons {
        centres: launch::output(weights, [d, m], weights.dtype),
        widths: launch::output(weights, [m], weights.dtype),
        ..*neurons
    };
    let (interior, boundary) = (&kinds.interior, &kinds.boundary);
    // SAFETY: conditions stay below how many there are of a kind, neurons are clamped to m; the room holds all of both.
    unsafe {
        descend_kernel::launch_unchecked::<F, R>(
            &weights.client,
            CubeCount::Static(1, 1, 1),
            CubeDim::new_1d(room.units),
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
            room.side(m),
            steps as u32,
            F::from_elem(rates[0]),
            F::from_elem(rates[1]),
            F::from_elem(kinds.shares[0]),
            F::from_elem(kinds.shares[1]),
            interior.law,
            boundary.law,
            room,
        );
    }
    next
}
