use burn_ndarray::NdArray;

use super::*;

/// Every case on every shape.
fn run<B: SammonOps>(suite: fn() -> Suite<B>, seed: u64) -> Vec<String> {
    let device = B::Device::default();
    let mut failed = Vec::new();
    for (k, shape) in shapes().into_iter().enumerate() {
        for case in cases::<B>(&device) {
            let problem = Problem::new(suite(), &device, shape, seed + k as u64);
            if let Err(what) = (case.check)(&problem) {
                failed.push(format!("{}, {shape}, seed {}: {what}", case.name, seed + k as u64));
            }
        }
    }
    failed
}

fn passes<B: SammonOps>(suite: fn() -> Suite<B>) {
    for seed in [1, 1000] {
        let failed = run(suite, seed);
        assert!(failed.is_empty(), "{} failed:\n{}", failed.len(), failed.join("\n"));
    }
}

#[test]
fn tensor_operations_in_f32() {
    passes::<NdArray<f32>>(Suite::tensor_operations);
}

#[test]
fn tensor_operations_in_f64() {
    passes::<NdArray<f64>>(Suite::tensor_operations);
}
