//! Rows of general operators for neurons with a width per axis, in f64.

use std::f64::consts::LOG2_E;

use burn::tensor::{Int, Tensor, TensorMetadata};
use burn_ndarray::{NdArray, NdArrayTensor};
use firebox_backends::{
    DeviceLimits,
    cpu::{BLOCK, Block, Blocks, Isa, Loop, Real, SimdLevel},
    ndarray::{Float, dense, slice},
};
use firebox_core::watch::Watch;
use rayon::prelude::*;

use crate::types::{Ellipsoids, Mixed, OperatorRows, RowSums};

/// Rows in blocks of 64.
#[derive(Debug, Clone)]
pub(crate) struct PackedRows<const D: usize> {
    points: Blocks<f64>,
    /// γ, β, αᵢᵢ and the mixed coefficients.
    terms: Blocks<f64>,
    pairs: Vec<[usize; 2]>,
    has_derivatives: bool,
    n: usize,
}

impl<const D: usize> PackedRows<D> {
    /// Packs points `[D, n]` and coefficients `[1 + 2D + p, n]`.
    pub(crate) fn new(points: &[f64], coefficients: &[f64], mixed: Mixed, has_derivatives: bool) -> Self {
        let n = points.len() / D;
        Self {
            points: Blocks::pack(points, D, n),
            terms: Blocks::pack(coefficients, mixed.coefficients(D), n),
            pairs: mixed.pairs().filter(|_| has_derivatives).collect(),
            has_derivatives,
            n,
        }
    }

    /// The rows' values for one neuron.
    pub(crate) fn column(&self, level: SimdLevel, [centre, width]: [&[f64; D]; 2], out: &mut [f64]) {
        level.run(Column { rows: self, centre, width, out });
    }

    /// Σ_k of the rows' values for neuron k times its weight, in the order of the neurons; incomplete if `watch` stops it.
    pub(crate) fn values(
        &self,
        level: SimdLevel,
        neurons: [&[[f64; D]]; 2],
        weights: &[f64],
        watch: &Watch,
    ) -> Vec<f64> {
        let mut values = vec![0.0; self.n];
        values.par_chunks_mut(BLOCK).enumerate().filter(|_| !watch.stopped()).for_each(|(block, out)| {
            level.run(Sums { rows: self, block, neurons, weights, out });
        });
        values
    }

    /// A block of rows for one neuron. With s = (x − c)/a per axis and φ = exp(−|s|²): ∂φ/∂x = −2s/a·φ,
    /// ∂²φ/∂x² = (4s² − 2)/a²·φ, ∂²φ/∂x∂y = 4·s_x·s_y/(a_x·a_y)·φ.
    #[inline(always)]
    fn elements<I: Isa>(&self, block: usize, centre: &[f64; D], width: &[f64; D]) -> Block<f64> {
        let (points, terms) = (self.points.block(block), self.terms.block(block));
        let (mut squares, mut bracket) = (Block::default(), terms[0]);
        for i in 0..D {
            let (c, q) = (centre[i], width[i].recip());
            let x = &points[i];
            if self.has_derivatives {
                let (first, second) = (&terms[1 + i], &terms[1 + D + i]);
                for l in 0..BLOCK {
                    let s = (x[l] - c) * q;
                    squares[l] = f64::fma::<I>(s, s, squares[l]);
                    bracket[l] += q * (second[l] * q * (4.0 * s * s - 2.0) - 2.0 * first[l] * s);
                }
            } else {
                for l in 0..BLOCK {
                    let s = (x[l] - c) * q;
                    squares[l] = f64::fma::<I>(s, s, squares[l]);
                }
            }
        }
        for (&[i, j], term) in self.pairs.iter().zip(&terms[1 + 2 * D..]) {
            let (x, y, qi, qj) = (&points[i], &points[j], width[i].recip(), width[j].recip());
            let both = 4.0 * qi * qi * qj * qj;
            for l in 0..BLOCK {
                bracket[l] += both * term[l] * (x[l] - centre[i]) * (y[l] - centre[j]);
            }
        }
        for l in 0..BLOCK {
            bracket[l] *= f64::exp2_negative::<I>(-LOG2_E * squares[l]);
        }
        bracket
    }
}

struct Column<'a, const D: usize> {
    rows: &'a PackedRows<D>,
    centre: &'a [f64; D],
    width: &'a [f64; D],
    out: &'a mut [f64],
}

impl<const D: usize> Loop for Column<'_, D> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let Self { rows, centre, width, out } = self;
        for (b, out) in out.chunks_mut(BLOCK).enumerate() {
            out.copy_from_slice(&rows.elements::<I>(b, centre, width)[..out.len()]);
        }
    }
}

struct Sums<'a, const D: usize> {
    rows: &'a PackedRows<D>,
    block: usize,
    neurons: [&'a [[f64; D]]; 2],
    weights: &'a [f64],
    out: &'a mut [f64],
}

impl<const D: usize> Loop for Sums<'_, D> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let mut sums = Block::<f64>::default();
        let neurons = self.neurons[0].iter().zip(self.neurons[1]);
        for ((centre, width), &weight) in neurons.zip(self.weights) {
            let elements = self.rows.elements::<I>(self.block, centre, width);
            for l in 0..BLOCK {
                sums[l] += weight * elements[l];
            }
        }
        self.out.copy_from_slice(&sums[..self.out.len()]);
    }
}

