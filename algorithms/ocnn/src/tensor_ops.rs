//! The hot loops in plain tensor operations, for any Burn backend: what the default bodies of [`OcnnOps`] call.
//!
//! Of an N × N matrix nothing larger than a block of rows is made, but for the matrices that are the result. Bits are
//! unpacked before they are compared, which takes 4·N·T bytes that no plan counts: these bodies are for backends whose
//! limits are not known.
//!
//! [`OcnnOps`]: crate::OcnnOps

use std::ops::Range;

use burn::tensor::{
    DType, ElementConversion, Int, Tensor, TensorData,
    backend::Backend,
    ops::{FloatTensor, IntTensor},
};

use crate::{
    components::{Forest, set_bits},
    ops::Network,
};
use firebox_backends::Limited;
use firebox_core::{
    Share,
    tensor::{read_ints, tensor as float},
};

mod graph;

pub(crate) use graph::{common_ones, graph_steps, nearest, signs};

/// Elements of a block: 64 MiB of f32.
const BLOCK: usize = 1 << 24;

fn primitive<B: Backend, const D: usize>(tensor: Tensor<B, D>) -> FloatTensor<B> {
    tensor.into_primitive().tensor()
}

fn int<B: Backend, const D: usize>(tensor: IntTensor<B>) -> Tensor<B, D, Int> {
    Tensor::from_primitive(tensor)
}

/// Ranges of rows whose block of `width` columns stays within [`BLOCK`].
fn blocks(rows: Range<usize>, width: usize) -> impl Iterator<Item = Range<usize>> {
    let height = (BLOCK / width.max(1)).max(1);
    let end = rows.end;
    rows.step_by(height).map(move |start| start..(start + height).min(end))
}

/// Rows `range` of J.
fn weight_rows<B: Backend>(
    points: &Tensor<B, 2>,
    multiplicity: &Tensor<B, 1>,
    self_coupling: bool,
    range: Range<usize>,
) -> Tensor<B, 2> {
    let [d, n] = points.dims();
    let device = points.device();
    let height = range.len();
    let mut square = Tensor::<B, 2>::zeros([height, n], (&device, points.dtype()));
    for k in 0..d {
        let row = points.clone().slice([k..k + 1, 0..n]);
        let own = row.clone().slice([0..1, range.clone()]).reshape([height, 1]);
        let delta = own - row;
        square = square + delta.clone() * delta;
    }
    let weights = square.neg().exp();
    let tiny = weights.clone().lower_elem(f32::MIN_POSITIVE);
    let weights = weights.mask_fill(tiny, 0.0);
    let weights = weights * multiplicity.clone().reshape([1, n]);
    let own_count = multiplicity.clone().slice([range.clone()]).reshape([height, 1]);
    let diagonal = own_count - if self_coupling { 0.0 } else { 1.0 };
    let own = Tensor::<B, 1, Int>::arange(range.start as i64..range.end as i64, &device).reshape([height, 1]);
    let all = Tensor::<B, 1, Int>::arange(0..n as i64, &device).reshape([1, n]);
    let same = own.expand([height, n]).equal(all.expand([height, n]));
    weights.mask_where(same, diagonal.expand([height, n]))
}

pub(crate) fn strengths<B: Backend>(
    points: FloatTensor<B>,
    multiplicity: FloatTensor<B>,
    self_coupling: bool,
    of: Range<usize>,
) -> FloatTensor<B> {
    let (points, multiplicity) = (float::<B, 2>(points), float::<B, 1>(multiplicity));
    let n = points.dims()[1];
    if of.is_empty() {
        return primitive(Tensor::<B, 1>::zeros([0], (&points.device(), points.dtype())));
    }
    let rows = blocks(of, n)
        .map(|range| {
            let height = range.len();
            weight_rows(&points, &multiplicity, self_coupling, range).sum_dim(1).reshape([height])
        })
        .collect();
    primitive(Tensor::cat(rows, 0))
}

pub(crate) fn weights<B: Backend>(
    points: FloatTensor<B>,
    multiplicity: FloatTensor<B>,
    self_coupling: bool,
    of: Range<usize>,
) -> FloatTensor<B> {
    let (points, multiplicity) = (float::<B, 2>(points), float::<B, 1>(multiplicity));
    let n = points.dims()[1];
    if of.is_empty() {
        return primitive(Tensor::<B, 2>::zeros([0, n], (&points.device(), points.dtype())));
    }
    let rows = blocks(of, n).map(|range| weight_rows(&points, &multiplicity, self_coupling, range)).collect();
    primitive(Tensor::cat(rows, 0))
}

