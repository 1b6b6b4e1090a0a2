//! The operations on NdArray: rayon over slices, vectorised for the instruction set detected at run time.
//!
//! Loops take the [`SimdLevel`] to run at and panic if lengths are inconsistent; their bits do not depend on the number
//! of threads. φ is one multiplication and 2^y: −log₂e/a² and the factors of terms are precomputed per neuron. Δu and u
//! are specialised, in two and in three dimensions.
//!
//! | file | SIMD lanes | sequential |
//! |---|---|---|
//! | `residual`, `slopes` | conditions | neurons |
//! | `rows`, `columns` | neurons | conditions |
//! | `operators` | conditions | neurons |

mod columns;
mod conjugate;
mod descend;
mod form;
#[cfg(test)]
mod loops_tests;
mod operators;
mod pack;
mod residual;
mod rows;
mod slopes;
mod stored;
mod sums;
mod tasks;

use burn::tensor::{TensorMetadata, ops::FloatTensor};
use burn_ndarray::{
    FloatNdArrayElement, IntNdArrayElement, NdArray, NdArrayDevice, NdArrayTensor, QuantElement, SharedArray,
};
use firebox_backends::{
    DeviceLimits,
    cpu::{BLOCK, SimdLevel},
    limits::Limits,
    ndarray::{Float, by_float, dims, slice},
};

use self::{
    descend::AimSlices,
    pack::{RowSlices, ShapeSlices},
};
use super::{RbfOps, tensor};
use crate::types::{Aim, Ellipsoids, Extent, OperatorRows, Rows, Shape, Strategy, Way};

pub(crate) use operators::PackedRows;

/// The arrays of [`Rows`].
struct Held<E> {
    points: SharedArray<E>,
    coefficients: Option<SharedArray<E>>,
    target: SharedArray<E>,
}

impl<E: Float> Held<E> {
    fn of<B: DeviceLimits<FloatTensorPrimitive = NdArrayTensor>>(rows: &Rows<B>) -> Self {
        Self {
            points: E::dense(rows.points.clone()),
            coefficients: rows.coefficients.clone().map(E::dense),
            target: E::dense(rows.target.clone()),
        }
    }

    fn rows<B: DeviceLimits>(&self, rows: &Rows<B>) -> RowSlices<'_, E> {
        let coefficients = self.coefficients.as_ref().map_or(&[][..], slice);
        RowSlices { points: slice(&self.points), form: rows.form, coefficients, target: slice(&self.target) }
    }
}

/// The tensor of `dims` that `fill` writes from slices of conditions and neurons, in `memory` if its size fits.
fn filled<E: Float, B: DeviceLimits<FloatTensorPrimitive = NdArrayTensor>>(
    rows: &Rows<B>,
    shape: &Shape<B>,
    dims: &[usize],
    mut memory: Vec<E>,
    fill: impl FnOnce(&RowSlices<'_, E>, &ShapeSlices<'_, E>, &mut [E]),
) -> NdArrayTensor {
    let count = dims.iter().product();
    if memory.len() != count {
        memory = vec![E::ZERO; count];
    }
    let (held, centres, widths) = (Held::of(rows), E::dense(shape.centres.clone()), E::dense(shape.widths.clone()));
    let shape = ShapeSlices { centres: slice(&centres), widths: slice(&widths) };
    fill(&held.rows(rows), &shape, &mut memory);
    E::tensor(memory, dims)
}

