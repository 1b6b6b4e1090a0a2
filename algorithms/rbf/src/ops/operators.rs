//! Default bodies of the operations on general operators in tensor operations, on blocks of neurons.

use std::ops::Range;

use burn::tensor::{Int, Tensor, ops::FloatTensor};
use firebox_backends::DeviceLimits;
use firebox_core::tensor::{Floats, into_primitive as primitive, tensor as float};

use super::tensor::BLOCK;
use crate::types::{Ellipsoids, OperatorRows, RowSums};

/// Aᵀ `[m, n + s]`.
pub(crate) fn matrix<B: DeviceLimits>(rows: &OperatorRows<B>, neurons: &Ellipsoids<B>) -> FloatTensor<B> {
    let operands = Operands::new(rows, neurons);
    if operands.n == 0 {
        return Floats::empty([operands.m, 0], &Floats::<B>(neurons.centres.clone())).0;
    }
    let blocks = operands.blocks().map(|range| {
        let block = operands.block(range);
        match &rows.sums {
            None => block,
            Some(sums) => Tensor::cat(vec![block.clone(), summed(&block, sums)], 1),
        }
    });
    primitive(Tensor::cat(blocks.collect(), 0))
}

/// A·w `[n]`.
pub(crate) fn values<B: DeviceLimits>(
    rows: &OperatorRows<B>,
    neurons: &Ellipsoids<B>,
    weights: FloatTensor<B>,
) -> FloatTensor<B> {
    let empty = || Floats::empty([0], &Floats::<B>(weights.clone())).0;
    let (operands, weights) = (Operands::new(rows, neurons), float::<B, 1>(weights.clone()));
    if operands.n == 0 {
        return empty();
    }
    let part = |range: Range<usize>| {
        let own = weights.clone().slice(range.clone()).reshape([range.len(), 1]);
        (operands.block(range) * own).sum_dim(0)
    };
    let total = operands.blocks().map(part).reduce(|a, b| a + b);
    total.map_or_else(empty, |total| primitive(total.reshape([operands.n])))
}

/// The sums of a block's columns `[len, s]`.
fn summed<B: DeviceLimits>(block: &Tensor<B, 2>, sums: &RowSums<B>) -> Tensor<B, 2> {
    let [len, _] = block.dims();
    let int = |values: &burn::tensor::ops::IntTensor<B>| Tensor::<B, 1, Int>::from_primitive(values.clone());
    let terms = block.clone().select(1, int(&sums.rows)) * float::<B, 1>(sums.factors.clone()).unsqueeze::<2>();
    let zeros = Tensor::zeros([len, sums.count], (&block.device(), block.dtype()));
    zeros.select_assign(1, int(&sums.owners), terms, burn::tensor::IndexingUpdateOp::Add)
}

struct Operands<'a, B: DeviceLimits> {
    rows: &'a OperatorRows<B>,
    points: Tensor<B, 2>,
    coefficients: Tensor<B, 2>,
    centres: Tensor<B, 2>,
    widths: Tensor<B, 2>,
    d: usize,
    n: usize,
    m: usize,
}

impl<'a, B: DeviceLimits> Operands<'a, B> {
    fn new(rows: &'a OperatorRows<B>, neurons: &Ellipsoids<B>) -> Self {
        let [points, coefficients, centres, widths] =
            [&rows.points, &rows.coefficients, &neurons.centres, &neurons.widths].map(|of| float::<B, 2>(of.clone()));
        let ([d, n], [_, m]) = (points.dims(), centres.dims());
        Self { rows, points, coefficients, centres, widths, d, n, m }
    }

    /// Ranges of neurons with at most [`BLOCK`] elements of Aᵀ, at least one neuron each.
    fn blocks(&self) -> impl Iterator<Item = Range<usize>> {
        let (size, m) = ((BLOCK / self.n).max(1), self.m);
        (0..m).step_by(size).map(move |first| first..m.min(first + size))
    }

    /// Aᵀ of a range of neurons `[len, n]`: with s = (x − c)/a per axis, ∂φ/∂x = −2s/a·φ, ∂²φ/∂x² = (4s² − 2)/a²·φ and
    /// ∂²φ/∂x∂y = 4·s_x·s_y/(a_x·a_y)·φ.
    fn block(&self, range: Range<usize>) -> Tensor<B, 2> {
        let (d, n, len) = (self.d, self.n, range.len());
        let column = |of: &Tensor<B, 2>, i: usize| of.clone().slice([i..i + 1, range.clone()]).reshape([len, 1]);
        let row = |of: &Tensor<B, 2>, i: usize| of.clone().slice([i..i + 1, 0..n]);
        let term = |i: usize| row(&self.coefficients, i);
        let widths: Vec<_> = (0..d).map(|i| column(&self.widths, i)).collect();
        let across = |i: usize| (row(&self.points, i) - column(&self.centres, i)) / widths[i].clone();
        let distances: Vec<Tensor<B, 2>> = (0..d).map(across).collect();
        let mut squares = distances[0].zeros_like();
        let mut bracket = distances[0].zeros_like() + term(0);
        for (i, (s, a)) in distances.iter().zip(&widths).enumerate() {
            let square = s.clone() * s.clone();
            squares = squares + square.clone();
            if self.rows.has_derivatives {
                bracket = bracket - (s.clone() * term(1 + i)).mul_scalar(2.0) / a.clone();
                let curvature = square.mul_scalar(4.0).sub_scalar(2.0) / a.clone() / a.clone();
                bracket = bracket + curvature * term(1 + d + i);
            }
        }
        if self.rows.has_derivatives {
            for (k, [i, j]) in self.rows.mixed.pairs().enumerate() {
                let both = distances[i].clone() * distances[j].clone() / widths[i].clone() / widths[j].clone();
                bracket = bracket + both.mul_scalar(4.0) * term(1 + 2 * d + k);
            }
        }
        bracket * squares.neg().exp()
    }
}
