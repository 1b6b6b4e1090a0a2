//! The operations on Burn's NdArray: rayon over slices, vectorised for the instruction set detected at run time.
//!
//! Every function takes the [`SimdLevel`] that it runs on. Except for the triangles of
//! `paper_variants`, results have the same bits on any number of threads. Matrices are row-major with one column per
//! point; inner loops run over points.

mod all_pairs;
mod block_sampling;
mod force_terms;
mod out_of_sample;
mod paper_variants;
mod source_distances;
mod steps;
mod terms;

#[cfg(test)]
mod operations_tests;
#[cfg(test)]
mod tests;

use burn::tensor::{TensorMetadata, ops::FloatTensor};
use burn_ndarray::{FloatNdArrayElement, IntNdArrayElement, NdArray, NdArrayTensor, QuantElement, SharedArray};
use firebox_backends::{
    DeviceLimits,
    cpu::SimdLevel,
    ndarray::{Float, by_float, dims, slice},
};
use firebox_core::Result;

use self::{
    source_distances::{Features, SliceSource, inverse_matrix},
    steps::SliceProblem,
};
use crate::{
    ops::SammonOps,
    types::{Epoch, Forces, MEASURES, Metric, Problem, Source, Steps, Variant, rows},
};

/// Instruction set of the loops: the best of this machine, or the one under test.
fn level() -> SimdLevel {
    #[cfg(test)]
    if let Some(level) = tests::LEVEL.get() {
        return level;
    }
    SimdLevel::best()
}

