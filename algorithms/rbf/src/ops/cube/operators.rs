//! Rows of general operators for neurons with a width per axis: Aᵀ, sums of its columns, and A·w without storing A.
//!
//! Each unit has one row and goes through some neurons, whose centres and 1/a are staged in shared memory, so that
//! writes of neighbouring units are coalesced.

#![allow(missing_docs)] // `#[cube]` writes companions that cannot be documented.

use burn::tensor::DType;
use burn_cubecl::{CubeRuntime, FloatElement, tensor::CubeTensor};
use cubecl::prelude::*;
use firebox_backends::{DeviceLimits, kernel::launch};

use crate::types::{Ellipsoids, Mixed, OperatorRows, RowSums};

/// Units per cube.
const UNITS: u32 = 128;
/// Neurons per cube of a matrix, and per tile.
const TILE: u32 = 32;
/// Sums per cube, and neurons per unit of it.
const SUM_UNITS: u32 = 64;
const NEURONS: u32 = 4;

/// The compile-time form of the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Plan {
    d: u32,
    /// As in [`OperatorRows`].
    mixed: Mixed,
    has_derivatives: bool,
}

impl Plan {
    /// Coefficients that are read.
    fn count(self) -> u32 {
        if self.has_derivatives { self.mixed.coefficients(self.d as usize) as u32 } else { 1 }
    }

    fn contains(self, i: u32, j: u32) -> bool {
        self.mixed.contains(i as usize, j as usize)
    }

    /// Index of the coefficient of ∂²u/∂xᵢ∂xⱼ.
    fn index(self, i: u32, j: u32) -> u32 {
        let before = self.mixed.pairs().take_while(|&[a, b]| [a as u32, b as u32] != [i, j]).count();
        1 + 2 * self.d + before as u32
    }
}

/// (Lφ)(x) with s = (x − c)/a per axis and φ = exp(−|s|²): ∂φ/∂x = −2s/a·φ, ∂²φ/∂x² = (4s² − 2)/a²·φ,
/// ∂²φ/∂x∂y = 4·s_x·s_y/(a_x·a_y)·φ. The neuron is number `j` of the tile in `centres` and `inverses`.
#[cube]
fn element<F: Float>(
    point: &Array<F>,
    terms: &Array<F>,
    centres: &SharedMemory<F>,
    inverses: &SharedMemory<F>,
    j: u32,
    #[comptime] plan: Plan,
) -> F {
    let d = comptime!(plan.d);
    let mut distances = Array::<F>::new(comptime!(d as usize));
    let mut squares = F::new(0.0);
    let mut bracket = terms[0];
    #[unroll]
    for i in 0..d {
        let q = inverses[(comptime!(i * TILE) + j) as usize];
        let s = (point[i as usize] - centres[(comptime!(i * TILE) + j) as usize]) * q;
        squares += s * s;
        distances[i as usize] = s * q;
        if comptime!(plan.has_derivatives) {
            let curvature = (F::new(4.0) * s * s - F::new(2.0)) * q;
            let first = terms[comptime!((1 + i) as usize)];
            let second = terms[comptime!((1 + d + i) as usize)];
            bracket += (curvature * second - F::new(2.0) * s * first) * q;
        }
    }
    if comptime!(plan.has_derivatives) {
        #[unroll]
        for i in 0..d {
            #[unroll]
            for k in 0..d {
                if comptime!(i < k && plan.contains(i, k)) {
                    let both = distances[i as usize] * distances[k as usize];
                    bracket += F::new(4.0) * both * terms[comptime!(plan.index(i, k) as usize)];
                }
            }
        }
    }
    bracket * (-squares).exp()
}

/// Copies `count` values of row `i` of n.
#[cube]
fn load<F: Float>(from: &Array<F>, i: u32, n: u32, #[comptime] count: u32) -> Array<F> {
    let mut own = Array::<F>::new(comptime!(count as usize));
    #[unroll]
    for k in 0..count {
        own[k as usize] = from[k as usize * n as usize + i as usize];
    }
    own
}

/// Stages the centres and 1/a of at most [`TILE`] neurons from `first` on, of m.
#[cube]
fn stage<F: Float>(
    centres: &Array<F>,
    widths: &Array<F>,
    staged: &mut SharedMemory<F>,
    inverses: &mut SharedMemory<F>,
    first: u32,
    m: u32,
    #[comptime] d: u32,
) {
    // All units must have read the staged tile before it is overwritten.
    sync_cube();
    if UNIT_POS_X < TILE {
        let neuron = (first + UNIT_POS_X).min(m - 1);
        #[unroll]
        for k in 0..d {
            staged[(comptime!(k * TILE) + UNIT_POS_X) as usize] = centres[(k * m + neuron) as usize];
            inverses[(comptime!(k * TILE) + UNIT_POS_X) as usize] = F::new(1.0) / widths[(k * m + neuron) as usize];
        }
    }
    sync_cube();
}

