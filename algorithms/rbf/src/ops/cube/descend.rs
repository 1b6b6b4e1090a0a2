//! Gradient steps on c and ln a: a single launch of one cube for small problems, else a few launches per step.

#![allow(missing_docs)] // `#[cube]` writes companions that cannot be documented.

mod one_cube;

use burn_cubecl::{CubeRuntime, FloatElement, tensor::CubeTensor};
use cubecl::prelude::*;
use firebox_backends::kernel::launch;

use super::{
    column_sums::{self, Blocks, Sums},
    operands::{Kinds, Neurons},
    reduction::{COLUMNS, LINES, column_sum, cube_sum, fold},
    residual::residual,
    single_cube::CubeConfig,
};

/// Units per cube that sums squares.
const UNITS: u32 = 256;
/// Maximum number of cubes that sum squares.
const CUBES: u32 = 64;
/// Maximum number of partial sums of squares per step, for both kinds of conditions.
pub(super) const SQUARES: u32 = 2 * CUBES;

/// Sums `share` times the squares of `values` `[n]`, strided over all units of the launch, to row `part` + `CUBE_POS_X`
/// and column `step` of `out` `[parts, steps]`.
#[cube(launch_unchecked)]
fn sum_squares<F: Float + CubeElement>(
    values: &Array<F>,
    out: &mut Array<F>,
    n: u32,
    part: u32,
    step: u32,
    steps: u32,
    share: F,
    #[comptime] units: u32,
    #[comptime] planes: bool,
) {
    let mut scratch = SharedMemory::<F>::new(comptime!(units as usize));
    let mut sum = F::new(0.0);
    for i in range_stepped(CUBE_POS_X * units + UNIT_POS_X, n, CUBE_COUNT_X * units) {
        sum += values[i as usize] * values[i as usize];
    }
    let total = cube_sum::<F>(sum, &mut scratch, units, planes);
    if UNIT_POS_X == 0 {
        out[((part + CUBE_POS_X) * steps + step) as usize] = share * total;
    }
}

/// Steps c `[d, m]` and a `[m]` against the gradient, the sum of its parts `[parts, d + 1, m]`.
#[cube(launch_unchecked, address_type = "dynamic")]
fn step_neurons<F: Float + CubeElement>(
    sums: &Array<F>,
    centres: &Array<F>,
    widths: &Array<F>,
    next_centres: &mut Array<F>,
    next_widths: &mut Array<F>,
    parts: u32,
    m: u32,
    of_centres: F,
    of_widths: F,
    #[comptime] d: u32,
) {
    let mut scratch = SharedMemory::<F>::new(comptime!((COLUMNS * LINES) as usize));
    let neuron = CUBE_POS as u32 * COLUMNS + UNIT_POS_X;
    let j = neuron.min(m - 1);
    let rest = comptime!(d + 1) * m;
    #[unroll]
    for k in 0..d {
        let slope = column_sum::<F>(sums, &mut scratch, parts, rest, k * m + j);
        if UNIT_POS_Y == 0 && neuron < m {
            next_centres[(k * m + j) as usize] = centres[(k * m + j) as usize] - of_centres * slope;
        }
    }
    let slope = column_sum::<F>(sums, &mut scratch, parts, rest, d * m + j);
    if UNIT_POS_Y == 0 && neuron < m {
        // Steps in ln a multiply a.
        let width = widths[j as usize];
        next_widths[j as usize] = width * (F::new(0.0) - of_widths * width * slope).exp();
    }
}