/// The operands of an operation in f64.
struct Packed<const D: usize> {
    rows: PackedRows<D>,
    centres: Vec<[f64; D]>,
    widths: Vec<[f64; D]>,
}

impl<const D: usize> Packed<D> {
    fn new<B>(rows: &OperatorRows<B>, neurons: &Ellipsoids<B>) -> Self
    where
        B: DeviceLimits<FloatTensorPrimitive = NdArrayTensor>,
    {
        let by_neuron = |tensor: &NdArrayTensor| -> Vec<[f64; D]> {
            let values = doubles(tensor);
            let m = values.len() / D;
            (0..m).map(|k| std::array::from_fn(|i| values[i * m + k])).collect()
        };
        let [points, coefficients] = [&rows.points, &rows.coefficients].map(doubles);
        let rows = PackedRows::new(&points, &coefficients, rows.mixed, rows.has_derivatives);
        Self { rows, centres: by_neuron(&neurons.centres), widths: by_neuron(&neurons.widths) }
    }
}

fn doubles(tensor: &NdArrayTensor) -> Vec<f64> {
    slice(&f64::dense(tensor.clone())).to_vec()
}

/// Evaluates `$body` with the number of dimensions as the constant `$D`.
macro_rules! by_dims {
    ($dims:expr, $D:ident => $body:expr) => {
        match $dims {
            1 => by_dims!(@ 1, $D => $body),
            2 => by_dims!(@ 2, $D => $body),
            3 => by_dims!(@ 3, $D => $body),
            4 => by_dims!(@ 4, $D => $body),
            _ => by_dims!(@ 5, $D => $body),
        }
    };
    (@ $dims:literal, $D:ident => $body:expr) => {{
        const $D: usize = $dims;
        $body
    }};
}

/// Aᵀ `[m, n + s]`.
pub(super) fn matrix<E: Float, B>(level: SimdLevel, rows: &OperatorRows<B>, neurons: &Ellipsoids<B>) -> NdArrayTensor
where
    B: DeviceLimits<FloatTensorPrimitive = NdArrayTensor, IntTensorPrimitive = NdArrayTensor>,
{
    let sums = rows.sums.as_ref().map(Sum::of).unwrap_or_default();
    let (m, count) = (neurons.centres.shape()[1], rows.len());
    let mut values = vec![E::ZERO; m * count];
    if count > 0 {
        by_dims!(neurons.centres.shape()[0], D => {
            let Packed { rows, centres, widths } = Packed::<D>::new(rows, neurons);
            let watch = Watch::current();
            values.par_chunks_mut(count).zip(centres.par_iter().zip(&widths)).for_each(|(out, (centre, width))| {
                if watch.stopped() {
                    return;
                }
                let mut column = vec![0.0; count];
                let (own, others) = column.split_at_mut(rows.n);
                rows.column(level, [centre, width], own);
                others.iter_mut().zip(&sums).for_each(|(to, sum)| *to = sum.of_rows(own));
                out.iter_mut().zip(column).for_each(|(out, value)| *out = E::from_f64(value));
            });
        });
    }
    E::tensor(values, &[m, count])
}

/// A·w `[n]`.
pub(super) fn values<E: Float, B>(
    level: SimdLevel,
    rows: &OperatorRows<B>,
    neurons: &Ellipsoids<B>,
    weights: &NdArrayTensor,
) -> NdArrayTensor
where
    B: DeviceLimits<FloatTensorPrimitive = NdArrayTensor>,
{
    let n = rows.points.shape()[1];
    let values = by_dims!(neurons.centres.shape()[0], D => {
        let Packed { rows, centres, widths } = Packed::<D>::new(rows, neurons);
        rows.values(level, [&centres, &widths], &doubles(weights), &Watch::current())
    });
    E::tensor(values.into_iter().map(E::from_f64).collect(), &[n])
}

/// The terms of a sum: rows and their factors.
struct Sum(Vec<(usize, f64)>);

/// Integers of a tensor, all at least 0.
fn ints(tensor: &NdArrayTensor) -> Vec<usize> {
    match tensor.clone() {
        NdArrayTensor::I64(array) => slice(&dense(array.into_shared())).iter().map(|&x| x as usize).collect(),
        NdArrayTensor::I32(array) => slice(&dense(array.into_shared())).iter().map(|&x| x as usize).collect(),
        other => {
            let data = Tensor::<NdArray, 1, Int>::from_primitive(other).into_data();
            data.iter::<i64>().map(|x| x as usize).collect()
        }
    }
}

impl Sum {
    fn of<B>(sums: &RowSums<B>) -> Vec<Self>
    where
        B: DeviceLimits<FloatTensorPrimitive = NdArrayTensor, IntTensorPrimitive = NdArrayTensor>,
    {
        let (starts, rows, factors) = (ints(&sums.starts), ints(&sums.rows), doubles(&sums.factors));
        let terms = |ends: &[usize]| {
            let own = ends[0]..ends[1];
            Self(rows[own.clone()].iter().copied().zip(factors[own].iter().copied()).collect())
        };
        starts.windows(2).map(terms).collect()
    }

    fn of_rows(&self, values: &[f64]) -> f64 {
        self.0.iter().map(|&(row, factor)| factor * values[row]).sum()
    }
}
