//! Rows of words by neuron, from words by time.

#![allow(missing_docs)] // `#[cube]` writes companions that cannot be documented.

use burn::tensor::DType;
use burn_cubecl::{CubeRuntime, tensor::CubeTensor};
use cubecl::prelude::*;
use firebox_backends::kernel::launch;

/// Consecutive words of a neuron per unit, so that their writes are combined.
const SPAN: u32 = 8;

#[cube(launch_unchecked, address_type = "dynamic")]
fn turn_kernel(by_time: &Array<u32>, words: &mut Array<u32>, n: u32, width: u32, count: usize) {
    let item = CUBE_POS * CUBE_DIM as usize + UNIT_POS as usize;
    if item < count {
        let n = n as usize;
        let neuron = item % n;
        let first = (item / n) as u32 * SPAN;
        for word in first..(first + SPAN).min(width) {
            words[neuron * width as usize + word as usize] = by_time[word as usize * n + neuron];
        }
    }
}

/// Transposes words `[w, n]` to `[n, w]`.
pub(super) fn turn<R: CubeRuntime>(by_time: CubeTensor<R>) -> CubeTensor<R> {
    let [width, n] = by_time.meta.shape().dims();
    let words = launch::output(&by_time, [n, width], DType::I32);
    let count = width.div_ceil(SPAN as usize) * n;
    if count == 0 {
        return words;
    }
    let client = by_time.client.clone();
    let units = launch::units_within(&client, 256);
    // SAFETY: the kernel guards items against `count` and words against the width.
    unsafe {
        turn_kernel::launch_unchecked::<R>(
            &client,
            launch::cubes_for(&client, count, units),
            CubeDim::new_1d(units),
            launch::address(&[&by_time]),
            by_time.into_array_arg(),
            words.clone().into_array_arg(),
            n as u32,
            width as u32,
            count,
        );
    }
    words
}
