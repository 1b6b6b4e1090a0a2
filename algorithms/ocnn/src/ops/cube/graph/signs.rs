//! Signs of outputs, packed into words of four steps of all replicas.

#![allow(missing_docs)] // `#[cube]` writes companions that cannot be documented.

use burn::tensor::DType;
use burn_cubecl::{CubeRuntime, FloatElement, tensor::CubeTensor};
use cubecl::prelude::*;
use firebox_backends::kernel::launch;

use super::replicas::{Four, SHARES, WIDTH};
use crate::types::REPLICAS;

/// Consecutive words of a neuron per unit, so that their writes are combined.
const SPAN: u32 = 8;
/// Steps per word.
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

/// See [`ocnn_signs`](crate::OcnnOps::ocnn_signs).
pub(crate) fn signs<R: CubeRuntime, F: FloatElement>(outputs: CubeTensor<R>) -> CubeTensor<R> {
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
    // SAFETY: the kernel guards items against `count` and words against the width; a word covers four rows of outputs.
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
