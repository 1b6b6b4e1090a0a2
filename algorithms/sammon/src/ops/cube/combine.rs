//! Reduction of partial sums to forces, or to the next embedding.

#![allow(missing_docs)] // `#[cube]` writes companions that cannot be documented.

use burn_cubecl::{CubeRuntime, FloatElement, tensor::CubeTensor};
use cubecl::prelude::*;
use firebox_backends::kernel::launch;

/// Quantity computed from the sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Update {
    /// Returns the forces.
    Forces,
    /// y + rate·F, one rate per point.
    Step,
    /// y + α·F/Σ μ·w; a point without pairs stays.
    Jacobi,
}

/// Adds the parts of `sums` `[parts, terms, n]`, or `[n, terms]` with `point_major`; writes forces or the next
/// embedding `[m, n]` to `next`, and stresses to row `row` of `stresses`.
#[cube(launch_unchecked)]
fn combine<F: Float + CubeElement>(
    sums: &Array<F>,
    embedding: &Array<F>,
    rates: &Array<F>,
    next: &mut Array<F>,
    stresses: &mut Array<F>,
    n: u32,
    parts: u32,
    row: u32,
    alpha: F,
    #[comptime] m: u32,
    #[comptime] terms: u32,
    #[comptime] kind: Update,
    #[comptime] point_major: bool,
) {
    let i = CUBE_POS as u32 * CUBE_DIM_X + UNIT_POS_X;
    if i < n {
        let mut totals = Array::<F>::new(comptime!(terms as usize));
        #[unroll]
        for s in 0..terms {
            totals[s as usize] = F::new(0.0);
        }
        for part in 0..parts {
            #[unroll]
            for s in 0..terms {
                let at = if comptime!(point_major) {
                    i as usize * comptime!(terms as usize) + comptime!(s as usize)
                } else {
                    (part * terms + s) as usize * n as usize + i as usize
                };
                totals[s as usize] += sums[at];
            }
        }
        let rate = match comptime!(kind) {
            Update::Forces => F::new(0.0),
            Update::Step => rates[i as usize],
            Update::Jacobi => {
                let weight = totals[comptime!((m + 1) as usize)];
                let divisor = select(weight > F::new(0.0), weight, F::new(1.0));
                select(weight > F::new(0.0), alpha / divisor, F::new(0.0))
            }
        };
        #[unroll]
        for k in 0..m {
            let at = k as usize * n as usize + i as usize;
            next[at] = if comptime!(kind == Update::Forces) {
                totals[comptime!(k as usize)]
            } else {
                embedding[at] + rate * totals[comptime!(k as usize)]
            };
        }
        stresses[row as usize * n as usize + i as usize] = totals[comptime!(m as usize)];
    }
}

/// Output of an update.
pub(super) struct Target<'a, R: CubeRuntime> {
    /// Forces or the next embedding `[m, n]`.
    pub(super) next: &'a CubeTensor<R>,
    /// Stresses `[rows, n]`.
    pub(super) stresses: &'a CubeTensor<R>,
    /// Row of `stresses` to write.
    pub(super) row: usize,
}

/// Reduces `sums` `[parts, terms, n]` (or `[n, terms]` with `point_major`) of an embedding and writes `target`.
/// Only [`Update::Step`] reads `rates` `[n]`, only [`Update::Jacobi`] reads `alpha`.
pub(super) fn update<R: CubeRuntime, F: FloatElement>(
    sums: &CubeTensor<R>,
    embedding: &CubeTensor<R>,
    rates: &CubeTensor<R>,
    alpha: f64,
    target: &Target<'_, R>,
    kind: Update,
    point_major: bool,
) {
    let [m, n] = embedding.meta.shape().dims();
    let (parts, terms) = if point_major {
        let [_, terms] = sums.meta.shape().dims();
        (1, terms)
    } else {
        let [parts, terms, _] = sums.meta.shape().dims();
        (parts, terms)
    };
    let client = &embedding.client;
    let units = launch::units_within(client, 256);
    // SAFETY: points are guarded against n; all arrays have n columns.
    unsafe {
        combine::launch_unchecked::<F, R>(
            client,
            launch::cubes_for(client, n, units),
            CubeDim::new_1d(units),
            sums.clone().into_array_arg(),
            embedding.clone().into_array_arg(),
            rates.clone().into_array_arg(),
            target.next.clone().into_array_arg(),
            target.stresses.clone().into_array_arg(),
            n as u32,
            parts as u32,
            target.row as u32,
            F::from_elem(alpha),
            m as u32,
            terms as u32,
            kind,
            point_major,
        );
    }
}

/// Sums `sums` `[parts, rest]` over parts, to `out` `[rest]`.
#[cube(launch_unchecked)]
fn add_up<F: Float + CubeElement>(sums: &Array<F>, out: &mut Array<F>, parts: u32, rest: u32) {
    let i = CUBE_POS as u32 * CUBE_DIM_X + UNIT_POS_X;
    if i < rest {
        let mut total = F::new(0.0);
        for part in 0..parts {
            total += sums[part as usize * rest as usize + i as usize];
        }
        out[i as usize] = total;
    }
}

/// Sums `sums` `[parts, terms, n]` over parts, to `out` `[terms, n]`.
pub(super) fn add_parts<R: CubeRuntime, F: FloatElement>(sums: &CubeTensor<R>, out: &CubeTensor<R>) {
    let (parts, rest) = (sums.meta.shape()[0], out.meta.shape().num_elements());
    let client = &sums.client;
    let units = launch::units_within(client, 256);
    // SAFETY: elements are guarded against `rest`; `sums` has parts·rest elements.
    unsafe {
        add_up::launch_unchecked::<F, R>(
            client,
            launch::cubes_for(client, rest, units),
            CubeDim::new_1d(units),
            sums.clone().into_array_arg(),
            out.clone().into_array_arg(),
            parts as u32,
            rest as u32,
        );
    }
}
