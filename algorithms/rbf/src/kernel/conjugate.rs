//! Step 4: conjugate gradients on w, in one launch where one cube can do them all, else a few launches an iteration.

#![allow(missing_docs)] // `#[cube]` writes companions that cannot be documented.

mod one_cube;

pub(super) use one_cube::{VECTORS, room};

use burn_cubecl::{CubeRuntime, FloatElement, tensor::CubeTensor};
use cubecl::prelude::*;
use firebox_backends::kernel::launch;

use super::{
    columns::{self, Blocks, Sums},
    fold::{cube_sum, fold},
    input::{Kinds, Neurons},
    normal::{self, Cut},
    residual::residual,
    small::Room,
};

/// The step along a direction of squared residual `norm` and curvature `curvature`; 0 where either is none.
#[cube]
pub(super) fn step_length<F: Float>(norm: F, curvature: F) -> F {
    let there = norm > F::new(0.0) && curvature > F::new(0.0);
    select(there, norm / select(there, curvature, F::new(1.0)), F::new(0.0))
}

/// The first direction is what is left, `[m]`; its squared norm starts `history`.
#[cube(launch_unchecked)]
fn start<F: Float + CubeElement>(
    first: &Array<F>,
    left: &Array<F>,
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
        let value = left[j as usize];
        weights[j as usize] = first[j as usize];
        direction[j as usize] = value;
        norm += value * value;
    }
    let norm = cube_sum::<F>(norm, &mut scratch, units, planes);
    if UNIT_POS_X == 0 {
        history[0] = norm;
    }
}

/// An iteration after its `product` `[m]` with the direction; the squared norm of what is left then to
/// `history[iteration + 1]`.
#[cube(launch_unchecked)]
fn turn<F: Float + CubeElement>(
    product: &Array<F>,
    weights: &mut Array<F>,
    left: &mut Array<F>,
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
        let value = left[j as usize] - length * product[j as usize];
        left[j as usize] = value;
        next += value * value;
    }
    let next = cube_sum::<F>(next, &mut scratch, units, planes);
    if length > F::new(0.0) {
        for j in range_stepped(UNIT_POS_X, m, units) {
            direction[j as usize] = left[j as usize] + next / norm * direction[j as usize];
        }
    }
    if UNIT_POS_X == 0 {
        history[(iteration + 1) as usize] = next;
    }
}

/// The weights after `iterations`, and the squared residual before each and at the end.
pub(super) fn conjugate<R: CubeRuntime, F: FloatElement>(
    kinds: &Kinds<R>,
    neurons: &Neurons<R>,
    weights: &CubeTensor<R>,
    iterations: usize,
) -> (CubeTensor<R>, CubeTensor<R>) {
    let history = launch::output(weights, [iterations + 1], weights.dtype);
    let room = Room::of::<R, F>(&weights.client, kinds.rows(), neurons.m, neurons.d, one_cube::VECTORS);
    // A cube by itself tells nobody.
    let weights = match room.filter(|_| kinds.peers.is_none()) {
        Some(room) => one_cube::conjugate::<R, F>(kinds, neurons, weights, &history, room),
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
    let (weights, left, direction, product) = (vector(), vector(), vector(), vector());
    let units = launch::units_within(&client, 1024);
    let planes = launch::plane(&client) == Some(32);
    let one = || (CubeCount::Static(1, 1, 1), CubeDim::new_1d(units));

    // What is left is −Aᵀ(A·w − t), of both kinds.
    let blocks = |n: usize| Blocks::new(&client, n, m);
    let parts: usize = kinds.present().map(|(conditions, _)| blocks(conditions.n).parts).sum();
    let sums = launch::output(first, [parts, m], first.dtype);
    let mut part = 0;
    for (conditions, share) in kinds.present() {
        let values = residual::<R, F>(conditions, neurons, first);
        let blocks = blocks(conditions.n);
        columns::add::<R, F>(Sums::Elements, conditions, neurons, first, &values, -share, blocks, &sums, part);
        part += blocks.parts;
    }
    fold::<R, F>(&sums, parts, &left);
    kinds.join(&left);
    let (count, dim) = one();
    // SAFETY: vectors are read and written below m.
    unsafe {
        start::launch_unchecked::<F, R>(
            &client,
            count,
            dim,
            first.clone().into_array_arg(),
            left.clone().into_array_arg(),
            weights.clone().into_array_arg(),
            direction.clone().into_array_arg(),
            history.clone().into_array_arg(),
            m as u32,
            units,
            planes,
        );
    }

    let cut = |n: usize| Cut::new(&client, n, m, false);
    let parts: usize = kinds.present().map(|(conditions, _)| cut(conditions.n).parts()).sum();
    let sums = launch::output(first, [parts, m], first.dtype);
    let [entries] = history.meta.shape().dims();
    for iteration in 0..entries.saturating_sub(1) {
        let mut part = 0;
        for (conditions, share) in kinds.present() {
            let cut = cut(conditions.n);
            normal::add::<R, F>(conditions, neurons, None, &direction, share, cut, &sums, part);
            part += cut.parts();
        }
        fold::<R, F>(&sums, parts, &product);
        kinds.join(&product);
        let (count, dim) = one();
        // SAFETY: vectors are read and written below m, the history at two places that it has.
        unsafe {
            turn::launch_unchecked::<F, R>(
                &client,
                count,
                dim,
                product.clone().into_array_arg(),
                weights.clone().into_array_arg(),
                left.clone().into_array_arg(),
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