/// Centres and widths after `steps` steps, and I before each.
pub(super) fn descend<R: CubeRuntime, F: FloatElement>(
    kinds: &Kinds<R>,
    neurons: Neurons<R>,
    weights: &CubeTensor<R>,
    rates: [f64; 2],
    steps: usize,
) -> (Neurons<R>, CubeTensor<R>) {
    let history = launch::output(weights, [steps], weights.dtype);
    if steps == 0 {
        return (neurons, history);
    }
    let config = CubeConfig::of::<R, F>(&weights.client, kinds.rows(), neurons.m, neurons.d, 0);
    // The single-cube kernel cannot reduce across ranks.
    let neurons = match config.filter(|_| kinds.peers.is_none()) {
        Some(config) => one_cube::descend::<R, F>(kinds, &neurons, weights, rates, &history, config),
        None => in_launches::<R, F>(kinds, neurons, weights, rates, &history),
    };
    (neurons, history)
}

fn in_launches<R: CubeRuntime, F: FloatElement>(
    kinds: &Kinds<R>,
    mut neurons: Neurons<R>,
    weights: &CubeTensor<R>,
    rates: [f64; 2],
    history: &CubeTensor<R>,
) -> Neurons<R> {
    let client = weights.client.clone();
    let [steps] = history.meta.shape().dims();
    let (d, m) = (neurons.d, neurons.m);
    let blocks = |n: usize| Blocks::new(&client, n, m);
    let parts: usize = kinds.present().map(|(conditions, _)| blocks(conditions.n).parts).sum();
    let sums = launch::output(weights, [parts, d + 1, m], weights.dtype);

    let units = launch::units_within(&client, UNITS);
    let planes = launch::plane(&client) == Some(32);
    let cubes = |n: usize| (n as u32).div_ceil(units * 4).min(CUBES);
    let rows: u32 = kinds.present().map(|(conditions, _)| cubes(conditions.n)).sum();
    let squares = launch::output(weights, [rows as usize, steps], weights.dtype);

    for step in 0..steps {
        let (mut part, mut row) = (0, 0);
        for (conditions, share) in kinds.present() {
            let values = residual::<R, F>(conditions, &neurons, weights);
            // SAFETY: values are read below n; there is a row of squares for every cube, and a column for every step.
            unsafe {
                sum_squares::launch_unchecked::<F, R>(
                    &client,
                    CubeCount::Static(cubes(conditions.n), 1, 1),
                    CubeDim::new_1d(units),
                    values.clone().into_array_arg(),
                    squares.clone().into_array_arg(),
                    conditions.n as u32,
                    row,
                    step as u32,
                    steps as u32,
                    F::from_elem(0.5 * share),
                    units,
                    planes,
                );
            }
            row += cubes(conditions.n);
            let blocks = blocks(conditions.n);
            column_sums::add::<R, F>(Sums::Slopes, conditions, &neurons, weights, &values, share, blocks, &sums, part);
            part += blocks.parts;
        }
        // Several ranks reduce the gradient to one row; a single rank sums the parts in the step itself.
        let (sums, parts) = match kinds.peers {
            None => (sums.clone(), parts),
            Some(_) => {
                let sum = launch::output(weights, [d + 1, m], weights.dtype);
                fold::<R, F>(&sums, parts, &sum);
                kinds.all_reduce(&sum);
                (sum, 1)
            }
        };
        let next = Neurons {
            centres: launch::output(weights, [d, m], weights.dtype),
            widths: launch::output(weights, [m], weights.dtype),
            ..neurons
        };
        // SAFETY: reads of neurons are clamped to m, writes guarded.
        unsafe {
            step_neurons::launch_unchecked::<F, R>(
                &client,
                launch::cubes_for(&client, m, COLUMNS),
                CubeDim::new_2d(COLUMNS, LINES),
                launch::address(&[&sums]),
                sums.clone().into_array_arg(),
                neurons.centres.clone().into_array_arg(),
                neurons.widths.clone().into_array_arg(),
                next.centres.clone().into_array_arg(),
                next.widths.clone().into_array_arg(),
                parts as u32,
                m as u32,
                F::from_elem(rates[0]),
                F::from_elem(rates[1]),
                d as u32,
            );
        }
        neurons = next;
    }
    fold::<R, F>(&squares, rows as usize, history);
    kinds.all_reduce(history);
    neurons
}
