//! The operations on a sparse graph, and nearest neighbours, in tensor operations.

use std::iter::repeat_n;

use burn::tensor::{
    DType, ElementConversion, IndexingUpdateOp, Int, Tensor,
    backend::Backend,
    ops::{FloatTensor, IntTensor},
};
use firebox_backends::DeviceLimits;
use firebox_core::tensor::{read_ints, tensor as float};

use super::blocks::{blocks, indices, int, pack, pad, primitive, zeros};
use crate::types::{Graph, Metric, WORD_STEPS};

/// Steps on a graph: scatters the terms w_ij·f(x_j) of blocks of edges to their rows i.
pub(crate) fn graph_signs<B: DeviceLimits>(
    graph: &Graph<B>,
    state: FloatTensor<B>,
    steps: usize,
) -> (FloatTensor<B>, IntTensor<B>) {
    let mut state = float::<B, 2>(state);
    let [n, replicas] = state.dims();
    let (device, dtype) = (state.device(), state.dtype());
    if n * steps == 0 {
        return (primitive(state), zeros::<B, 2>([n, steps.div_ceil(WORD_STEPS)], &device));
    }
    let Ok(starts) = read_ints(int::<B, 1>(graph.starts.clone()), "the graph") else {
        // An operation cannot fail: NaN, and signs that are all positive, let the caller detect the error.
        let signs = Tensor::<B, 2, Int>::ones([n, steps.div_ceil(WORD_STEPS)], (&device, DType::I32)).neg();
        return (primitive(state.mul_scalar(f64::NAN)), signs.into_primitive());
    };
    let lengths = starts.windows(2).map(|row| (row[1] - row[0]) as usize).enumerate();
    let mut owners: Vec<u32> = lengths.clone().flat_map(|(i, length)| repeat_n(i as u32, length)).collect();
    let isolated: Vec<u32> = lengths.filter(|(_, length)| *length == 0).map(|(i, _)| i as u32).collect();
    let e = owners.len();
    // A neuron without neighbours is its own neighbour of weight 1.
    let mut neighbours = Vec::new();
    let mut weights = Vec::new();
    if e > 0 {
        neighbours.push(int::<B, 1>(graph.neighbours.clone()).slice(0..e));
        weights.push(float::<B, 1>(graph.weights.clone()).slice(0..e));
    }
    if !isolated.is_empty() {
        let own = indices::<B>(&isolated, &device);
        neighbours.push(if e > 0 { own.cast(neighbours[0].dtype()) } else { own });
        weights.push(Tensor::ones([isolated.len()], (&device, dtype)));
    }
    owners.extend(isolated);
    let (neighbours, weights) = (Tensor::cat(neighbours, 0), Tensor::cat(weights, 0));

    // Bits take 32 times the memory of words.
    let (mut words, mut bits) = (Vec::new(), Vec::new());
    for step in 1..=steps {
        let f = (state.clone() * state).mul_scalar(-2.0).add_scalar(1.0);
        state = Tensor::zeros([n, replicas], (&device, dtype));
        for range in blocks(0..owners.len(), replicas) {
            let weights = weights.clone().slice([range.clone()]).reshape([range.len(), 1]);
            let terms = f.clone().select(0, neighbours.clone().slice([range.clone()])) * weights;
            let owners = indices::<B>(&owners[range], &device);
            state = state.select_assign(0, owners, terms, IndexingUpdateOp::Add);
        }
        state = state.clamp(-1.0, 1.0);
        bits.push(state.clone().greater_elem(0.0).int());
        if step.is_multiple_of(WORD_STEPS) || step == steps {
            words.push(pack(pad(Tensor::cat(std::mem::take(&mut bits), 1))));
        }
    }
    (primitive(state), Tensor::cat(words, 1).into_primitive())
}