/// The next outputs `[r]` of a network's rows.
pub(crate) fn step_rows<B: Limited>(network: &Network<B>, state: FloatTensor<B>) -> FloatTensor<B> {
    let (state, rows) = (float::<B, 1>(state), network.rows.clone());
    if rows.is_empty() {
        return primitive(Tensor::<B, 1>::zeros([0], (&state.device(), state.dtype())));
    }
    let points = float::<B, 2>(network.points.clone());
    let multiplicity = float::<B, 1>(network.multiplicity.clone());
    let inverse = float::<B, 1>(network.inverse_strength.clone()).slice([rows.clone()]);
    let stored = network.weights.clone().map(float::<B, 2>);
    let isolated = inverse.clone().equal_elem(0.0);
    let n = state.dims()[0];
    let maps = (state.clone() * state).mul_scalar(-2.0).add_scalar(1.0);
    let drive = maps.clone().reshape([1, n]);
    let sums = blocks(rows.clone(), n)
        .map(|range| {
            let height = range.len();
            let block = match &stored {
                Some(weights) => weights.clone().slice([range.start - rows.start..range.end - rows.start, 0..n]),
                None => weight_rows(&points, &multiplicity, network.self_coupling, range),
            };
            (block * drive.clone()).sum_dim(1).reshape([height])
        })
        .collect::<Vec<_>>();
    primitive((Tensor::cat(sums, 0) * inverse).mask_where(isolated, maps.slice([rows])))
}

pub(crate) fn steps<B: Limited>(network: &Network<B>, state: FloatTensor<B>, steps: usize) -> FloatTensor<B> {
    let mut state = float::<B, 1>(state);
    let n = state.dims()[0];
    if n == 0 {
        return primitive(Tensor::<B, 2>::zeros([steps + 1, 0], (&state.device(), state.dtype())));
    }
    let mut rows = vec![state.clone().reshape([1, n])];
    for _ in 0..steps {
        state = float(step_rows(network, primitive(state)));
        rows.push(state.clone().reshape([1, n]));
    }
    primitive(Tensor::cat(rows, 0))
}

/// Packs rows of 0 and 1 `[r, 32·w]` (bits of a word side by side) into words `[r, w]`.
fn pack<B: Backend>(bits: Tensor<B, 2, Int>) -> Tensor<B, 2, Int> {
    let [rows, columns] = bits.dims();
    let device = bits.device();
    // Bit 31 is the sign of a 32-bit word.
    let values: Vec<i32> = (0..32).map(|bit| 1i32 << bit).collect();
    let values = Tensor::<B, 1, Int>::from_data(TensorData::new(values, [32]), (&device, DType::I32));
    (bits.cast(DType::I32).reshape([rows, columns / 32, 32]) * values.reshape([1, 1, 32]))
        .sum_dim(2)
        .reshape([rows, columns / 32])
}

/// Adds columns of 0 until their number is a multiple of 32.
fn pad<B: Backend>(bits: Tensor<B, 2, Int>) -> Tensor<B, 2, Int> {
    let [rows, columns] = bits.dims();
    let missing = columns.next_multiple_of(32) - columns;
    if missing == 0 {
        return bits;
    }
    let zeros = Tensor::zeros([rows, missing], (&bits.device(), bits.dtype()));
    Tensor::cat(vec![bits, zeros], 1)
}

pub(crate) fn increase_bits<B: Backend>(trajectory: FloatTensor<B>) -> IntTensor<B> {
    let trajectory = float::<B, 2>(trajectory);
    let [rows, n] = trajectory.dims();
    if rows < 2 || n == 0 {
        let shape = [rows.saturating_sub(1).div_ceil(32), n];
        return Tensor::<B, 2, Int>::zeros(shape, (&trajectory.device(), DType::I32)).into_primitive();
    }
    let next = trajectory.clone().slice([1..rows, 0..n]);
    let rose = next.greater(trajectory.slice([0..rows - 1, 0..n])).int();
    pack(pad(rose.transpose())).transpose().into_primitive()
}

/// Words `[w, n]` as +1 and −1 `[steps, n]`.
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

fn chosen<B: Backend>(rows: &[u32], device: &B::Device) -> Tensor<B, 1, Int> {
    let rows: Vec<i64> = rows.iter().map(|&row| i64::from(row)).collect();
    let count = rows.len();
    Tensor::from_data(TensorData::new(rows, [count]), device)
}

/// In how many steps each of `rows` was in phase with each neuron [r, n]: (T + b·bᵀ)/2 with signs b, exact in f32 up
/// to T = 2²⁴.
fn phase_counts<B: Backend>(signs: &Tensor<B, 2>, rows: &[u32]) -> Tensor<B, 2, Int> {
    let steps = signs.dims()[0] as f64;
    let own = signs.clone().select(1, chosen::<B>(rows, &signs.device())).transpose();
    own.matmul(signs.clone()).add_scalar(steps).mul_scalar(0.5).int().cast(DType::I32)
}

