//! AᵀA·p in one pass over a stored or recomputed A.
//!
//! The units of a cube hold all neurons in registers, with p and the partial AᵀA·p. For a few conditions at a time they
//! obtain their elements of A, sum A·p over the cube, and add Aᵀ times that: each element is read or computed once.
//! [`reduction`] sums the cubes' results in a fixed order.

#![allow(missing_docs)] // `#[cube]` writes companions that cannot be documented.

use burn_cubecl::{CubeRuntime, FloatElement, tensor::CubeTensor};
use cubecl::prelude::*;
use firebox_backends::kernel::launch;

use super::{
    column_sums,
    functional::{Functional, element},
    operands::{Conditions, Neurons},
    reduction, residual,
};

/// Maximum number of units per cube.
const UNITS: u32 = 256;
/// Maximum number of neurons per unit. Beyond that many per cube, A is computed twice.
const COLUMNS: u32 = 16;
/// Units per cube for more neurons over a stored A: 64 neurons per unit for a square A of 17 GB.
const MANY: u32 = 1024;
/// Units per plane with subgroup reductions.
const PLANE: u32 = 32;

/// Compile-time parameters of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Plan {
    functional: Functional,
    stored: bool,
    units: u32,
    /// Neurons per unit.
    columns: u32,
    /// Conditions per iteration.
    rows: u32,
    planes: bool,
}

impl Plan {
    /// Length of the scratch memory.
    fn scratch(self) -> u32 {
        self.rows * if self.planes { self.units / PLANE + 1 } else { self.units }
    }
}

/// Replaces each of the `values` by its sum over the cube.
#[cube]
fn sum_each<F: Float>(values: &mut Array<F>, scratch: &mut SharedMemory<F>, #[comptime] plan: Plan) {
    let rows = comptime!(plan.rows);
    let units = comptime!(plan.units);
    if comptime!(plan.planes) {
        #[unroll]
        for r in 0..rows {
            values[r as usize] = plane_sum(values[r as usize]);
        }
        let count = comptime!(units / PLANE);
        if comptime!(count > 1) {
            // Between two calls, barriers follow all reads except those of the totals, which are overwritten only after
            // the barrier here.
            let lane = UNIT_POS_X % PLANE;
            if lane == 0 {
                #[unroll]
                for r in 0..rows {
                    scratch[(comptime!(r * count) + UNIT_POS_X / PLANE) as usize] = values[r as usize];
                }
            }
            sync_cube();
            if UNIT_POS_X < rows {
                let mut total = F::new(0.0);
                #[unroll]
                for p in 0..count {
                    total += scratch[(UNIT_POS_X * count + p) as usize];
                }
                scratch[(comptime!(rows * count) + UNIT_POS_X) as usize] = total;
            }
            sync_cube();
            #[unroll]
            for r in 0..rows {
                values[r as usize] = scratch[comptime!((rows * count + r) as usize)];
            }
        }
    } else {
        // All units must have read the scratch of the previous call before it is overwritten.
        sync_cube();
        #[unroll]
        for r in 0..rows {
            scratch[(comptime!(r * units) + UNIT_POS_X) as usize] = values[r as usize];
        }
        sync_cube();
        let steps = comptime!(units.trailing_zeros());
        #[unroll]
        for s in 0..steps {
            let half = comptime!(units >> (s + 1));
            if UNIT_POS_X < half {
                #[unroll]
                for r in 0..rows {
                    let other = scratch[(comptime!(r * units) + UNIT_POS_X + half) as usize];
                    scratch[(comptime!(r * units) + UNIT_POS_X) as usize] += other;
                }
            }
            sync_cube();
        }
        #[unroll]
        for r in 0..rows {
            values[r as usize] = scratch[comptime!((r * units) as usize)];
        }
    }
}

