//! From sums over pairs to forces, or to the next places.

#![allow(missing_docs)] // `#[cube]` writes companions that cannot be documented.

use burn_cubecl::{CubeRuntime, FloatElement, tensor::CubeTensor};
use cubecl::prelude::*;
use firebox_backends::kernel::launch;

/// What becomes of the sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Turn {
    /// Forces as they are.
    Forces,
    /// y + rate·F, a rate a point.
    Step,
    /// y + α·F/Σ μ·w; a point without pairs stays.
    Placed,
}

/// Adds up the parts of `sums` `[parts, terms, n]`, or `[n, terms]` with `points_first`; writes places or forces
/// `[m, n]` to `next` and the stress to row `row` of `history`.
#[cube(launch_unchecked)]
fn combine<F: Float + CubeElement>(
    sums: &Array<F>,
    places: &Array<F>,
    rates: &Array<F>,
    next: &mut Array<F>,
    history: &mut Array<F>,
    n: u32,
    parts: u32,
    row: u32,
    alpha: F,
    #[comptime] m: u32,
    #[comptime] terms: u32,
    #[comptime] turn: Turn,
    #[comptime] points_first: bool,
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
                let at = if comptime!(points_first) {
                    i as usize * comptime!(terms as usize) + comptime!(s as usize)
                } else {
                    (part * terms + s) as usize * n as usize + i as usize
                };
                totals[s as usize] += sums[at];
            }
        }
        let rate = match comptime!(turn) {
            Turn::Forces => F::new(0.0),
            Turn::Step => rates[i as usize],
            Turn::Placed => {
                let weight = totals[comptime!((m + 1) as usize)];
                let sure = select(weight > F::new(0.0), weight, F::new(1.0));
                select(weight > F::new(0.0), alpha / sure, F::new(0.0))
            }
        };
        #[unroll]
        for k in 0..m {
            let at = k as usize * n as usize + i as usize;
            next[at] = if comptime!(turn == Turn::Forces) {
                totals[comptime!(k as usize)]
            } else {
                places[at] + rate * totals[comptime!(k as usize)]
            };
        }
        history[row as usize * n as usize + i as usize] = totals[comptime!(m as usize)];
    }
}

/// Where a step goes.
pub(super) struct Target<'a, R: CubeRuntime> {
    /// Places or forces `[m, n]`.
    pub(super) next: &'a CubeTensor<R>,
    /// Stresses `[rows, n]`.
    pub(super) history: &'a CubeTensor<R>,
    /// Which of its rows.
    pub(super) row: usize,
}

/// Turns `sums` `[parts, terms, n]` (or `[n, terms]` with `points_first`) of points at `places` into `target`.
/// `rates` `[n]` is read by [`Turn::Step`] only, `alpha` by [`Turn::Placed`] only.
pub(super) fn turn_sums<R: CubeRuntime, F: FloatElement>(
    sums: &CubeTensor<R>,
    places: &CubeTensor<R>,
    rates: &CubeTensor<R>,
    alpha: f64,
    target: &Target<'_, R>,
    turn: Turn,
    points_first: bool,
) {
    let [m, n] = places.meta.shape().dims();
    let (parts, terms) = if points_first {
        let [_, terms] = sums.meta.shape().dims();
        (1, terms)
    } else {
        let [parts, terms, _] = sums.meta.shape().dims();
        (parts, terms)
    };
    let client = &places.client;
    let units = launch::units_within(client, 256);
    // SAFETY: points are guarded against n; all arrays have n columns.
    unsafe {
        combine::launch_unchecked::<F, R>(
            client,
            launch::cubes_for(client, n, units),
            CubeDim::new_1d(units),
            sums.clone().into_array_arg(),
            places.clone().into_array_arg(),
            rates.clone().into_array_arg(),
            target.next.clone().into_array_arg(),
            target.history.clone().into_array_arg(),
            n as u32,
            parts as u32,
            target.row as u32,
            F::from_elem(alpha),
            m as u32,
            terms as u32,
            turn,
            points_first,
        );
    }
}

/// Adds up parts: `sums` `[parts, rest]` to `out` `[rest]`.
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

/// Adds up the parts of `sums` `[parts, terms, n]` to `out` `[terms, n]`.
pub(super) fn add_parts<R: CubeRuntime, F: FloatElement>(sums: &CubeTensor<R>, out: &CubeTensor<R>) {
    let (parts, rest) = (sums.meta.shape()[0], out.meta.shape().num_elements());
    let client = &sums.client;
    let units = launch::units_within(client, 256);
    // SAFETY: guarded against the rest; there are parts times as many sums.
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
