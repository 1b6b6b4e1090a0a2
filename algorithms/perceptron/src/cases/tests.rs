use burn_fusion::Fusion;
use burn_ndarray::NdArray;
use firebox_backends::{Choice, Device, Precision, backend::Wgpu};

use super::*;

fn passes<B: PerceptronOps>(device: &B::Device, suite: fn() -> Suite<B>, every: usize) {
    let mut failed = Vec::new();
    for seed in [1, 1000] {
        for (k, shape) in shapes().into_iter().enumerate().step_by(every) {
            for case in cases::<B>(device) {
                let problem = Problem::new(suite(), device, shape, seed + k as u64);
                if let Err(what) = (case.check)(&problem) {
                    failed.push(format!("{}, {shape}, {}: {what}", case.name, seed + k as u64));
                }
            }
        }
    }
    assert!(failed.is_empty(), "{} failed:\n{}", failed.len(), failed.join("\n"));
}

#[test]
fn ndarray_in_f32() {
    passes::<NdArray<f32>>(&Default::default(), Suite::backend, 1);
    passes::<NdArray<f32>>(&Default::default(), Suite::tensor_operations, 1);
}

#[test]
fn ndarray_in_f64() {
    passes::<NdArray<f64>>(&Default::default(), Suite::backend, 1);
    passes::<NdArray<f64>>(&Default::default(), Suite::tensor_operations, 1);
}

#[test]
fn wgpu() {
    // As everywhere: where there is no device, there is nothing to try.
    if let Ok(Device::Wgpu(device)) = Device::find(Choice::Wgpu(None), Precision::F32) {
        passes::<Wgpu<f32>>(&device, Suite::backend, 1);
        passes::<Fusion<Wgpu<f32>>>(&device, Suite::backend, 4);
    }
}
