//! Trajectories: time-major, a row per step.

#![allow(missing_docs)] // `#[cube]` writes companions that cannot be documented.

use std::ops::Range;

use burn::tensor::Shape;
use burn_cubecl::{CubeRuntime, FloatElement, tensor::CubeTensor};
use cubecl::prelude::*;
use firebox_backends::kernel::launch;

#[cube(launch_unchecked)]
fn set_state<F: Float + CubeElement>(state: &Array<F>, trajectory: &mut Array<F>, count: usize) {
    let i = CUBE_POS * CUBE_DIM as usize + UNIT_POS as usize;
    if i < count {
        trajectory[i] = state[i];
    }
}

/// A trajectory of `steps` steps with `state` as row 0; the other rows are uninitialised.
pub(crate) fn begin<R: CubeRuntime, F: FloatElement>(state: CubeTensor<R>, steps: usize) -> CubeTensor<R> {
    let state = launch::dense(state);
    let count = state.meta.num_elements();
    let rows = [&[steps + 1], state.meta.shape().as_slice()].concat();
    let trajectory = launch::output(&state, Shape::from(rows), state.dtype);
    if count == 0 {
        return trajectory;
    }
    let client = state.client.clone();
    let units = launch::units_within(&client, 256);
    // SAFETY: the kernel guards i against the count; both arrays have at least that length.
    unsafe {
        set_state::launch_unchecked::<F, R>(
            &client,
            launch::cubes_for(&client, count, units),
            CubeDim::new_1d(units),
            state.into_array_arg(),
            trajectory.clone().into_array_arg(),
            count,
        );
    }
    trajectory
}

/// The second row of a trajectory `[2, n]`, restricted to a range of neurons.
pub(crate) fn last<R: CubeRuntime>(trajectory: CubeTensor<R>, range: Range<usize>) -> CubeTensor<R> {
    let shape = [range.len()].into();
    let row = launch::slice(trajectory, &[1..2, range]);
    launch::reshape(launch::dense(row), shape)
}
