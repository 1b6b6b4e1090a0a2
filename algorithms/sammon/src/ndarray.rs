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
    ops::{Epoch, Forces, MEASURES, Metric, Problem, SammonOps, Source, Variant, rows},
};

/// Runs `work` with a problem's source, multiplicities and power as the loops take them.
fn with_problem<E: Float, B, R>(problem: &Problem<B>, work: impl FnOnce(&cpu::Source<'_, E>, &[E], f64) -> R) -> R
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
            let n = multiplicity.len();
            let source = cpu::Source::stored(blocks.iter().map(slice), rows(problem.share, n).start, n);
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
                let of = cpu::Problem { source, multiplicity, power, variant, share: problem.share };
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
                let of = cpu::Problem { source, multiplicity, power, variant, share: problem.share };
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
                let of = cpu::Problem { source, multiplicity, power, variant: Variant::Auto, share: problem.share };
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

#[cfg(test)]
mod tests {
    use burn::tensor::{DType, Tensor, TensorData, TensorPrimitive};
    use firebox_core::{Share, random::Random};

    use super::*;
    use crate::tensor_ops;

    type B = NdArray;

    /// A matrix that lies column after column in memory.
    fn strided(random: &mut Random, rows: usize, columns: usize, dtype: DType) -> Tensor<B, 2> {
        let values: Vec<f64> = (0..rows * columns).map(|_| random.uniform(-1.0, 1.0)).collect();
        let device = Default::default();
        Tensor::<B, 2>::from_data(TensorData::new(values, [columns, rows]), (&device, dtype)).transpose()
    }

    fn primitive<const D: usize>(tensor: Tensor<B, D>) -> FloatTensor<B> {
        tensor.into_primitive().tensor()
    }

    /// Asserts that two tensors agree to `tolerance` of the largest number of a row.
    fn assert_close<const D: usize>(got: FloatTensor<B>, wanted: FloatTensor<B>, tolerance: f64, what: &str) {
        let float = |tensor| Tensor::<B, D>::from_primitive(TensorPrimitive::Float(tensor));
        let (got, wanted) = (float(got), float(wanted));
        assert_eq!((got.dims(), got.dtype()), (wanted.dims(), wanted.dtype()), "{what}");
        let width = got.dims()[D - 1].max(1);
        let values = |tensor: Tensor<B, D>| tensor.into_data().convert::<f64>().to_vec::<f64>().unwrap();
        for (got, wanted) in values(got).chunks(width).zip(values(wanted).chunks(width)) {
            let largest = wanted.iter().fold(0.0, |largest: f64, x| largest.max(x.abs()));
            for (got, wanted) in got.iter().zip(wanted) {
                assert!((got - wanted).abs() <= tolerance * largest, "{what}: {got} is not {wanted}");
            }
        }
    }

    /// Every operation against its default body, on tensors of any order in memory. The bodies round as the loops do,
    /// in sums of some 150 terms: 1000 ε is far above both and far below any fault.
    #[test]
    fn operations_are_their_default_bodies() {
        for (dtype, eps) in [(DType::F32, f64::from(f32::EPSILON)), (DType::F64, f64::EPSILON)] {
            let mut random = Random::new(5, 0);
            let (n, d, m, q) = (150, 6, 3, 20);
            let tolerance = 1000.0 * eps;
            let points = strided(&mut random, d, n, dtype);
            let places = strided(&mut random, m, n, dtype);
            let multiplicity = strided(&mut random, 1, n, dtype).abs().add_scalar(1.0).reshape([n]);
            let rates = multiplicity.clone().recip().mul_scalar(1e-3);
            let fresh = strided(&mut random, d, q, dtype);
            let start = primitive(strided(&mut random, m, q, dtype));
            let (x, y, mu) = (primitive(points.clone()), primitive(places), primitive(multiplicity.clone()));

            let across = B::sammon_inverse(primitive(fresh.clone()), x.clone(), None, Metric::Euclidean);
            let wanted = tensor_ops::inverse::<B>(primitive(fresh), x.clone(), None, Metric::Euclidean);
            assert_close::<2>(across.clone(), wanted, tolerance, "inverse");
            // In two blocks of rows that are views into one matrix.
            let whole = Tensor::from_primitive(TensorPrimitive::Float(B::sammon_inverse(
                x.clone(),
                x.clone(),
                Some(0),
                Metric::Manhattan,
            )));
            let parts = [0..37, 37..n].map(|rows| primitive(Tensor::<B, 2>::slice(whole.clone(), [rows, 0..n])));

            let features = |metric, gram| Source::Features { points: x.clone(), metric, gram };
            for source in [
                features(Metric::Euclidean, false),
                features(Metric::Euclidean, true),
                features(Metric::Manhattan, false),
                features(Metric::Cosine, true),
                Source::Inverse(parts.to_vec()),
            ] {
                // The default bodies' exponent is f32 at times, so one that f32 holds.
                for power in [0.0, 1.0, 2.0, 0.75] {
                    let what = format!("{dtype:?}, p = {power}, {source:?}");
                    let what = &what[..what.len().min(100)];
                    let problem = Problem {
                        source: source.clone(),
                        multiplicity: mu.clone(),
                        power,
                        units: 32,
                        share: Share::WHOLE,
                    };
                    let wanted = tensor_ops::forces::<B>(&problem, y.clone());
                    for variant in [Variant::Auto, Variant::RowsFull, Variant::ColumnsTriangle] {
                        let got = B::sammon_forces(&problem, y.clone(), variant);
                        assert_close::<2>(got.force, wanted.force.clone(), tolerance, what);
                        assert_close::<1>(got.stress, wanted.stress.clone(), tolerance, what);
                    }
                    let rates = primitive(rates.clone());
                    let wanted = tensor_ops::steps::<B>(&problem, y.clone(), rates.clone(), 3);
                    let got = B::sammon_steps(&problem, y.clone(), rates, 3, Variant::Auto);
                    assert_close::<2>(got.force, wanted.force, tolerance, what);
                    assert_close::<2>(got.stress, wanted.stress, tolerance, what);
                    let wanted = tensor_ops::measure::<B>(&problem, y.clone());
                    assert_close::<2>(B::sammon_measure(&problem, y.clone()), wanted, tolerance, what);
                }
            }

            let order = (0..n as u32).map(|i| i * 7 % n as u32).collect();
            let epochs = [Epoch { order, alpha: 0.5 }];
            let (a, b) = ((x.clone(), mu.clone(), y.clone()), (x, mu.clone(), y.clone()));
            let wanted = tensor_ops::sampled::<B>(a.0, Metric::Euclidean, a.1, 1.0, a.2, &epochs, 64);
            let got = B::sammon_sampled(b.0, Metric::Euclidean, b.1, 1.0, b.2, &epochs, 64);
            assert_close::<2>(got, wanted, tolerance, "sampled");

            let wanted = tensor_ops::place::<B>(across.clone(), mu.clone(), 1.0, y.clone(), start.clone(), 4);
            let got = B::sammon_place(across, mu, 1.0, y, start, 4);
            assert_close::<2>(got.force, wanted.force, tolerance, "place");
            assert_close::<2>(got.stress, wanted.stress, tolerance, "place");
        }
    }

    #[test]
    fn every_variant_runs() {
        let device = Default::default();
        for variant in [Variant::Auto, Variant::RowsFull, Variant::RowsTriangle, Variant::ColumnsFull] {
            assert!(!B::sammon_strategy(&device, variant).unwrap().is_empty());
        }
    }
}