/// Writes Aᵀ to the first n columns of `out` `[m, stride]`; cubes along y have [`TILE`] neurons each.
#[cube(launch_unchecked, address_type = "dynamic")]
fn fill<F: Float + CubeElement>(
    points: &Array<F>,
    coefficients: &Array<F>,
    centres: &Array<F>,
    widths: &Array<F>,
    out: &mut Array<F>,
    n: u32,
    m: u32,
    stride: u32,
    first_neuron: u32,
    #[comptime] plan: Plan,
) {
    let d = comptime!(plan.d);
    let mut staged = SharedMemory::<F>::new(comptime!((d * TILE) as usize));
    let mut inverses = SharedMemory::<F>::new(comptime!((d * TILE) as usize));
    let row = CUBE_POS_X * UNITS + UNIT_POS_X;
    let clamped = row.min(n - 1);
    let point = load::<F>(points, clamped, n, d);
    let terms = load::<F>(coefficients, clamped, n, comptime!(plan.count()));
    let first = first_neuron + CUBE_POS_Y * TILE;
    stage::<F>(centres, widths, &mut staged, &mut inverses, first, m, d);
    if row < n {
        let here = (m - first).min(TILE);
        for j in 0..here {
            let value = element::<F>(&point, &terms, &staged, &inverses, j, plan);
            out[(first + j) as usize * stride as usize + row as usize] = value;
        }
    }
}

/// Writes A·w to `out` `[n]`.
#[cube(launch_unchecked, address_type = "dynamic")]
fn sum<F: Float + CubeElement>(
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
    let d = comptime!(plan.d);
    let mut staged = SharedMemory::<F>::new(comptime!((d * TILE) as usize));
    let mut inverses = SharedMemory::<F>::new(comptime!((d * TILE) as usize));
    let row = CUBE_POS as u32 * UNITS + UNIT_POS_X;
    let clamped = row.min(n - 1);
    let point = load::<F>(points, clamped, n, d);
    let terms = load::<F>(coefficients, clamped, n, comptime!(plan.count()));
    let mut total = F::new(0.0);
    for first in range_stepped(0u32, m, TILE) {
        stage::<F>(centres, widths, &mut staged, &mut inverses, first, m, d);
        let here = (m - first).min(TILE);
        for j in 0..here {
            total += element::<F>(&point, &terms, &staged, &inverses, j, plan) * weights[(first + j) as usize];
        }
    }
    if row < n {
        out[row as usize] = total;
    }
}

/// Writes the sums of the first n columns of `out` `[m, stride]` to those after them.
#[cube(launch_unchecked, address_type = "dynamic")]
fn add_up<F: Float + CubeElement>(
    starts: &Array<i32>,
    rows: &Array<i32>,
    factors: &Array<F>,
    out: &mut Array<F>,
    n: u32,
    m: u32,
    stride: u32,
    first_neuron: u32,
) {
    let own = CUBE_POS_X * SUM_UNITS + UNIT_POS_X;
    let neuron = first_neuron + CUBE_POS_Y * NEURONS;
    if n + own < stride {
        let mut totals = Array::<F>::new(comptime!(NEURONS as usize));
        #[unroll]
        for k in 0..NEURONS {
            totals[k as usize] = F::new(0.0);
        }
        let from = starts[own as usize] as u32;
        let to = starts[(own + 1) as usize] as u32;
        for e in from..to {
            let row = rows[e as usize] as usize;
            let factor = factors[e as usize];
            #[unroll]
            for k in 0..NEURONS {
                let other = (neuron + k).min(m - 1);
                totals[k as usize] += factor * out[other as usize * stride as usize + row];
            }
        }
        #[unroll]
        for k in 0..NEURONS {
            if neuron + k < m {
                out[(neuron + k) as usize * stride as usize + (n + own) as usize] = totals[k as usize];
            }
        }
    }
}

/// Dense operands of the kernels.
pub(super) struct Operands<R: CubeRuntime> {
    points: CubeTensor<R>,
    coefficients: CubeTensor<R>,
    centres: CubeTensor<R>,
    widths: CubeTensor<R>,
    n: usize,
    m: usize,
    plan: Plan,
}

