//! That the default bodies pass, and that what is wrong does not.

use burn_ndarray::NdArray;

use super::*;

/// What cases whose names begin with `prefix` have to say on the sizes of `neurons`, none for all.
fn run<B: RbfOps>(suite: fn() -> Suite<B>, prefix: &str, neurons: &[usize], seed: u64) -> Vec<Result<(), String>> {
    let device = B::Device::default();
    let mut results = Vec::new();
    for (k, size) in shapes().into_iter().enumerate().filter(|(_, s)| neurons.is_empty() || neurons.contains(&s.m)) {
        for case in cases::<B>(&device).into_iter().filter(|case| case.name.starts_with(prefix)) {
            let seed = seed + k as u64;
            let problem = Problem::new(suite(), &device, size, seed);
            results.push((case.check)(&problem).map_err(|what| format!("{}, {size}, {seed}: {what}", case.name)));
        }
    }
    results
}

fn passes<B: RbfOps>(suite: fn() -> Suite<B>) {
    for seed in [1, 1000] {
        let failed: Vec<String> = run(suite, "", &[], seed).into_iter().filter_map(Result::err).collect();
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
