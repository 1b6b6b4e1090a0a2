//! Signs of outputs, packed four steps of all replicas a word.

#![allow(missing_docs)] // `#[cube]` writes companions that cannot be documented.

use burn::tensor::DType;
use burn_cubecl::{CubeRuntime, FloatElement, tensor::CubeTensor};
use cubecl::prelude::*;
use firebox_backends::kernel::launch;

use super::{Four, SHARES, WIDTH};
use crate::ops::REPLICAS;

/// Words of a neuron that a unit writes, one after the other, so that they reach memory together.
const SPAN: u32 = 8;
/// Steps of a word.
const STEPS: u32 = 32 / REPLICAS as u32;

#[cube(launch_unchecked, address_type = "dynamic")]
fn signs_kernel<F: Float + CubeElement>(
    outputs: &Array<Four<F>>,
    words: &mut Array<u32>,
    n: u32,
    width: u32,
    count: usize,
) {
    let item = CUBE_POS * CUBE_DIM as usize + UNIT_POS as usize;
    if item < count {
        let n = n as usize;
        let neuron = item % n;
        let first = (item / n) as u32 * SPAN;
        for word in first..(first + SPAN).min(width) {
            let mut bits = 0u32;
            #[unroll]
            for t in 0..STEPS {
                let step = (word * STEPS + t) as usize;
                #[unroll]
                for share in 0..SHARES {
                    let x = outputs[(step * n + neuron) * comptime!(SHARES as usize) + comptime!(share as usize)];
                    #[unroll]
                    for c in 0..WIDTH {
                        let bit = comptime!(1u32 << (t * REPLICAS as u32 + share * WIDTH + c));
                        bits |= select(x[c as usize] > F::new(0.0), bit, 0u32);
                    }
                }
            }
            words[neuron * width as usize + word as usize] = bits;
        }
    }
}

/// Words `[n, p/4]` of outputs `[p, n, 8]`.
pub(in crate::kernel) fn signs<R: CubeRuntime, F: FloatElement>(outputs: CubeTensor<R>) -> CubeTensor<R> {
    let [p, n, _] = outputs.meta.shape().dims();
    let width = p / STEPS as usize;
    let words = launch::output(&outputs, [n, width], DType::I32);
    let count = width.div_ceil(SPAN as usize) * n;
    if count == 0 {
        return words;
    }
    let outputs = launch::dense(outputs);
    let client = outputs.client.clone();
    let units = launch::units_within(&client, 256);
    // SAFETY: the kernel guards the item against `count` and the word against the width; a word has four rows of outputs.
    unsafe {
        signs_kernel::launch_unchecked::<F, R>(
            &client,
            launch::cubes_for(&client, count, units),
            CubeDim::new_1d(units),
            launch::address(&[&outputs]),
            outputs.into_array_arg(),
            words.clone().into_array_arg(),
            n as u32,
            width as u32,
            count,
        );
    }
    words
}