impl<R: CubeRuntime> Operands<R> {
    pub(super) fn new<B>(rows: &OperatorRows<B>, neurons: &Ellipsoids<B>) -> Self
    where
        B: DeviceLimits<FloatTensorPrimitive = CubeTensor<R>>,
    {
        let [d, m] = neurons.centres.meta.shape().dims();
        let n = rows.points.meta.shape()[1];
        let [centres, widths] = [&neurons.centres, &neurons.widths].map(|tensor| launch::dense(tensor.clone()));
        // Empty buffers cannot be bound; nothing is read of them.
        let there = |tensor: &CubeTensor<R>| if n == 0 { centres.clone() } else { launch::dense(tensor.clone()) };
        let (points, coefficients) = (there(&rows.points), there(&rows.coefficients));
        let plan = Plan { d: d as u32, mixed: rows.mixed, has_derivatives: rows.has_derivatives };
        Self { points, coefficients, centres, widths, n, m, plan }
    }
}

/// Launches `run` for ranges of neurons whose cubes of `each` neurons fit the device's limit along y; `run` receives the
/// first neuron and the number of cubes.
fn by_neurons<R: CubeRuntime>(client: &ComputeClient<R>, m: usize, each: u32, mut run: impl FnMut(u32, u32)) {
    let most = client.properties().hardware.max_cube_count.1.min(0xffff) * each;
    for first in (0..m as u32).step_by(most as usize) {
        run(first, (m as u32 - first).min(most).div_ceil(each));
    }
}

/// Aᵀ `[m, n + s]`.
pub(super) fn matrix<R: CubeRuntime, F: FloatElement>(
    operands: &Operands<R>,
    sums: Option<&RowSums<impl DeviceLimits<FloatTensorPrimitive = CubeTensor<R>, IntTensorPrimitive = CubeTensor<R>>>>,
) -> CubeTensor<R> {
    let Operands { points, coefficients, centres, widths, n, m, plan } = operands;
    let (n, m, plan) = (*n, *m, *plan);
    let sums = sums.filter(|_| n > 0);
    let stride = n + sums.map_or(0, |sums| sums.count);
    let out = launch::output(centres, [m, stride], centres.dtype);
    if n == 0 {
        return out;
    }
    let client = &centres.client;
    let address = launch::address(&[points, coefficients, &out]);
    by_neurons(client, m, TILE, |first, cubes| {
        // SAFETY: reads of rows are clamped to n and those of neurons to m, writes guarded.
        unsafe {
            fill::launch_unchecked::<F, R>(
                client,
                CubeCount::Static((n as u32).div_ceil(UNITS), cubes, 1),
                CubeDim::new_1d(UNITS),
                address,
                points.clone().into_array_arg(),
                coefficients.clone().into_array_arg(),
                centres.clone().into_array_arg(),
                widths.clone().into_array_arg(),
                out.clone().into_array_arg(),
                n as u32,
                m as u32,
                stride as u32,
                first,
                plan,
            );
        }
    });
    if let Some(sums) = sums {
        let [starts, rows] =
            [&sums.starts, &sums.rows].map(|tensor| launch::dense(launch::cast(tensor.clone(), DType::I32)));
        let factors = launch::dense(sums.factors.clone());
        by_neurons(client, m, NEURONS, |first, cubes| {
            // SAFETY: sums and neurons beyond the last are guarded; rows are below n.
            unsafe {
                add_up::launch_unchecked::<F, R>(
                    client,
                    CubeCount::Static((sums.count as u32).div_ceil(SUM_UNITS), cubes, 1),
                    CubeDim::new_1d(SUM_UNITS),
                    address,
                    starts.clone().into_array_arg(),
                    rows.clone().into_array_arg(),
                    factors.clone().into_array_arg(),
                    out.clone().into_array_arg(),
                    n as u32,
                    m as u32,
                    stride as u32,
                    first,
                );
            }
        });
    }
    out
}

/// A·w `[n]`.
pub(super) fn values<R: CubeRuntime, F: FloatElement>(
    operands: &Operands<R>,
    weights: &CubeTensor<R>,
) -> CubeTensor<R> {
    let Operands { points, coefficients, centres, widths, n, m, plan } = operands;
    let out = launch::output(centres, [*n], centres.dtype);
    if *n == 0 {
        return out;
    }
    let client = &centres.client;
    // SAFETY: reads of rows are clamped to n and those of neurons to m, writes guarded.
    unsafe {
        sum::launch_unchecked::<F, R>(
            client,
            launch::cubes_for(client, *n, UNITS),
            CubeDim::new_1d(UNITS),
            launch::address(&[points, coefficients, centres]),
            points.clone().into_array_arg(),
            coefficients.clone().into_array_arg(),
            centres.clone().into_array_arg(),
            widths.clone().into_array_arg(),
            weights.clone().into_array_arg(),
            out.clone().into_array_arg(),
            *n as u32,
            *m as u32,
            *plan,
        );
    }
    out
}
