//! Each operation of `Floats` against plain loops in f64, on NdArray in both precisions.

use std::time::UNIX_EPOCH;

use burn::tensor::{Element, TensorMetadata, backend::Backend};
use burn_ndarray::NdArray;

use super::Floats;
use crate::{
    random::Random,
    tensor::{float_values, primitive},
};

/// Bound of rounding errors in units of ε: 11 · 18 / 2 of a sum of 12 numbers below 1.5.
const UNITS: f64 = 99.0;

fn drawn(random: &mut Random, count: usize) -> Vec<f64> {
    // Through f32, so that both types hold the same numbers.
    (0..count).map(|_| f64::from(random.uniform(0.5, 1.5) as f32)).collect()
}

fn values<B: Backend>(numbers: &[f64], shape: [usize; 2]) -> Floats<B> {
    Floats(primitive::<B, 2>(numbers.to_vec(), shape, &B::Device::default()))
}

fn host<B: Backend>(values: Floats<B>) -> Vec<f64> {
    float_values::<B>(values.0, "testing").unwrap()
}

fn each_operation<B: Backend>(seed: u64, epsilon: f64) {
    let mut random = Random::new(seed, 0);
    for [r, m] in [[1, 1], [1, 4], [3, 4], [4, 3]] {
        let (a, b) = (drawn(&mut random, r * m), drawn(&mut random, r * m));
        let (row, column) = (drawn(&mut random, m), drawn(&mut random, r));
        let [x, y] = [&a, &b].map(|numbers| values::<B>(numbers, [r, m]));
        let [by_row, by_column] =
            [(&row, [1, m]), (&column, [r, 1])].map(|(numbers, shape)| values::<B>(numbers, shape));
        let at = |f: &dyn Fn(usize, usize) -> f64| -> Vec<f64> {
            (0..r).flat_map(|i| (0..m).map(move |j| (i, j))).map(|(i, j)| f(i, j)).collect()
        };
        let element = |i: usize, j: usize| a[i * m + j];
        let check = |name: &str, found: Floats<B>, wanted: Vec<f64>| {
            let found = host(found);
            assert_eq!(found.len(), wanted.len(), "{name} of [{r}, {m}]");
            for (found, wanted) in found.iter().zip(&wanted) {
                assert!((found - wanted).abs() <= UNITS * epsilon, "{name} of [{r}, {m}]: {found}, wanted {wanted}");
            }
        };
        check("+", x.clone() + by_row.clone(), at(&|i, j| element(i, j) + row[j]));
        check("−", x.clone() - by_column.clone(), at(&|i, j| element(i, j) - column[i]));
        check("·", x.clone() * y.clone(), at(&|i, j| element(i, j) * b[i * m + j]));
        check("/", by_row / by_column, at(&|i, j| row[j] / column[i]));
        check("scale", x.clone().scale(-1.5), at(&|i, j| -1.5 * element(i, j)));
        check("shift", x.clone().shift(-1.5), at(&|i, j| element(i, j) - 1.5));
        check("reciprocal", x.clone().reciprocal(), at(&|i, j| element(i, j).recip()));
        check("exp", x.clone().exp(), at(&|i, j| element(i, j).exp()));
        check("ones", x.ones_like(), vec![1.0; r * m]);
        check("zeros", Floats::zeros([r, m], &x) + x.zeros_like(), vec![0.0; r * m]);
        assert_eq!(Floats::empty([0, m], &x).dims::<2>(), [0, m]);
        check("sum", x.clone().sum(), vec![a.iter().sum()]);
        check("sum along 0", x.clone().sum_along(0), (0..m).map(|j| (0..r).map(|i| element(i, j)).sum()).collect());
        check("sum along 1", x.clone().sum_along(1), (0..r).map(|i| (0..m).map(|j| element(i, j)).sum()).collect());
        let transposed = (0..m).flat_map(|j| (0..r).map(move |i| (i, j))).map(|(i, j)| element(i, j)).collect();
        check("transpose", x.clone().transpose(), transposed);
        check("reshape", x.clone().reshape([m * r]), a.clone());
        check("slice", x.clone().slice([r - 1..r, 0..m]), a[(r - 1) * m..].to_vec());
        check("concatenate", Floats::concatenate(vec![x.clone(), y.clone()], 0), [a.clone(), b.clone()].concat());
        for (condition, wanted) in [(1.0, &a), (0.0, &b), (-1.0, &b), (f64::NAN, &a)] {
            let condition = values::<B>(&[condition], [1, 1]).reshape([1]);
            let [x, y] = [&x, &y].map(|of| of.clone().reshape([r * m]));
            check("replaced", x.replaced_if_not_positive(condition, y), wanted.clone());
        }
        assert_eq!((x.dims::<2>(), x.0.dtype()), ([r, m], B::FloatElem::dtype()));
    }
}

#[test]
fn operations_equal_plain_loops_in_f64() {
    let given = std::env::var("FIREBOX_SEED").ok().map(|seed| seed.parse().unwrap());
    let seed = given.unwrap_or_else(|| UNIX_EPOCH.elapsed().unwrap().as_secs());
    println!("FIREBOX_SEED={seed}");
    each_operation::<NdArray<f32>>(seed, f32::EPSILON.into());
    each_operation::<NdArray<f64>>(seed, f64::EPSILON);
}