/// Runs `work` on slices of an objective.
fn with_aim<E: Float, B: DeviceLimits<FloatTensorPrimitive = NdArrayTensor>>(
    aim: &Aim<B>,
    work: impl FnOnce(&AimSlices<'_, E>),
) {
    let (interior, boundary) = (Held::of(&aim.interior), Held::of(&aim.boundary));
    let (interior, boundary) = (interior.rows(&aim.interior), boundary.rows(&aim.boundary));
    work(&AimSlices { interior, boundary, penalty: aim.penalty });
}

fn owned<E: Float>(tensor: NdArrayTensor) -> Vec<E> {
    slice(&E::dense(tensor)).to_vec()
}

/// A, in `memory` if its size fits, and r.
fn matrix<E: Float, B: DeviceLimits<FloatTensorPrimitive = NdArrayTensor>>(
    rows: &Rows<B>,
    shape: &Shape<B>,
    weights: NdArrayTensor,
    memory: Vec<E>,
) -> (NdArrayTensor, NdArrayTensor) {
    let ([n], [m]) = (dims(&rows.target), dims(&shape.widths));
    let (weights, mut residual) = (E::dense(weights), vec![E::ZERO; n]);
    let matrix = filled(rows, shape, &[n, m], memory, |rows, shape, matrix| {
        rows::matrix(level(), rows, shape, slice(&weights), matrix, &mut residual);
    });
    (matrix, E::tensor(residual, &[n]))
}

/// d, if the loops support it.
fn space<B: DeviceLimits<FloatTensorPrimitive = NdArrayTensor>>(shape: &Shape<B>) -> Option<usize> {
    let [d, _] = dims(&shape.centres);
    matches!(d, 2 | 3).then_some(d)
}

/// The best level, unless a test overrides it.
fn level() -> SimdLevel {
    #[cfg(test)]
    if let Some(level) = loops_tests::LEVEL.get() {
        return level;
    }
    SimdLevel::best()
}

/// How gradient steps and conjugate gradients run in floats of `size` bytes.
fn strategy(extent: &Extent, size: usize) -> Strategy {
    let Extent { conditions, neurons: m, dims: d, .. } = *extent;
    let (rows, stored) = (extent.rows() as u128, conjugate::stored(extent.rows(), m, size));
    let kept = if stored { rows * m as u128 } else { 0 };
    let packed = (2 * d as u128 + 4) * rows;
    // Sums are in f64.
    let tasks = conditions.iter().map(|&n| tasks::tasks(n, m).len()).sum::<usize>();
    let sums = (tasks * m.next_multiple_of(BLOCK) * (d + 1) * (size_of::<f64>() / size)) as u128;
    let conjugate = if stored { Way::Kept } else { Way::Computed };
    Strategy { descend: Way::Computed, conjugate, scratch: kept + packed + sums }
}

/// The limits of the host's memory.
pub(crate) fn host_limits() -> Limits {
    NdArray::<f64>::limits(&NdArrayDevice::Cpu)
}

impl<E, I, Q> RbfOps for NdArray<E, I, Q>
where
    E: FloatNdArrayElement,
    I: IntNdArrayElement,
    Q: QuantElement,
    NdArrayTensor: From<SharedArray<E>> + From<SharedArray<I>>,
{
    fn rbf_strategy(extent: &Extent, _device: &Self::Device) -> Strategy {
        if matches!(extent.dims, 2 | 3) { strategy(extent, size_of::<E>()) } else { tensor::strategy(extent) }
    }

    fn rbf_matrix(
        rows: &Rows<Self>,
        shape: &Shape<Self>,
        weights: FloatTensor<Self>,
    ) -> (FloatTensor<Self>, FloatTensor<Self>) {
        if space(shape).is_none() {
            return tensor::matrix::<Self>(rows, shape, weights);
        }
        by_float!(shape.widths, F => matrix::<F, _>(rows, shape, weights, Vec::new()))
    }

    fn rbf_matrix_into(
        rows: &Rows<Self>,
        shape: &Shape<Self>,
        weights: FloatTensor<Self>,
        spare: FloatTensor<Self>,
    ) -> (FloatTensor<Self>, FloatTensor<Self>) {
        if space(shape).is_none() {
            return tensor::matrix::<Self>(rows, shape, weights);
        }
        by_float!(shape.widths, F => matrix::<F, _>(rows, shape, weights, F::memory(spare)))
    }

    fn rbf_residual(rows: &Rows<Self>, shape: &Shape<Self>, weights: FloatTensor<Self>) -> FloatTensor<Self> {
        if space(shape).is_none() {
            return tensor::residual::<Self>(rows, shape, weights);
        }
        let [n] = dims(&rows.target);
        by_float!(shape.widths, F => {
            let weights = F::dense(weights);
            filled::<F, _>(rows, shape, &[n], Vec::new(), |rows, shape, out| {
                residual::residual(level(), rows, shape, slice(&weights), out);
            })
        })
    }

    fn rbf_transposed(rows: &Rows<Self>, shape: &Shape<Self>, values: FloatTensor<Self>) -> FloatTensor<Self> {
        if space(shape).is_none() {
            return tensor::transposed::<Self>(rows, shape, values);
        }
        let [m] = dims(&shape.widths);
        by_float!(shape.widths, F => {
            let values = F::dense(values);
            filled::<F, _>(rows, shape, &[m], Vec::new(), |rows, shape, out| {
                sums::transposed(level(), rows, shape, slice(&values), out);
            })
        })
    }

    fn rbf_normal(
        rows: &Rows<Self>,
        shape: &Shape<Self>,
        matrix: Option<FloatTensor<Self>>,
        vector: FloatTensor<Self>,
    ) -> FloatTensor<Self> {
        if space(shape).is_none() {
            return tensor::normal::<Self>(rows, shape, matrix, vector);
        }
        let [m] = dims(&shape.widths);
        by_float!(shape.widths, F => {
            let (vector, matrix) = (F::dense(vector), matrix.map(F::dense));
            filled::<F, _>(rows, shape, &[m], Vec::new(), |rows, shape, out| {
                sums::normal(level(), rows, shape, matrix.as_ref().map(slice), slice(&vector), out);
            })
        })
    }

    fn rbf_gradient(
        rows: &Rows<Self>,
        shape: &Shape<Self>,
        weights: FloatTensor<Self>,
        values: FloatTensor<Self>,
    ) -> FloatTensor<Self> {
        let Some(d) = space(shape) else { return tensor::gradient::<Self>(rows, shape, weights, values) };
        let [m] = dims(&shape.widths);
        by_float!(shape.widths, F => {
            let (weights, values) = (F::dense(weights), F::dense(values));
            filled::<F, _>(rows, shape, &[d + 1, m], Vec::new(), |rows, shape, out| {
                sums::gradient(level(), rows, shape, slice(&weights), slice(&values), out);
            })
        })
    }

    fn rbf_slopes(rows: &Rows<Self>, shape: &Shape<Self>, weights: FloatTensor<Self>) -> FloatTensor<Self> {
        let Some(d) = space(shape) else { return tensor::slopes::<Self>(rows, shape, weights) };
        let [n] = dims(&rows.target);
        by_float!(shape.widths, F => {
            let weights = F::dense(weights);
            filled::<F, _>(rows, shape, &[d, n], Vec::new(), |rows, shape, out| {
                slopes::slopes(level(), rows, shape, slice(&weights), out);
            })
        })
    }

    fn rbf_descend(
        aim: &Aim<Self>,
        shape: Shape<Self>,
        weights: FloatTensor<Self>,
        rates: [f64; 2],
        steps: usize,
    ) -> (Shape<Self>, FloatTensor<Self>) {
        let Some(d) = space(&shape) else { return tensor::descend::<Self>(aim, shape, weights, rates, steps) };
        let [m] = dims(&shape.widths);
        by_float!(shape.widths, F => {
            let (mut centres, mut widths) = (owned::<F>(shape.centres), owned::<F>(shape.widths));
            let (weights, mut objectives) = (F::dense(weights), vec![0.0; steps]);
            with_aim::<F, _>(aim, |aim| {
                let weights = slice(&weights);
                descend::descend(level(), aim, &mut centres, &mut widths, weights, rates, &mut objectives);
            });
            let shape = Shape { centres: F::tensor(centres, &[d, m]), widths: F::tensor(widths, &[m]) };
            (shape, F::tensor(objectives, &[steps]))
        })
    }

    fn rbf_conjugate(
        aim: &Aim<Self>,
        shape: &Shape<Self>,
        weights: FloatTensor<Self>,
        iterations: usize,
    ) -> (FloatTensor<Self>, FloatTensor<Self>) {
        if space(shape).is_none() {
            return tensor::conjugate::<Self>(aim, shape, weights, iterations);
        }
        let [m] = dims(&shape.widths);
        by_float!(shape.widths, F => {
            let (mut weights, mut norms) = (owned::<F>(weights), vec![0.0; iterations + 1]);
            let (centres, widths) = (F::dense(shape.centres.clone()), F::dense(shape.widths.clone()));
            let shape = ShapeSlices { centres: slice(&centres), widths: slice(&widths) };
            with_aim::<F, _>(aim, |aim| conjugate::conjugate(level(), aim, &shape, &mut weights, &mut norms));
            (F::tensor(weights, &[m]), F::tensor(norms, &[iterations + 1]))
        })
    }

    fn rbf_operators(rows: &OperatorRows<Self>, neurons: &Ellipsoids<Self>) -> FloatTensor<Self> {
        by_float!(neurons.centres, F => operators::matrix::<F, _>(level(), rows, neurons))
    }

    fn rbf_operator_values(
        rows: &OperatorRows<Self>,
        neurons: &Ellipsoids<Self>,
        weights: FloatTensor<Self>,
    ) -> FloatTensor<Self> {
        by_float!(neurons.centres, F => operators::values::<F, _>(level(), rows, neurons, &weights))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ops::transfer, tests::samples};

    type B = NdArray<f32>;

    fn numbers(tensor: &NdArrayTensor) -> (*const f32, Vec<f32>) {
        let array = f32::dense(tensor.clone());
        (array.as_ptr(), slice(&array).to_vec())
    }

    #[test]
    fn matrices_reuse_spare_memory() {
        let system = samples::poisson_sine(100, 7, 0);
        let (centres, widths) = samples::grid(6, 3.0, 0.0, 3.0);
        let aim = transfer::aim::<B>(&system, &Default::default());
        let shape = transfer::shape(&centres, &widths, 2, &Default::default());
        let weights = || transfer::vector::<B>(&widths, &Default::default());
        let (first, residual) = B::rbf_matrix(&aim.interior, &shape, weights());
        let (place, expected) = numbers(&first);
        let (held, expected_residual) = (first.clone(), numbers(&residual).1);
        let into = |spare| {
            let (matrix, residual) = B::rbf_matrix_into(&aim.interior, &shape, weights(), spare);
            assert!(numbers(&matrix).1 == expected && numbers(&residual).1 == expected_residual);
            matrix
        };
        assert_ne!(numbers(&into(first)).0, place, "what is held elsewhere is not written to");
        assert_eq!(numbers(&into(held)).0, place);
        // Spares of another size and of another type.
        into(B::rbf_matrix(&aim.boundary, &shape, weights()).0);
        into(f64::tensor(vec![0.0; expected.len()], &[100, 36]));
    }
}
