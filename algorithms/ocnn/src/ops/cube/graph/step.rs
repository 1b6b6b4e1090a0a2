//! Steps of the networks on a graph: two units per neuron with four replicas each, so that they read a neighbour as one
//! 32-byte sector.

#![allow(missing_docs)] // `#[cube]` writes companions that cannot be documented.

use burn_cubecl::{CubeRuntime, FloatElement, tensor::CubeTensor};
use cubecl::prelude::*;
use firebox_backends::kernel::launch;

use super::replicas::{Four, SHARES};
use crate::ops::cube::trajectory::begin;

/// Units per cube; few, so that a small network occupies many multiprocessors.
const UNITS: u32 = 64;

/// f(x) = 1 − 2x².
#[cube]
fn map<F: Float>(x: Four<F>) -> Four<F> {
    Four::<F>::new(F::new(1.0)) - Four::<F>::new(F::new(2.0)) * x * x
}

#[cube(launch_unchecked, address_type = "dynamic")]
fn graph_step<F: Float + CubeElement>(
    starts: &Array<u32>,
    neighbours: &Array<u32>,
    weights: &Array<F>,
    trajectory: &mut Array<Four<F>>,
    n: u32,
    step: u32,
) {
    let shares = comptime!(SHARES as usize);
    let row = n as usize * shares;
    let place = CUBE_POS * CUBE_DIM as usize + UNIT_POS as usize;
    if place < row {
        let now = step as usize * row;
        let i = place / shares;
        let share = place % shares;
        let first = starts[i];
        let end = starts[i + 1];
        let mut sum = Four::<F>::new(F::new(0.0));
        if first == end {
            sum = map::<F>(trajectory[now + place]);
        }
        for edge in first..end {
            let neighbour = neighbours[edge as usize] as usize * shares + share;
            sum += Four::<F>::new(weights[edge as usize]) * map::<F>(trajectory[now + neighbour]);
        }
        // Rounding may leave [−1, 1], outside of which f diverges.
        sum = sum.max(Four::<F>::new(F::new(-1.0))).min(Four::<F>::new(F::new(1.0)));
        trajectory[now + row + place] = sum;
    }
}

/// See [`ocnn_graph_steps`](crate::OcnnOps::ocnn_graph_steps).
pub(crate) fn steps<R: CubeRuntime, F: FloatElement>(
    starts: CubeTensor<R>,
    neighbours: CubeTensor<R>,
    weights: CubeTensor<R>,
    state: CubeTensor<R>,
    steps: usize,
) -> CubeTensor<R> {
    let n = state.meta.shape()[0];
    let trajectory = begin::<R, F>(state, steps);
    if n == 0 {
        return trajectory;
    }
    let starts = launch::dense(starts);
    // Empty buffers cannot be bound; without edges the kernel reads neither buffer, so any will do.
    let bindable =
        |edges: CubeTensor<R>| if edges.meta.num_elements() == 0 { starts.clone() } else { launch::dense(edges) };
    let (neighbours, weights) = (bindable(neighbours), bindable(weights));
    let client = trajectory.client.clone();
    let units = launch::units_within(&client, UNITS);
    let address = launch::address(&[&trajectory, &neighbours]);
    for step in 0..steps {
        // SAFETY: the kernel guards its index against the row; starts are n + 1 offsets up to the length of neighbours
        // and weights, neighbours are below n, and the trajectory has steps + 1 rows.
        unsafe {
            graph_step::launch_unchecked::<F, R>(
                &client,
                launch::cubes_for(&client, n * SHARES as usize, units),
                CubeDim::new_1d(units),
                address,
                starts.clone().into_array_arg(),
                neighbours.clone().into_array_arg(),
                weights.clone().into_array_arg(),
                trajectory.clone().into_array_arg(),
                n as u32,
                step as u32,
            );
        }
    }
    trajectory
}