/// Writes `share` times AᵀA·p of `span` conditions per cube to rows `part`.. of `out` `[parts, m]`.
#[cube(launch_unchecked, address_type = "dynamic", fast_math = FastMath::all() - FastMath::NotNaN - FastMath::NotInf)]
fn sum_normal<F: Float + CubeElement>(
    points: &Array<F>,
    coefficients: &Array<F>,
    matrix: &Array<F>,
    centres: &Array<F>,
    widths: &Array<F>,
    vector: &Array<F>,
    out: &mut Array<F>,
    n: u32,
    m: u32,
    span: u32,
    part: u32,
    share: F,
    #[comptime] plan: Plan,
) {
    let functional = comptime!(plan.functional);
    let d = comptime!(if plan.stored { 0 } else { functional.d });
    let c = comptime!(if plan.stored { 0 } else { functional.count() });
    let columns = comptime!(plan.columns);
    let rows = comptime!(plan.rows);
    let units = comptime!(plan.units);
    let mut scratch = SharedMemory::<F>::new(comptime!(plan.scratch() as usize));

    let mut centre = Array::<F>::new(comptime!((columns * d).max(1) as usize));
    let mut inverse = Array::<F>::new(comptime!(columns as usize));
    let mut p = Array::<F>::new(comptime!(columns as usize));
    let mut totals = Array::<F>::new(comptime!(columns as usize));
    #[unroll]
    for q in 0..columns {
        let neuron = UNIT_POS_X + comptime!(q * units);
        let j = neuron.min(m - 1);
        #[unroll]
        for k in 0..d {
            centre[comptime!((q * d + k) as usize)] = centres[(k * m + j) as usize];
        }
        if comptime!(!plan.stored) {
            let width = widths[j as usize];
            inverse[q as usize] = F::new(1.0) / (width * width);
        }
        p[q as usize] = select(neuron < m, vector[j as usize], F::new(0.0));
        totals[q as usize] = F::new(0.0);
    }

    let cube = CUBE_POS as u32;
    let start = cube * span;
    let end = (start + span).min(n);
    for row in range_stepped(start, end, rows) {
        let mut elements = Array::<F>::new(comptime!((rows * columns) as usize));
        let mut sums = Array::<F>::new(comptime!(rows as usize));
        #[unroll]
        for r in 0..rows {
            let i = (row + r).min(end - 1) as usize;
            let mut at = Array::<F>::new(comptime!(d.max(1) as usize));
            let mut own = Array::<F>::new(comptime!(c.max(1) as usize));
            #[unroll]
            for k in 0..d {
                at[k as usize] = points[k as usize * n as usize + i];
            }
            #[unroll]
            for k in 0..c {
                own[k as usize] = coefficients[k as usize * n as usize + i];
            }
            sums[r as usize] = F::new(0.0);
            #[unroll]
            for q in 0..columns {
                let value = if comptime!(plan.stored) {
                    let j = (UNIT_POS_X + comptime!(q * units)).min(m - 1);
                    matrix[i * m as usize + j as usize]
                } else {
                    let mut delta = Array::<F>::new(comptime!(d.max(1) as usize));
                    #[unroll]
                    for k in 0..d {
                        delta[k as usize] = at[k as usize] - centre[comptime!((q * d + k) as usize)];
                    }
                    element::<F>(&delta, inverse[q as usize], &own, 0u32, functional)
                };
                elements[comptime!((r * columns + q) as usize)] = value;
                sums[r as usize] += value * p[q as usize];
            }
        }
        sum_each::<F>(&mut sums, &mut scratch, plan);
        #[unroll]
        for r in 0..rows {
            let sum = select(row + r < end, sums[r as usize], F::new(0.0));
            #[unroll]
            for q in 0..columns {
                totals[q as usize] += sum * elements[comptime!((r * columns + q) as usize)];
            }
        }
    }

    #[unroll]
    for q in 0..columns {
        let j = UNIT_POS_X + comptime!(q * units);
        if j < m {
            out[(part + cube) as usize * m as usize + j as usize] = share * totals[q as usize];
        }
    }
}

/// Partition of a product.
#[derive(Clone, Copy)]
pub(super) enum Partition {
    /// One pass: units, neurons per unit, conditions per cube.
    One { units: u32, columns: u32, span: usize, parts: usize },
    /// Two passes: A·p, then Aᵀ times that.
    Two(column_sums::Blocks),
}

