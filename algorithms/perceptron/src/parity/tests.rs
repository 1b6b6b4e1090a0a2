use burn_ndarray::NdArray;

use super::{Problem, Suite, cases, gradients, shapes};
use crate::ops::PerceptronOps;

fn passes<B: PerceptronOps>(device: &B::Device, suite: fn() -> Suite<B>) {
    let mut failed = Vec::new();
    for seed in [1, 1000] {
        for (k, shape) in shapes().into_iter().enumerate() {
            for case in cases::<B>(device).into_iter().chain(gradients::cases::<B>(device)) {
                let problem = Problem::new(suite(), device, shape, seed + k as u64);
                if let Err(error) = (case.check)(&problem) {
                    failed.push(format!("{}, {shape}, {}: {error}", case.name, seed + k as u64));
                }
            }
        }
    }
    assert!(failed.is_empty(), "{} failed:\n{}", failed.len(), failed.join("\n"));
}

#[test]
fn ndarray_in_f32() {
    passes::<NdArray<f32>>(&Default::default(), Suite::backend);
    passes::<NdArray<f32>>(&Default::default(), Suite::tensor_operations);
}

#[test]
fn ndarray_in_f64() {
    passes::<NdArray<f64>>(&Default::default(), Suite::backend);
    passes::<NdArray<f64>>(&Default::default(), Suite::tensor_operations);
}
