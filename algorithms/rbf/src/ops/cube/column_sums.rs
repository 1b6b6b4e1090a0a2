//! Sums over conditions for one neuron or a few per unit: Aᵀv, and the gradient by c and a.
//!
//! Each cube takes a block of conditions, tiled through shared memory; [`reduction`](super::reduction) sums the blocks
//! in a fixed order.

#![allow(missing_docs)] // `#[cube]` writes companions that cannot be documented.

use burn_cubecl::{CubeRuntime, FloatElement, tensor::CubeTensor};
use cubecl::prelude::*;
use firebox_backends::kernel::launch;

use super::{
    functional::{Functional, add_slopes, element, slope_factor},
    operands::{Conditions, Neurons},
};

/// Conditions per tile.
const TILE: u32 = 128;

/// The summand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Sums {
    /// Σ v·Lφ.
    Elements,
    /// Σ v·w·∂(Lφ)/∂(c, a), d + 1 numbers.
    Slopes,
}

impl Sums {
    /// Number of sums per neuron.
    pub(super) fn count(self, d: u32) -> u32 {
        match self {
            Self::Elements => 1,
            Self::Slopes => d + 1,
        }
    }
}

/// Compile-time parameters of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Plan {
    functional: Functional,
    sums: Sums,
    units: u32,
    /// Neurons per unit.
    columns: u32,
}

/// Writes `share` times the sums over `span` conditions per cube to row `part` + `CUBE_POS_Y` of `out`
/// `[parts, sums, m]`.
#[cube(launch_unchecked, address_type = "dynamic", fast_math = FastMath::all() - FastMath::NotNaN - FastMath::NotInf)]
fn sum_columns<F: Float + CubeElement>(
    points: &Array<F>,
    coefficients: &Array<F>,
    values: &Array<F>,
    centres: &Array<F>,
    widths: &Array<F>,
    weights: &Array<F>,
    out: &mut Array<F>,
    n: u32,
    m: u32,
    span: u32,
    part: u32,
    share: F,
    #[comptime] plan: Plan,
) {
    let functional = comptime!(plan.functional);
    let d = comptime!(functional.d);
    let c = comptime!(functional.count());
    let count = comptime!(plan.sums.count(functional.d));
    let columns = comptime!(plan.columns);
    let units = comptime!(plan.units);
    let mut staged_points = SharedMemory::<F>::new(comptime!((d * TILE) as usize));
    let mut staged_values = SharedMemory::<F>::new(comptime!(TILE as usize));
    let mut staged_coefficients = SharedMemory::<F>::new(comptime!((c * TILE).max(1) as usize));

    let neuron = CUBE_POS_X * comptime!(units * columns) + UNIT_POS_X;
    let mut centre = Array::<F>::new(comptime!((columns * d) as usize));
    let mut inverse = Array::<F>::new(comptime!(columns as usize));
    let mut totals = Array::<F>::new(comptime!((columns * count) as usize));
    #[unroll]
    for q in 0..columns {
        let j = (neuron + comptime!(q * units)).min(m - 1);
        #[unroll]
        for k in 0..d {
            centre[comptime!((q * d + k) as usize)] = centres[(k * m + j) as usize];
        }
        let width = widths[j as usize];
        inverse[q as usize] = F::new(1.0) / (width * width);
        #[unroll]
        for k in 0..count {
            totals[comptime!((q * count + k) as usize)] = F::new(0.0);
        }
    }

    let start = CUBE_POS_Y * span;
    let end = (start + span).min(n);
    for tile in range_stepped(start, end, TILE) {
        let here = (end - tile).min(TILE);
        // All units must have read the staged tile before it is overwritten.
        sync_cube();
        for t in range_stepped(UNIT_POS_X, here, units) {
            let i = (tile + t) as usize;
            #[unroll]
            for k in 0..d {
                staged_points[(comptime!(k * TILE) + t) as usize] = points[k as usize * n as usize + i];
            }
            #[unroll]
            for k in 0..c {
                staged_coefficients[(comptime!(k * TILE) + t) as usize] = coefficients[k as usize * n as usize + i];
            }
            staged_values[t as usize] = values[i];
        }
        sync_cube();
        // One sum per tile: rounding grows with the number of tiles, not of conditions.
        let mut sums = Array::<F>::new(comptime!((columns * count) as usize));
        #[unroll]
        for k in 0..comptime!(columns * count) {
            sums[k as usize] = F::new(0.0);
        }
        for t in 0..here {
            let value = staged_values[t as usize];
            let mut own = Array::<F>::new(comptime!(c.max(1) as usize));
            #[unroll]
            for k in 0..c {
                own[k as usize] = staged_coefficients[(comptime!(k * TILE) + t) as usize];
            }
            let mut at = Array::<F>::new(comptime!(d as usize));
            #[unroll]
            for k in 0..d {
                at[k as usize] = staged_points[(comptime!(k * TILE) + t) as usize];
            }
            #[unroll]
            for q in 0..columns {
                let mut delta = Array::<F>::new(comptime!(d as usize));
                #[unroll]
                for k in 0..d {
                    delta[k as usize] = at[k as usize] - centre[comptime!((q * d + k) as usize)];
                }
                let g = inverse[q as usize];
                match comptime!(plan.sums) {
                    Sums::Elements => {
                        sums[q as usize] += value * element::<F>(&delta, g, &own, 0u32, functional);
                    }
                    Sums::Slopes => {
                        add_slopes::<F>(&mut sums, comptime!(q * count), value, &delta, g, &own, 0u32, functional);
                    }
                }
            }
        }
        #[unroll]
        for k in 0..comptime!(columns * count) {
            totals[k as usize] += sums[k as usize];
        }
    }

    let row = (part + CUBE_POS_Y) * count;
    #[unroll]
    for q in 0..columns {
        let j = neuron + comptime!(q * units);
        if j < m {
            #[unroll]
            for k in 0..count {
                let factor = match comptime!(plan.sums) {
                    Sums::Elements => share,
                    Sums::Slopes => {
                        share * weights[j as usize] * slope_factor::<F>(inverse[q as usize], widths[j as usize], k, d)
                    }
                };
                let total = totals[comptime!((q * count + k) as usize)];
                out[(row + k) as usize * m as usize + j as usize] = factor * total;
            }
        }
    }
}