/// Calls `work` with a problem on slices.
fn with_problem<E: Float, B, R>(
    problem: &Problem<B>,
    variant: Variant,
    work: impl FnOnce(&SliceProblem<'_, E>) -> R,
) -> R
where
    B: DeviceLimits<FloatTensorPrimitive = NdArrayTensor>,
{
    let multiplicity = E::dense(problem.multiplicity.clone());
    let multiplicity = slice(&multiplicity);
    let (power, share) = (problem.power, problem.share);
    match &problem.source {
        Source::Features { points, metric, gram } => {
            let source = &SliceSource::Features(features(points.clone(), *metric, *gram));
            work(&SliceProblem { source, multiplicity, power, variant, share })
        }
        Source::Inverse(blocks) => {
            let blocks: Vec<_> = blocks.iter().map(|block| E::dense(block.clone())).collect();
            let n = multiplicity.len();
            let source = &SliceSource::stored(blocks.iter().map(slice), rows(share, n).start, n);
            work(&SliceProblem { source, multiplicity, power, variant, share })
        }
    }
}

fn features<E: Float>(points: NdArrayTensor, metric: Metric, gram: bool) -> Features<E> {
    let [d, n] = dims(&points);
    Features::new(slice(&E::dense(points)), d, n, metric, gram)
}

fn owned<E: Float>(tensor: NdArrayTensor) -> Vec<E> {
    slice(&E::dense(tensor)).to_vec()
}

impl<E, I, Q> SammonOps for NdArray<E, I, Q>
where
    E: FloatNdArrayElement,
    I: IntNdArrayElement,
    Q: QuantElement,
    NdArrayTensor: From<SharedArray<E>> + From<SharedArray<I>>,
{
    fn sammon_strategy(_device: &Self::Device, variant: Variant) -> Result<&'static str> {
        Ok(match variant {
            Variant::Auto => "tiles of pairs by thread",
            Variant::RowsFull => "points in rows by thread",
            Variant::RowsTriangle => "pairs by thread, points in rows, atomic sums",
            Variant::ColumnsFull => "points in columns by thread",
            Variant::ColumnsTriangle => "pairs by thread, points in columns, atomic sums",
        })
    }

    fn sammon_inverse(
        rows: FloatTensor<Self>,
        points: FloatTensor<Self>,
        first: Option<usize>,
        metric: Metric,
    ) -> FloatTensor<Self> {
        let ([_, r], [_, n]) = (dims(&rows), dims(&points));
        by_float!(points, F => {
            let mut inverse = vec![0.0; r * n];
            let (rows, points) = (features::<F>(rows, metric, false), features(points, metric, false));
            inverse_matrix(level(), &rows, &points, first, &mut inverse);
            F::tensor(inverse, &[r, n])
        })
    }

    fn sammon_forces(problem: &Problem<Self>, embedding: FloatTensor<Self>, variant: Variant) -> Forces<Self> {
        let [m, n] = dims(&embedding);
        by_float!(embedding, F => {
            let (mut force, mut stress) = (vec![0.0; m * n], vec![0.0; n]);
            let embedding = F::dense(embedding);
            with_problem(problem, variant, |problem| {
                steps::forces(level(), problem, slice::<F>(&embedding), &mut force, &mut stress);
            });
            Forces { force: F::tensor(force, &[m, n]), stress: F::tensor(stress, &[n]) }
        })
    }

    fn sammon_steps(
        problem: &Problem<Self>,
        embedding: FloatTensor<Self>,
        rates: FloatTensor<Self>,
        steps: usize,
        variant: Variant,
    ) -> Steps<Self> {
        let [m, n] = dims(&embedding);
        by_float!(embedding, F => {
            let (mut embedding, mut stresses) = (owned::<F>(embedding), vec![0.0; steps * n]);
            let rates = F::dense(rates);
            with_problem(problem, variant, |problem| {
                steps::steps(level(), problem, &mut embedding, slice::<F>(&rates), &mut stresses);
            });
            Steps { embedding: F::tensor(embedding, &[m, n]), stresses: F::tensor(stresses, &[steps, n]) }
        })
    }

    fn sammon_measure(problem: &Problem<Self>, embedding: FloatTensor<Self>) -> FloatTensor<Self> {
        let [_, n] = dims(&embedding);
        by_float!(embedding, F => {
            let embedding = F::dense(embedding);
            let measures = with_problem(problem, Variant::Auto, |problem| {
                steps::measure(level(), problem, slice::<F>(&embedding))
            });
            F::tensor(measures, &[MEASURES, n])
        })
    }

    fn sammon_sampled(
        points: FloatTensor<Self>,
        metric: Metric,
        multiplicity: FloatTensor<Self>,
        power: f64,
        embedding: FloatTensor<Self>,
        epochs: &[Epoch],
        block: usize,
    ) -> FloatTensor<Self> {
        let [m, n] = dims(&embedding);
        by_float!(embedding, F => {
            let mut embedding = owned::<F>(embedding);
            let (points, multiplicity) = (F::dense(points), F::dense(multiplicity));
            let (points, multiplicity) = (slice(&points), slice(&multiplicity));
            block_sampling::sampled(level(), points, metric, multiplicity, power, &mut embedding, epochs, block);
            F::tensor(embedding, &[m, n])
        })
    }

    fn sammon_place(
        inverse: FloatTensor<Self>,
        multiplicity: FloatTensor<Self>,
        power: f64,
        fixed: FloatTensor<Self>,
        embedding: FloatTensor<Self>,
        steps: usize,
    ) -> Steps<Self> {
        let [m, q] = dims(&embedding);
        by_float!(embedding, F => {
            let (mut embedding, mut stresses) = (owned::<F>(embedding), vec![0.0; steps * q]);
            let (inverse, multiplicity, fixed) = (F::dense(inverse), F::dense(multiplicity), F::dense(fixed));
            let (inverse, multiplicity, fixed) = (slice(&inverse), slice(&multiplicity), slice(&fixed));
            out_of_sample::place(level(), inverse, multiplicity, power, fixed, &mut embedding, &mut stresses);
            Steps { embedding: F::tensor(embedding, &[m, q]), stresses: F::tensor(stresses, &[steps, q]) }
        })
    }
}
