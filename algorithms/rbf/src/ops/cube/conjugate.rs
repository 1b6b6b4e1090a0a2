//! Conjugate gradients on w: a single launch of one cube for small problems, else a few launches per iteration.

#![allow(missing_docs)] // `#[cube]` writes companions that cannot be documented.

mod one_cube;

pub(super) use one_cube::{VECTORS, with_matrix};

use burn_cubecl::{CubeRuntime, FloatElement, tensor::CubeTensor};
use cubecl::prelude::*;
use firebox_backends::kernel::launch;

use self::one_cube::step_length;
use super::{
    column_sums::{self, Blocks, Sums},
    normal::{self, Partition},
    operands::{Kinds, Neurons},
    reduction::{cube_sum, fold},
    residual::residual,
    single_cube::CubeConfig,
};

/// Copies the weights, starts the direction with `normal_residual` `[m]`, and writes its squared norm to `history[0]`.
#[cube(launch_unchecked)]
fn start<F: Float + CubeElement>(
    first: &Array<F>,
    normal_residual: &Array<F>,
    weights: &mut Array<F>,
    direction: &mut Array<F>,
    history: &mut Array<F>,
    m: u32,
    #[comptime] units: u32,
    #[comptime] planes: bool,
) {
    let mut scratch = SharedMemory::<F>::new(comptime!(units as usize));
    let mut norm = F::new(0.0);
    for j in range_stepped(UNIT_POS_X, m, units) {
        let value = normal_residual[j as usize];
        weights[j as usize] = first[j as usize];
        direction[j as usize] = value;
        norm += value * value;
    }
    let norm = cube_sum::<F>(norm, &mut scratch, units, planes);
    if UNIT_POS_X == 0 {
        history[0] = norm;
    }
}

/// Completes an iteration from the `product` `[m]` of the system matrix and the direction; writes the squared norm of
/// the new residual to `history[iteration + 1]`.
#[cube(launch_unchecked)]
fn iterate<F: Float + CubeElement>(
    product: &Array<F>,
    weights: &mut Array<F>,
    normal_residual: &mut Array<F>,
    direction: &mut Array<F>,
    history: &mut Array<F>,
    m: u32,
    iteration: u32,
    #[comptime] units: u32,
    #[comptime] planes: bool,
) {
    let mut scratch = SharedMemory::<F>::new(comptime!(units as usize));
    let mut curvature = F::new(0.0);
    for j in range_stepped(UNIT_POS_X, m, units) {
        curvature += direction[j as usize] * product[j as usize];
    }
    let curvature = cube_sum::<F>(curvature, &mut scratch, units, planes);
    let norm = history[iteration as usize];
    let length = step_length::<F>(norm, curvature);
    let mut next = F::new(0.0);
    for j in range_stepped(UNIT_POS_X, m, units) {
        weights[j as usize] += length * direction[j as usize];
        let value = normal_residual[j as usize] - length * product[j as usize];
        normal_residual[j as usize] = value;
        next += value * value;
    }
    let next = cube_sum::<F>(next, &mut scratch, units, planes);
    if length > F::new(0.0) {
        for j in range_stepped(UNIT_POS_X, m, units) {
            direction[j as usize] = normal_residual[j as usize] + next / norm * direction[j as usize];
        }
    }
    if UNIT_POS_X == 0 {
        history[(iteration + 1) as usize] = next;
    }
}

/// The weights after `iterations`, and the squared residual norm before each and at the end `[iterations + 1]`.
pub(super) fn conjugate<R: CubeRuntime, F: FloatElement>(
    kinds: &Kinds<R>,
    neurons: &Neurons<R>,
    weights: &CubeTensor<R>,
    iterations: usize,
) -> (CubeTensor<R>, CubeTensor<R>) {
    let history = launch::output(weights, [iterations + 1], weights.dtype);
    let config = CubeConfig::of::<R, F>(&weights.client, kinds.rows(), neurons.m, neurons.d, one_cube::VECTORS);
    // The single-cube kernel cannot reduce across ranks.
    let weights = match config.filter(|_| kinds.peers.is_none()) {
        Some(config) => one_cube::conjugate::<R, F>(kinds, neurons, weights, &history, config),
        None => in_launches::<R, F>(kinds, neurons, weights, &history),
    };
    (weights, history)
}

fn in_launches<R: CubeRuntime, F: FloatElement>(
    kinds: &Kinds<R>,
    neurons: &Neurons<R>,
    first: &CubeTensor<R>,
    history: &CubeTensor<R>,
) -> CubeTensor<R> {
    let client = first.client.clone();
    let m = neurons.m;
    let vector = || launch::output(first, [m], first.dtype);
    let (weights, normal_residual, direction, product) = (vector(), vector(), vector(), vector());
    let units = launch::units_within(&client, 1024);
    let planes = launch::plane(&client) == Some(32);
    let one = || (CubeCount::Static(1, 1, 1), CubeDim::new_1d(units));

    // The residual of the normal equation is −Aᵀ(A·w − t), summed over both kinds.
    let blocks = |n: usize| Blocks::new(&client, n, m);
    let parts: usize = kinds.present().map(|(conditions, _)| blocks(conditions.n).parts).sum();
    let sums = launch::output(first, [parts, m], first.dtype);
    let mut part = 0;
    for (conditions, share) in kinds.present() {
        let values = residual::<R, F>(conditions, neurons, first);
        let blocks = blocks(conditions.n);
        column_sums::add::<R, F>(Sums::Elements, conditions, neurons, first, &values, -share, blocks, &sums, part);
        part += blocks.parts;
    }
    fold::<R, F>(&sums, parts, &normal_residual);
    kinds.all_reduce(&normal_residual);
    let (count, dim) = one();
    // SAFETY: vectors are read and written below m.
    unsafe {
        start::launch_unchecked::<F, R>(
            &client,
            count,
            dim,
            first.clone().into_array_arg(),
            normal_residual.clone().into_array_arg(),
            weights.clone().into_array_arg(),
            direction.clone().into_array_arg(),
            history.clone().into_array_arg(),
            m as u32,
            units,
            planes,
        );
    }

    let partition = |n: usize| Partition::new(&client, n, m, false);
    let parts: usize = kinds.present().map(|(conditions, _)| partition(conditions.n).parts()).sum();
    let sums = launch::output(first, [parts, m], first.dtype);
    let [entries] = history.meta.shape().dims();
    for iteration in 0..entries.saturating_sub(1) {
        let mut part = 0;
        for (conditions, share) in kinds.present() {
            let partition = partition(conditions.n);
            normal::add::<R, F>(conditions, neurons, None, &direction, share, partition, &sums, part);
            part += partition.parts();
        }
        fold::<R, F>(&sums, parts, &product);
        kinds.all_reduce(&product);
        let (count, dim) = one();
        // SAFETY: vectors are read and written below m, the history at two valid positions.
        unsafe {
            iterate::launch_unchecked::<F, R>(
                &client,
                count,
                dim,
                product.clone().into_array_arg(),
                weights.clone().into_array_arg(),
                normal_residual.clone().into_array_arg(),
                direction.clone().into_array_arg(),
                history.clone().into_array_arg(),
                m as u32,
                iteration as u32,
                units,
                planes,
            );
        }
    }
    weights
}