impl Partition {
    /// The partition for n conditions and m neurons.
    pub(super) fn new<R: CubeRuntime>(client: &ComputeClient<R>, n: usize, m: usize, stored: bool) -> Self {
        let units = launch::units_within(client, (m as u32).next_power_of_two().clamp(PLANE, UNITS));
        let columns = |units: u32| (m as u32).div_ceil(units).next_power_of_two();
        let (units, columns) = match columns(units) {
            few if few <= COLUMNS => (units, few),
            _ if !stored => return Self::Two(column_sums::Blocks::new(client, n, m)),
            _ => {
                let units = launch::units_within(client, MANY);
                (units, columns(units))
            }
        };
        let cubes = client.properties().hardware.num_streaming_multiprocessors.map_or(256, |sm| sm * 16) as usize;
        let span = n.div_ceil(cubes).max(32);
        Self::One { units, columns, span, parts: n.div_ceil(span) }
    }

    /// Number of parts.
    pub(super) fn parts(self) -> usize {
        match self {
            Self::One { parts, .. } => parts,
            Self::Two(blocks) => blocks.parts,
        }
    }
}

/// Writes the parts of AᵀA·p, each times `share`, to rows `part`.. of `out` `[parts, m]`.
#[allow(clippy::too_many_arguments)]
pub(super) fn add<R: CubeRuntime, F: FloatElement>(
    conditions: &Conditions<R>,
    neurons: &Neurons<R>,
    matrix: Option<&CubeTensor<R>>,
    vector: &CubeTensor<R>,
    share: f64,
    partition: Partition,
    out: &CubeTensor<R>,
    part: usize,
) {
    let client = &out.client;
    let (units, columns, span, parts) = match partition {
        Partition::One { units, columns, span, parts } => (units, columns, span, parts),
        Partition::Two(blocks) => {
            let product = residual::product::<R, F>(conditions, neurons, vector);
            let sums = column_sums::Sums::Elements;
            column_sums::add::<R, F>(sums, conditions, neurons, vector, &product, share, blocks, out, part);
            return;
        }
    };
    if parts == 0 {
        return;
    }
    let plan = Plan {
        functional: conditions.functional,
        stored: matrix.is_some(),
        units,
        columns,
        rows: (32 / columns).clamp(1, 8),
        planes: launch::plane(client) == Some(PLANE),
    };
    let matrix = matrix.unwrap_or(&neurons.centres);
    // SAFETY: conditions are clamped to the cube's last, which is below n; neurons are clamped where they are read and
    // guarded where sums are written.
    unsafe {
        sum_normal::launch_unchecked::<F, R>(
            client,
            CubeCount::Static(parts as u32, 1, 1),
            CubeDim::new_1d(units),
            launch::address(&[&conditions.points, &conditions.coefficients, matrix, out]),
            conditions.points.clone().into_array_arg(),
            conditions.coefficients.clone().into_array_arg(),
            matrix.clone().into_array_arg(),
            neurons.centres.clone().into_array_arg(),
            neurons.widths.clone().into_array_arg(),
            vector.clone().into_array_arg(),
            out.clone().into_array_arg(),
            conditions.n as u32,
            neurons.m as u32,
            span as u32,
            part as u32,
            F::from_elem(share),
            plan,
        );
    }
}

/// AᵀA·p `[m]`.
pub(super) fn normal<R: CubeRuntime, F: FloatElement>(
    conditions: &Conditions<R>,
    neurons: &Neurons<R>,
    matrix: Option<&CubeTensor<R>>,
    vector: &CubeTensor<R>,
) -> CubeTensor<R> {
    let partition = Partition::new(&vector.client, conditions.n, neurons.m, matrix.is_some());
    let sums = launch::output(vector, [partition.parts(), neurons.m], vector.dtype);
    add::<R, F>(conditions, neurons, matrix, vector, 1.0, partition, &sums, 0);
    let out = launch::output(vector, [neurons.m], vector.dtype);
    reduction::fold::<R, F>(&sums, partition.parts(), &out);
    out
}