/// At how many steps each of `rows` was within ε of each neuron `[r, n]`.
fn fragmentary_counts<B: Backend>(outputs: &Tensor<B, 2>, epsilon: f64, rows: &[u32]) -> Tensor<B, 2, Int> {
    let [steps, n] = outputs.dims();
    let device = outputs.device();
    let height = rows.len();
    let own = outputs.clone().select(1, chosen::<B>(rows, &device));
    let mut counts = Tensor::<B, 2, Int>::zeros([height, n], (&device, DType::I32));
    for t in 0..steps {
        let a = own.clone().slice([t..t + 1, 0..height]).reshape([height, 1]);
        let b = outputs.clone().slice([t..t + 1, 0..n]);
        counts = counts + (a - b).abs().lower_elem(epsilon).int().cast(DType::I32);
    }
    counts
}

/// S + counts, a block of rows at a time.
fn accumulate<B: Backend>(
    counts: Option<IntTensor<B>>,
    n: usize,
    device: &B::Device,
    rows: impl Fn(&[u32]) -> Tensor<B, 2, Int>,
) -> IntTensor<B> {
    let counts = counts.map_or_else(|| Tensor::zeros([n, n], (device, DType::I32)), int::<B, 2>);
    if n == 0 {
        return counts.into_primitive();
    }
    let parts = blocks(0..n, n)
        .map(|range| {
            let chosen: Vec<u32> = range.clone().map(|i| i as u32).collect();
            counts.clone().slice([range, 0..n]) + rows(&chosen)
        })
        .collect();
    Tensor::cat(parts, 0).into_primitive()
}

pub(crate) fn phase_sync<B: Backend>(bits: IntTensor<B>, steps: usize, counts: Option<IntTensor<B>>) -> IntTensor<B> {
    let bits = int::<B, 2>(bits);
    let (n, device) = (bits.dims()[1], bits.device());
    if n == 0 || steps == 0 {
        let none = || Tensor::<B, 2, Int>::zeros([n, n], (&device, DType::I32)).into_primitive();
        return counts.unwrap_or_else(none);
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

/// Bit rows of the links among counts above `limit`.
fn link_rows<B: Backend>(counts: Tensor<B, 2, Int>, limit: usize, rows: &[u32]) -> Tensor<B, 2, Int> {
    let [height, n] = counts.dims();
    let device = counts.device();
    let own = chosen::<B>(rows, &device).reshape([height, 1]).expand([height, n]);
    let all = Tensor::<B, 1, Int>::arange(0..n as i64, &device).reshape([1, n]).expand([height, n]);
    let linked = counts.greater_elem(limit as i32).int();
    let linked = linked.mask_fill(own.equal(all), 0);
    pack(pad(linked))
}

pub(crate) fn phase_links<B: Backend>(bits: IntTensor<B>, steps: usize, limit: usize, rows: &[u32]) -> IntTensor<B> {
    let bits = int::<B, 2>(bits);
    if rows.is_empty() {
        return Tensor::<B, 2, Int>::zeros([0, bits.dims()[1].div_ceil(32)], (&bits.device(), DType::I32))
            .into_primitive();
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
        let shape = [0, outputs.dims()[1].div_ceil(32)];
        return Tensor::<B, 2, Int>::zeros(shape, (&outputs.device(), DType::I32)).into_primitive();
    }
    link_rows(fragmentary_counts(&outputs, epsilon, rows), limit, rows).into_primitive()
}

/// Components of the links that `links` gives for blocks of a share's rows, joined on the host.
fn components<B: Backend>(
    n: usize,
    share: Share,
    device: &B::Device,
    links: impl Fn(&[u32]) -> Tensor<B, 2, Int>,
) -> IntTensor<B> {
    let mut forest = Forest::new(n);
    for range in blocks(share.of(n), n) {
        let rows: Vec<u32> = range.map(|i| i as u32).collect();
        let width = n.div_ceil(32);
        let Ok(words) = read_ints(links(&rows), "linking") else {
            // An operation cannot fail; what is no component tells whoever reads the result.
            return Tensor::<B, 1, Int>::full([n], -1, (device, DType::I32)).into_primitive();
        };
        for (&row, words) in rows.iter().zip(words.chunks(width)) {
            set_bits(words).for_each(|j| forest.join(row as usize, j));
        }
    }
    let roots: Vec<i32> = forest.roots().into_iter().map(|root| root as i32).collect();
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
        return Tensor::<B, 1, Int>::zeros([0], (&device, DType::I32)).into_primitive();
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
