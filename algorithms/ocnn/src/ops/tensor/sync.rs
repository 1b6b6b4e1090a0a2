//! Synchronisation, links and components in tensor operations.

use burn::tensor::{
    DType, ElementConversion, Int, Tensor, TensorData,
    backend::Backend,
    ops::{FloatTensor, IntTensor},
};
use firebox_backends::cpu::UnionFind;
use firebox_core::{
    Share,
    tensor::{read_ints, tensor as float},
};

use super::blocks::{blocks, indices, int, pack, pad, zeros};
use crate::ops::union_find::set_bits;

pub(crate) fn increase_bits<B: Backend>(trajectory: FloatTensor<B>) -> IntTensor<B> {
    let trajectory = float::<B, 2>(trajectory);
    let [rows, n] = trajectory.dims();
    if rows < 2 || n == 0 {
        return zeros::<B, 2>([rows.saturating_sub(1).div_ceil(32), n], &trajectory.device());
    }
    let next = trajectory.clone().slice([1..rows, 0..n]);
    let rose = next.greater(trajectory.slice([0..rows - 1, 0..n])).int();
    pack(pad(rose.transpose())).transpose().into_primitive()
}

/// Unpacks words `[w, n]` to ±1 `[steps, n]`.
fn plus_minus<B: Backend>(bits: &Tensor<B, 2, Int>, steps: usize) -> Tensor<B, 2> {
    let [words, n] = bits.dims();
    let planes = (0..32)
        .map(|bit| {
            bits.clone().bitwise_right_shift_scalar(bit.elem()).bitwise_and_scalar(1.elem()).reshape([words, 1, n])
        })
        .collect();
    let ones: Tensor<B, 3, Int> = Tensor::cat(planes, 1);
    ones.reshape([words * 32, n]).slice([0..steps, 0..n]).float().mul_scalar(2.0).sub_scalar(1.0)
}

/// The number of steps at which each of `rows` is in phase with each neuron `[r, n]`: (T + b·bᵀ)/2 with signs b, exact
/// in f32 up to T = 2²⁴.
fn phase_counts<B: Backend>(signs: &Tensor<B, 2>, rows: &[u32]) -> Tensor<B, 2, Int> {
    let steps = signs.dims()[0] as f64;
    let own = signs.clone().select(1, indices::<B>(rows, &signs.device())).transpose();
    own.matmul(signs.clone()).add_scalar(steps).mul_scalar(0.5).int().cast(DType::I32)
}

/// The number of steps at which each of `rows` is within ε of each neuron `[r, n]`.
fn fragmentary_counts<B: Backend>(outputs: &Tensor<B, 2>, epsilon: f64, rows: &[u32]) -> Tensor<B, 2, Int> {
    let [steps, n] = outputs.dims();
    let device = outputs.device();
    let height = rows.len();
    let own = outputs.clone().select(1, indices::<B>(rows, &device));
    let mut counts = Tensor::<B, 2, Int>::zeros([height, n], (&device, DType::I32));
    for t in 0..steps {
        let a = own.clone().slice([t..t + 1, 0..height]).reshape([height, 1]);
        let b = outputs.clone().slice([t..t + 1, 0..n]);
        counts = counts + (a - b).abs().lower_elem(epsilon).int().cast(DType::I32);
    }
    counts
}

/// Adds counts to S by blocks of rows.
fn accumulate<B: Backend>(
    counts: Option<IntTensor<B>>,
    n: usize,
    device: &B::Device,
    rows: impl Fn(&[u32]) -> Tensor<B, 2, Int>,
) -> IntTensor<B> {
    let counts = counts.unwrap_or_else(|| zeros::<B, 2>([n, n], device));
    if n == 0 {
        return counts;
    }
    let counts = int::<B, 2>(counts);
    let parts = blocks(0..n, n)
        .map(|range| {
            let block: Vec<u32> = range.clone().map(|i| i as u32).collect();
            counts.clone().slice([range, 0..n]) + rows(&block)
        })
        .collect();
    Tensor::cat(parts, 0).into_primitive()
}

pub(crate) fn phase_sync<B: Backend>(bits: IntTensor<B>, steps: usize, counts: Option<IntTensor<B>>) -> IntTensor<B> {
    let bits = int::<B, 2>(bits);
    let (n, device) = (bits.dims()[1], bits.device());
    if n == 0 || steps == 0 {
        return counts.unwrap_or_else(|| zeros::<B, 2>([n, n], &device));
    }
    let signs = plus_minus(&bits, steps);
    accumulate::<B>(counts, n, &device, |rows| phase_counts(&signs, rows))
}

