//! Every operation against its default body.

use burn::tensor::{DType, Tensor, TensorData, TensorPrimitive};
use firebox_core::{Share, random::Random};

use super::*;
use crate::ops::tensor;

type B = NdArray;

/// A column-major random matrix in [−1, 1].
fn strided(random: &mut Random, rows: usize, columns: usize, dtype: DType) -> Tensor<B, 2> {
    let values: Vec<f64> = (0..rows * columns).map(|_| random.uniform(-1.0, 1.0)).collect();
    let device = Default::default();
    Tensor::<B, 2>::from_data(TensorData::new(values, [columns, rows]), (&device, dtype)).transpose()
}

fn primitive<const D: usize>(tensor: Tensor<B, D>) -> FloatTensor<B> {
    tensor.into_primitive().tensor()
}

/// Asserts that two tensors agree to `tolerance`, relative to the largest number of a row.
fn assert_close<const D: usize>(got: FloatTensor<B>, expected: FloatTensor<B>, tolerance: f64, what: &str) {
    let float = |tensor| Tensor::<B, D>::from_primitive(TensorPrimitive::Float(tensor));
    let (got, expected) = (float(got), float(expected));
    assert_eq!((got.dims(), got.dtype()), (expected.dims(), expected.dtype()), "{what}");
    let width = got.dims()[D - 1].max(1);
    let values = |tensor: Tensor<B, D>| tensor.into_data().convert::<f64>().to_vec::<f64>().unwrap();
    for (got, expected) in values(got).chunks(width).zip(values(expected).chunks(width)) {
        let largest = expected.iter().fold(0.0, |largest: f64, x| largest.max(x.abs()));
        for (got, expected) in got.iter().zip(expected) {
            assert!((got - expected).abs() <= tolerance * largest, "{what}: {got} is not {expected}");
        }
    }
}

/// Column-major tensors are tried too. Both sides round sums of some 150 terms: 1000 ε is far above their error and far
/// below any fault.
#[test]
fn operations_agree_with_their_default_bodies() {
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
        let expected = tensor::inverse::<B>(primitive(fresh), x.clone(), None, Metric::Euclidean);
        assert_close::<2>(across.clone(), expected, tolerance, "inverse");
        // Two blocks of rows that are views into one matrix.
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
            // Exponents that f32 represents exactly, since default bodies may convert them to f32.
            for power in [0.0, 1.0, 2.0, 0.75] {
                let what = format!("{dtype:?}, p = {power}, {source:?}");
                let what = &what[..what.len().min(100)];
                let problem =
                    Problem { source: source.clone(), multiplicity: mu.clone(), power, units: 32, share: Share::WHOLE };
                let expected = tensor::forces::<B>(&problem, y.clone());
                for variant in [Variant::Auto, Variant::RowsFull, Variant::ColumnsTriangle] {
                    let got = B::sammon_forces(&problem, y.clone(), variant);
                    assert_close::<2>(got.force, expected.force.clone(), tolerance, what);
                    assert_close::<1>(got.stress, expected.stress.clone(), tolerance, what);
                }
                let rates = primitive(rates.clone());
                let expected = tensor::steps::<B>(&problem, y.clone(), rates.clone(), 3);
                let got = B::sammon_steps(&problem, y.clone(), rates, 3, Variant::Auto);
                assert_close::<2>(got.embedding, expected.embedding, tolerance, what);
                assert_close::<2>(got.stresses, expected.stresses, tolerance, what);
                let expected = tensor::measure::<B>(&problem, y.clone());
                assert_close::<2>(B::sammon_measure(&problem, y.clone()), expected, tolerance, what);
            }
        }

        let order = (0..n as u32).map(|i| i * 7 % n as u32).collect();
        let epochs = [Epoch { order, alpha: 0.5 }];
        let (a, b) = ((x.clone(), mu.clone(), y.clone()), (x, mu.clone(), y.clone()));
        let expected = tensor::sampled::<B>(a.0, Metric::Euclidean, a.1, 1.0, a.2, &epochs, 64);
        let got = B::sammon_sampled(b.0, Metric::Euclidean, b.1, 1.0, b.2, &epochs, 64);
        assert_close::<2>(got, expected, tolerance, "sampled");

        let expected = tensor::place::<B>(across.clone(), mu.clone(), 1.0, y.clone(), start.clone(), 4);
        let got = B::sammon_place(across, mu, 1.0, y, start, 4);
        assert_close::<2>(got.embedding, expected.embedding, tolerance, "place");
        assert_close::<2>(got.stresses, expected.stresses, tolerance, "place");
    }
}