/// Partition of conditions into blocks.
#[derive(Clone, Copy)]
pub(super) struct Blocks {
    units: u32,
    columns: u32,
    span: usize,
    /// Number of blocks.
    pub(super) parts: usize,
}

impl Blocks {
    /// Blocks of n conditions for m neurons: enough to occupy the device, within the limit of a launch axis.
    pub(super) fn new<R: CubeRuntime>(client: &ComputeClient<R>, n: usize, m: usize) -> Self {
        let columns = if m >= 1024 { 4 } else { 1 };
        let wanted = m.div_ceil(columns).next_power_of_two().clamp(32, 256);
        let units = launch::units_within(client, wanted as u32);
        let across = m.div_ceil(units as usize * columns);
        let cubes = client.properties().hardware.num_streaming_multiprocessors.map_or(256, |sm| sm * 16) as usize;
        let span = n.div_ceil((cubes / across).max(1));
        // A block is a part of a tile, or several whole tiles.
        let tile = TILE as usize;
        let span = if span <= tile { span.next_power_of_two().max(32) } else { span.next_multiple_of(tile) };
        Self { units, columns: columns as u32, span, parts: n.div_ceil(span) }
    }
}

/// Writes the sums of blocks, each times `share`, to rows `part`.. of `out` `[parts, sums, m]`. [`Sums::Elements`]
/// ignores the weights.
#[allow(clippy::too_many_arguments)]
pub(super) fn add<R: CubeRuntime, F: FloatElement>(
    sums: Sums,
    conditions: &Conditions<R>,
    neurons: &Neurons<R>,
    weights: &CubeTensor<R>,
    values: &CubeTensor<R>,
    share: f64,
    blocks: Blocks,
    out: &CubeTensor<R>,
    part: usize,
) {
    if conditions.n == 0 {
        return;
    }
    let client = &out.client;
    let plan = Plan { functional: conditions.functional, sums, units: blocks.units, columns: blocks.columns };
    let across = (neurons.m as u32).div_ceil(blocks.units * blocks.columns);
    // SAFETY: conditions stay below n, reads of neurons are clamped and writes of sums guarded.
    unsafe {
        sum_columns::launch_unchecked::<F, R>(
            client,
            CubeCount::Static(across, blocks.parts as u32, 1),
            CubeDim::new_1d(blocks.units),
            launch::address(&[&conditions.points, &conditions.coefficients, out]),
            conditions.points.clone().into_array_arg(),
            conditions.coefficients.clone().into_array_arg(),
            values.clone().into_array_arg(),
            neurons.centres.clone().into_array_arg(),
            neurons.widths.clone().into_array_arg(),
            weights.clone().into_array_arg(),
            out.clone().into_array_arg(),
            conditions.n as u32,
            neurons.m as u32,
            blocks.span as u32,
            part as u32,
            F::from_elem(share),
            plan,
        );
    }
}
