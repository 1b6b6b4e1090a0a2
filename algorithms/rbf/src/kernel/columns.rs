//! Sums over conditions, a unit a neuron or a few: Aᵀv, and hot loop 3, the gradient by c and a.
//!
//! Each cube takes a block of conditions, which come through shared memory a tile at a time; what the blocks add is
//! summed by [`fold`](super::fold), always in the same order.

#![allow(missing_docs)] // `#[cube]` writes companions that cannot be documented.

use burn_cubecl::{CubeRuntime, FloatElement, tensor::CubeTensor};
use cubecl::prelude::*;
use firebox_backends::kernel::launch;

use super::{
    functional::{Law, add_slopes, element, slope_factor},
    input::{Conditions, Neurons},
};

/// Conditions of a tile.
const TILE: u32 = 128;

/// What is summed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Sums {
    /// Σ v·Lφ.
    Elements,
    /// Σ v·w·∂(Lφ)/∂(c, a), d + 1 numbers.
    Slopes,
}

impl Sums {
    /// How many numbers a neuron.
    pub(super) fn count(self, d: u32) -> u32 {
        match self {
            Self::Elements => 1,
            Self::Slopes => d + 1,
        }
    }
}

/// What a launch computes; known when the kernel is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Plan {
    law: Law,
    sums: Sums,
    units: u32,
    /// Neurons of a unit.
    columns: u32,
}

/// Sums over `span` conditions a cube, those of the cube's row of the launch, to row `part` + that of `out`
/// `[parts, sums, m]`, times `share`.
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
    let law = comptime!(plan.law);
    let d = comptime!(law.d);
    let c = comptime!(law.count());
    let count = comptime!(plan.sums.count(law.d));
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
        // What is staged is overwritten now, so all must be done with it.
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
        // A sum a tile, so that rounding grows with the tiles and not with the conditions.
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
                        sums[q as usize] += value * element::<F>(&delta, g, &own, 0u32, law);
                    }
                    Sums::Slopes => {
                        add_slopes::<F>(&mut sums, comptime!(q * count), value, &delta, g, &own, 0u32, law);
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

/// How conditions are cut into blocks.
#[derive(Clone, Copy)]
pub(super) struct Blocks {
    units: u32,
    columns: u32,
    span: usize,
    /// How many.
    pub(super) parts: usize,
}

impl Blocks {
    /// For n conditions and m neurons: enough to keep the device busy, and no more than an axis of a launch may have.
    pub(super) fn new<R: CubeRuntime>(client: &ComputeClient<R>, n: usize, m: usize) -> Self {
        let columns = if m >= 1024 { 4 } else { 1 };
        let wanted = m.div_ceil(columns).next_power_of_two().clamp(32, 256);
        let units = launch::units_within(client, wanted as u32);
        let across = m.div_ceil(units as usize * columns);
        let cubes = client.properties().hardware.num_streaming_multiprocessors.map_or(256, |sm| sm * 16) as usize;
        let span = n.div_ceil((cubes / across).max(1));
        // A block is part of a tile, or whole tiles.
        let tile = TILE as usize;
        let span = if span <= tile { span.next_power_of_two().max(32) } else { span.next_multiple_of(tile) };
        Self { units, columns: columns as u32, span, parts: n.div_ceil(span) }
    }
}

/// Sums of blocks, each times `share`, to rows `part`.. of `out` `[parts, sums, m]`. Elements read no weights.
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
    let plan = Plan { law: conditions.law, sums, units: blocks.units, columns: blocks.columns };
    let across = (neurons.m as u32).div_ceil(blocks.units * blocks.columns);
    // SAFETY: conditions stay below n, neurons are clamped where they are read and guarded where sums are written.
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
