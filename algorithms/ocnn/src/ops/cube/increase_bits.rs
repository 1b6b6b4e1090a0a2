//! Signs of increase, packed into words of 32 steps.

use burn::tensor::DType;
use burn_cubecl::{CubeRuntime, FloatElement, tensor::CubeTensor};
use cubecl::prelude::*;
use firebox_backends::kernel::launch;

#[cube(launch_unchecked, address_type = "dynamic")]
fn increase_bits_kernel<F: Float + CubeElement>(
    trajectory: &Array<F>,
    words: &mut Array<u32>,
    n: u32,
    steps: u32,
    count: usize,
) {
    let item = CUBE_POS * CUBE_DIM as usize + UNIT_POS as usize;
    if item < count {
        let n = n as usize;
        let neuron = item % n;
        let first = (item / n) * 32;
        let mut word = 0u32;
        for bit in 0..32u32 {
            let step = first + bit as usize;
            if step < steps as usize {
                let now = trajectory[step * n + neuron];
                let next = trajectory[(step + 1) * n + neuron];
                word |= select(next > now, 1u32, 0u32) << bit;
            }
        }
        words[item] = word;
    }
}

/// Words `[⌈steps/32⌉, n]` of a trajectory `[steps + 1, n]`.
pub(crate) fn increase_bits<R: CubeRuntime, F: FloatElement>(trajectory: CubeTensor<R>) -> CubeTensor<R> {
    let trajectory = launch::dense(trajectory);
    let [rows, n] = trajectory.meta.shape().dims();
    let steps = rows - 1;
    let words = launch::output(&trajectory, [steps.div_ceil(32), n], DType::I32);
    let count = steps.div_ceil(32) * n;
    if count == 0 {
        return words;
    }
    let client = trajectory.client.clone();
    let units = launch::units_within(&client, 256);
    // SAFETY: the kernel guards items against `count`, and steps against the trajectory's rows.
    unsafe {
        increase_bits_kernel::launch_unchecked::<F, R>(
            &client,
            launch::cubes_for(&client, count, units),
            CubeDim::new_1d(units),
            launch::address(&[&trajectory]),
            trajectory.into_array_arg(),
            words.clone().into_array_arg(),
            n as u32,
            steps as u32,
            count,
        );
    }
    words
}