pub(crate) fn fragmentary_sync<B: Backend>(
    outputs: FloatTensor<B>,
    epsilon: f64,
    counts: Option<IntTensor<B>>,
) -> IntTensor<B> {
    let outputs = float::<B, 2>(outputs);
    accumulate::<B>(counts, outputs.dims()[1], &outputs.device(), |rows| fragmentary_counts(&outputs, epsilon, rows))
}

/// Bit rows of the links, the counts above `limit`, without self-links.
fn link_rows<B: Backend>(counts: Tensor<B, 2, Int>, limit: usize, rows: &[u32]) -> Tensor<B, 2, Int> {
    let [height, n] = counts.dims();
    let device = counts.device();
    let own = indices::<B>(rows, &device).reshape([height, 1]).expand([height, n]);
    let all = Tensor::<B, 1, Int>::arange(0..n as i64, &device).reshape([1, n]).expand([height, n]);
    let linked = counts.greater_elem(limit as i32).int();
    let linked = linked.mask_fill(own.equal(all), 0);
    pack(pad(linked))
}

pub(crate) fn phase_links<B: Backend>(bits: IntTensor<B>, steps: usize, limit: usize, rows: &[u32]) -> IntTensor<B> {
    let bits = int::<B, 2>(bits);
    if rows.is_empty() {
        return zeros::<B, 2>([0, bits.dims()[1].div_ceil(32)], &bits.device());
    }
    link_rows(phase_counts(&plus_minus(&bits, steps), rows), limit, rows).into_primitive()
}

pub(crate) fn fragmentary_links<B: Backend>(
    outputs: FloatTensor<B>,
    epsilon: f64,
    limit: usize,
    rows: &[u32],
) -> IntTensor<B> {
    let outputs = float::<B, 2>(outputs);
    if rows.is_empty() {
        return zeros::<B, 2>([0, outputs.dims()[1].div_ceil(32)], &outputs.device());
    }
    link_rows(fragmentary_counts(&outputs, epsilon, rows), limit, rows).into_primitive()
}

/// Components of the links of a share's rows, joined on the host.
fn components<B: Backend>(
    n: usize,
    share: Share,
    device: &B::Device,
    links: impl Fn(&[u32]) -> Tensor<B, 2, Int>,
) -> IntTensor<B> {
    let sets = UnionFind::new(n);
    for range in blocks(share.of(n), n) {
        let rows: Vec<u32> = range.map(|i| i as u32).collect();
        let width = n.div_ceil(32);
        let Ok(words) = read_ints(links(&rows), "linking") else {
            // An operation cannot fail: invalid roots let the caller detect the error.
            return Tensor::<B, 1, Int>::full([n], -1, (device, DType::I32)).into_primitive();
        };
        for (&row, words) in rows.iter().zip(words.chunks(width)) {
            for j in set_bits(words) {
                sets.join(row, j as u32);
            }
        }
    }
    let roots: Vec<i32> = sets.into_roots().into_iter().map(|root| root as i32).collect();
    Tensor::<B, 1, Int>::from_data(TensorData::new(roots, [n]), (device, DType::I32)).into_primitive()
}

pub(crate) fn phase_components<B: Backend>(
    bits: IntTensor<B>,
    steps: usize,
    limit: usize,
    share: Share,
) -> IntTensor<B> {
    let bits = int::<B, 2>(bits);
    let (n, device) = (bits.dims()[1], bits.device());
    if n == 0 {
        return zeros::<B, 1>([0], &device);
    }
    let signs = plus_minus(&bits, steps);
    components::<B>(n, share, &device, |rows| link_rows(phase_counts(&signs, rows), limit, rows))
}

pub(crate) fn fragmentary_components<B: Backend>(
    outputs: FloatTensor<B>,
    epsilon: f64,
    limit: usize,
    share: Share,
) -> IntTensor<B> {
    let outputs = float::<B, 2>(outputs);
    let (n, device) = (outputs.dims()[1], outputs.device());
    components::<B>(n, share, &device, |rows| link_rows(fragmentary_counts(&outputs, epsilon, rows), limit, rows))
}
