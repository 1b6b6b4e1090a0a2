//! Weights, strengths and steps of the network of all pairs in tensor operations.

use std::ops::Range;

use burn::tensor::{Int, Tensor, backend::Backend, ops::FloatTensor};
use firebox_backends::DeviceLimits;
use firebox_core::tensor::tensor as float;

use super::blocks::{blocks, primitive};
use crate::types::Network;

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
    let own_multiplicity = multiplicity.clone().slice([range.clone()]).reshape([height, 1]);
    let diagonal = own_multiplicity - if self_coupling { 0.0 } else { 1.0 };
    let own = Tensor::<B, 1, Int>::arange(range.start as i64..range.end as i64, &device).reshape([height, 1]);
    let all = Tensor::<B, 1, Int>::arange(0..n as i64, &device).reshape([1, n]);
    let same = own.expand([height, n]).equal(all.expand([height, n]));
    weights.mask_where(same, diagonal.expand([height, n]))
}

pub(crate) fn strengths<B: Backend>(
    points: FloatTensor<B>,
    multiplicity: FloatTensor<B>,
    self_coupling: bool,
    rows: Range<usize>,
) -> FloatTensor<B> {
    let (points, multiplicity) = (float::<B, 2>(points), float::<B, 1>(multiplicity));
    let n = points.dims()[1];
    if rows.is_empty() {
        return primitive(Tensor::<B, 1>::zeros([0], (&points.device(), points.dtype())));
    }
    let parts = blocks(rows, n)
        .map(|range| {
            let height = range.len();
            weight_rows(&points, &multiplicity, self_coupling, range).sum_dim(1).reshape([height])
        })
        .collect();
    primitive(Tensor::cat(parts, 0))
}

pub(crate) fn weights<B: Backend>(
    points: FloatTensor<B>,
    multiplicity: FloatTensor<B>,
    self_coupling: bool,
    rows: Range<usize>,
) -> FloatTensor<B> {
    let (points, multiplicity) = (float::<B, 2>(points), float::<B, 1>(multiplicity));
    let n = points.dims()[1];
    if rows.is_empty() {
        return primitive(Tensor::<B, 2>::zeros([0, n], (&points.device(), points.dtype())));
    }
    let parts = blocks(rows, n).map(|range| weight_rows(&points, &multiplicity, self_coupling, range)).collect();
    primitive(Tensor::cat(parts, 0))
}

/// The next outputs `[r]` of the network's rows.
pub(crate) fn step_rows<B: DeviceLimits>(network: &Network<B>, state: FloatTensor<B>) -> FloatTensor<B> {
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

pub(crate) fn steps<B: DeviceLimits>(network: &Network<B>, state: FloatTensor<B>, steps: usize) -> FloatTensor<B> {
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