/// Population count of each word by sums of two, four and eight bits, then of bytes. The masks remove the sign bits
/// that arithmetic shifts bring in.
fn ones<B: Backend>(words: Tensor<B, 2, Int>) -> Tensor<B, 2, Int> {
    let shifted = |words: &Tensor<B, 2, Int>, by: i32| words.clone().bitwise_right_shift_scalar(by.elem());
    let masked = |words: Tensor<B, 2, Int>, mask: i32| words.bitwise_and_scalar(mask.elem());
    let twos = words.clone() - masked(shifted(&words, 1), 0x5555_5555);
    let fours = masked(twos.clone(), 0x3333_3333) + masked(shifted(&twos, 2), 0x3333_3333);
    let eights = masked(fours.clone() + shifted(&fours, 4), 0x0F0F_0F0F);
    let halves = eights.clone() + shifted(&eights, 8);
    masked(halves.clone() + shifted(&halves, 16), 0x3F)
}

pub(crate) fn common_ones<B: Backend>(signs: IntTensor<B>, edges: IntTensor<B>, mask: u32) -> IntTensor<B> {
    let words = int::<B, 2>(signs).bitwise_and_scalar(mask.cast_signed().elem());
    let edges = int::<B, 2>(edges);
    let ([_, width], [_, e]) = (words.dims(), edges.dims());
    if e * width == 0 {
        return zeros::<B, 1>([e], &words.device());
    }
    let parts = blocks(0..e, width)
        .map(|range| {
            let count = range.len();
            let end = |k: usize| {
                let ends = edges.clone().slice([k..k + 1, range.clone()]).reshape([count]);
                words.clone().select(0, ends)
            };
            ones(end(0).bitwise_and(end(1))).sum_dim(1).reshape([count]).cast(DType::I32)
        })
        .collect();
    Tensor::cat(parts, 0).into_primitive()
}

/// Distances `[r, n]` of the queries `range` to all points.
fn distances<B: Backend>(
    points: &Tensor<B, 2>,
    queries: &Tensor<B, 2>,
    range: std::ops::Range<usize>,
    metric: Metric,
) -> Tensor<B, 2> {
    let [d, n] = points.dims();
    let mut sum = Tensor::<B, 2>::zeros([range.len(), n], (&points.device(), points.dtype()));
    for k in 0..d {
        let query = queries.clone().slice([k..k + 1, range.clone()]).reshape([range.len(), 1]);
        let delta = query - points.clone().slice([k..k + 1, 0..n]);
        sum = sum
            + match metric {
                Metric::Euclidean => delta.clone() * delta,
                Metric::Manhattan => delta.abs(),
            };
    }
    sum
}

/// Nearest neighbours by k passes, each of which takes the first minimum of every row.
pub(crate) fn nearest<B: Backend>(
    points: FloatTensor<B>,
    queries: FloatTensor<B>,
    k: usize,
    metric: Metric,
    own: Option<usize>,
) -> IntTensor<B> {
    let (points, queries) = (float::<B, 2>(points), float::<B, 2>(queries));
    let ([_, n], [_, q]) = (points.dims(), queries.dims());
    let device = points.device();
    if q * k == 0 {
        return zeros::<B, 2>([q, k], &device);
    }
    let taken = points.dtype().finfo().map_or(f64::from(f32::MAX), |float| float.max);
    let all = Tensor::<B, 1, Int>::arange(0..n as i64, &device).reshape([1, n]);
    let parts = blocks(0..q, n)
        .map(|range| {
            let height = range.len();
            let all = all.clone().expand([height, n]);
            let mut left = distances(&points, &queries, range.clone(), metric);
            if let Some(own) = own {
                let itself = (own + range.start) as i64..(own + range.end) as i64;
                let itself = Tensor::<B, 1, Int>::arange(itself, &device).reshape([height, 1]);
                left = left.mask_fill(itself.expand([height, n]).equal(all.clone()), taken);
            }
            let ranks = (0..k)
                .map(|_| {
                    let least = left.clone().min_dim(1).expand([height, n]);
                    let first = all.clone().mask_fill(left.clone().not_equal(least), n as i32).min_dim(1);
                    let found = first.clone().expand([height, n]).equal(all.clone());
                    left = left.clone().mask_fill(found, taken);
                    first
                })
                .collect();
            Tensor::cat(ranks, 1).cast(DType::I32)
        })
        .collect();
    Tensor::cat(parts, 0).into_primitive()
}
