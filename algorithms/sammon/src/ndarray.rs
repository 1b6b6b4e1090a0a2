//! The hot loops on Burn's NdArray: slices out of its tensors, and [`crate::cpu`] over them.

use burn::tensor::{TensorMetadata, ops::FloatTensor};
use burn_ndarray::{FloatNdArrayElement, IntNdArrayElement, NdArray, NdArrayTensor, QuantElement, SharedArray};
use firebox_backends::{
    Limited,
    cpu::Level,
    ndarray::{Float, by_float, dims, slice},
};
use firebox_core::Result;

use crate::{
    cpu,
    ops::{Epoch, Forces, MEASURES, Metric, Problem, SammonOps, Source, Variant},
};

/// Runs `work` with a problem's source, multiplicities and power as the loops take them.
fn with_problem<E: Float, B, R>(
    problem: &Problem<B>,
    work: impl FnOnce(&cpu::Source<'_, E>, &[E], f64) -> R,
) -> R
where
    B: Limited<FloatTensorPrimitive = NdArrayTensor>,
{
    let multiplicity = E::dense(problem.multiplicity.clone());
    let multiplicity = slice(&multiplicity);
    match &problem.source {
        Source::Features { points, metric, gram } => {
            let source = cpu::Source::Features(features(points.clone(), *metric, *gram));
            work(&source, multiplicity, problem.power)
        }
        Source::Inverse(blocks) => {
            let blocks: Vec<_> = blocks.iter().map(|block| E::dense(block.clone())).collect();
            let source = cpu::Source::stored(blocks.iter().map(slice), multiplicity.len());
            work(&source, multiplicity, problem.power)
        }
    }
}

fn features<E: Float>(points: NdArrayTensor, metric: Metric, gram: bool) -> cpu::Features<E> {
    let [d, n] = dims(&points);
    cpu::Features::new(slice(&E::dense(points)), d, n, metric, gram)
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
            cpu::inverse(Level::best(), &rows, &points, first, &mut inverse);
            F::tensor(inverse, &[r, n])
        })
    }

    fn sammon_forces(problem: &Problem<Self>, embedding: FloatTensor<Self>, variant: Variant) -> Forces<Self> {
        let [m, n] = dims(&embedding);
        by_float!(embedding, F => {
            let (mut force, mut stress) = (vec![0.0; m * n], vec![0.0; n]);
            let embedding = F::dense(embedding);
            with_problem::<F, _, _>(problem, |source, multiplicity, power| {
                let of = cpu::Problem { source, multiplicity, power, variant };
                cpu::forces(Level::best(), &of, slice(&embedding), &mut force, &mut stress);
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
    ) -> Forces<Self> {
        let [m, n] = dims(&embedding);
        by_float!(embedding, F => {
            let (mut embedding, mut stress) = (owned::<F>(embedding), vec![0.0; steps * n]);
            let rates = F::dense(rates);
            with_problem::<F, _, _>(problem, |source, multiplicity, power| {
                let of = cpu::Problem { source, multiplicity, power, variant };
                cpu::steps(Level::best(), &of, &mut embedding, slice(&rates), &mut stress);
            });
            Forces { force: F::tensor(embedding, &[m, n]), stress: F::tensor(stress, &[steps, n]) }
        })
    }

    fn sammon_measure(problem: &Problem<Self>, embedding: FloatTensor<Self>) -> FloatTensor<Self> {
        let [_, n] = dims(&embedding);
        by_float!(embedding, F => {
            let embedding = F::dense(embedding);
            let measures = with_problem::<F, _, _>(problem, |source, multiplicity, power| {
                let of = cpu::Problem { source, multiplicity, power, variant: Variant::Auto };
                cpu::measure(Level::best(), &of, slice(&embedding))
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
            cpu::sampled(Level::best(), points, metric, multiplicity, power, &mut embedding, epochs, block);
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
    ) -> Forces<Self> {
        let [m, q] = dims(&embedding);
        by_float!(embedding, F => {
            let (mut embedding, mut stress) = (owned::<F>(embedding), vec![0.0; steps * q]);
            let (inverse, multiplicity, fixed) = (F::dense(inverse), F::dense(multiplicity), F::dense(fixed));
            let (inverse, multiplicity, fixed) = (slice(&inverse), slice(&multiplicity), slice(&fixed));
            cpu::place(Level::best(), inverse, multiplicity, power, fixed, &mut embedding, &mut stress);
            Forces { force: F::tensor(embedding, &[m, q]), stress: F::tensor(stress, &[steps, q]) }
        })
    }
}
