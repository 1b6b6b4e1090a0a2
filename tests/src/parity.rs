//! Compares every operation on every available backend with the f64 reference, over edge-case shapes.
//!
//! Inputs are random in every run: the seed is printed, and `FIREBOX_SEED` repeats a run. A backend without a device is
//! skipped with a message; `FIREBOX_REQUIRE=ndarray,wgpu` turns that into a failure. A new operation is one entry in
//! its algorithm's `parity`, a new algorithm one entry in `ALGORITHMS`.

use std::{collections::BTreeSet, env, time::SystemTime};

use firebox_backends::{
    Choice, Device, Precision,
    parity::{Bodies, Target, Trial},
};
use libtest_mimic::{Arguments, Failed};

use crate::program::seed;

/// The trials of each algorithm.
const ALGORITHMS: [fn(&Target<'_>) -> Vec<Trial>; 4] = [
    firebox_ocnn::parity::trials,
    firebox_rbf::parity::trials,
    firebox_sammon::parity::trials,
    firebox_perceptron::parity::trials,
];

/// Runs the tests selected by the command line and exits.
pub fn main() {
    let mut arguments = Arguments::from_args();
    // One thread, so that a device error can be attributed to its test.
    arguments.test_threads = Some(1);
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let seed = seed(since.map_or(0, |since| since.as_nanos() as u64 % 1_000_000_007));

    let mut trials = Vec::new();
    let mut absent = BTreeSet::new();
    for (name, choice, precision) in [
        ("ndarray", Choice::NdArray, Precision::F32),
        ("ndarray f64", Choice::NdArray, Precision::F64),
        ("wgpu", Choice::Wgpu(None), Precision::F32),
        ("cuda", Choice::Cuda(None), Precision::F32),
        ("cuda f64", Choice::Cuda(None), Precision::F64),
    ] {
        match Device::find(choice, precision) {
            Ok(device) => {
                for target in targets(name, &device, precision, seed) {
                    let all = ALGORITHMS.iter().flat_map(|trials| trials(&target));
                    trials.extend(all.map(|Trial { name, run }| {
                        let run = move || run().map_err(|what| format!("{what} (FIREBOX_SEED={seed})").into());
                        libtest_mimic::Trial::test(name, run)
                    }));
                }
            }
            Err(error) => {
                eprintln!("SKIPPED {name}: {error}");
                absent.insert(choice.to_string());
            }
        }
    }
    let required = env::var("FIREBOX_REQUIRE").unwrap_or_default();
    for backend in required.split(',').filter(|backend| absent.contains(*backend)) {
        let what = format!("FIREBOX_REQUIRE names {backend}, which is not available");
        trials.push(libtest_mimic::Trial::test(format!("{backend} is available"), move || Err(Failed::from(what))));
    }
    libtest_mimic::run(&arguments, trials).exit();
}

/// The sets of trials on a device: its kernels, and either its default bodies or both again with fusion.
fn targets<'a>(name: &'static str, device: &'a Device, precision: Precision, seed: u64) -> Vec<Target<'a>> {
    // CubeCL's CUDA runtime has no empty buffers, hence at least one point, as in the algorithms.
    let min_points = usize::from(matches!(device, Device::Cuda(_)));
    let bodies = Bodies::Backend;
    let kernels = Target { name, device, precision, fused: false, bodies, seed, min_points, stride: 1 };
    let second = match (device, precision) {
        (_, Precision::F64) => return vec![kernels],
        (Device::NdArray(_), _) => return vec![kernels, Target { bodies: Bodies::TensorOperations, ..kernels }],
        (Device::Wgpu(_), _) => "wgpu with fusion",
        _ => "cuda with fusion",
    };
    // Fusion, as in Burn's default backends, runs the same kernels, so that one shape in four suffices.
    let fused = Target { name: second, fused: true, min_points: 1, stride: 4, ..kernels };
    vec![kernels, fused, Target { bodies: Bodies::TensorOperations, ..fused }]
}
