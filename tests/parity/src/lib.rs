//! Compares every operation on every available backend with the f64 reference, over edge-case shapes.
//!
//! Inputs are random in every run: the seed is printed, and `FIREBOX_SEED` repeats a run. A backend without a device is
//! skipped with a message; `FIREBOX_REQUIRE=ndarray,wgpu` turns that into a failure. A new operation is one entry in
//! its algorithm's `parity`, a new algorithm one entry in `ALGORITHMS` and in `fused`.

use std::{collections::BTreeSet, env, time::SystemTime};

use burn_fusion::Fusion;
use firebox_backends::{
    Choice, Device, Precision, backend,
    parity::{Target, Trial, kernels, tensor_operations},
};
use firebox_tests::program::seed;
use libtest_mimic::{Arguments, Failed};

/// The trials of each algorithm, compiled in its own crate.
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
    let mut add = |trial: Trial| {
        let run = move || (trial.run)().map_err(|what| format!("{what} (FIREBOX_SEED={seed})").into());
        trials.push(libtest_mimic::Trial::test(trial.name, run));
    };
    for (name, choice, precision) in [
        ("ndarray", Choice::NdArray, Precision::F32),
        ("ndarray f64", Choice::NdArray, Precision::F64),
        ("wgpu", Choice::Wgpu(None), Precision::F32),
        ("cuda", Choice::Cuda(None), Precision::F32),
        ("cuda f64", Choice::Cuda(None), Precision::F64),
    ] {
        match Device::find(choice, precision) {
            Ok(device) => {
                // CubeCL's CUDA runtime has no empty buffers, hence at least one point, as in the algorithms.
                let min_points = usize::from(matches!(device, Device::Cuda(_)));
                let target = Target { name, device: &device, precision, seed, min_points, stride: 1 };
                ALGORITHMS.iter().flat_map(|trials| trials(&target)).for_each(&mut add);
                fused(target).into_iter().for_each(&mut add);
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

/// The trials of all algorithms on Burn's default backend of wgpu, which has fusion; empty for other devices.
///
/// They are compiled here, since each crate that uses a fusion backend compiles all of Burn's fused kernels. CUDA's
/// default backend differs in the backend below fusion only, which has trials of its own.
fn fused(target: Target<'_>) -> Vec<Trial> {
    type Wgpu = Fusion<backend::Wgpu<f32>>;
    let Device::Wgpu(device) = target.device else { return Vec::new() };
    // Fusion runs the same kernels, so that one shape in four suffices.
    let target = Target { name: "wgpu with fusion", min_points: 1, stride: 4, ..target };
    let mut trials = kernels::<Wgpu, firebox_ocnn::parity::Operations>(&target, device);
    trials.extend(kernels::<Wgpu, firebox_rbf::parity::Operations>(&target, device));
    trials.extend(kernels::<Wgpu, firebox_sammon::parity::Operations>(&target, device));
    trials.extend(kernels::<Wgpu, firebox_perceptron::parity::Operations>(&target, device));
    // The default bodies of RBF and the perceptron are left out, since fusion always runs their kernels. In RBF's, Burn's
    // autotuned reductions differ in the last bits between calls, and a fused reduction crashes NVIDIA's Vulkan driver; in
    // the perceptron's, the fused reduction of a transposed view is wrong on wgpu.
    trials.extend(tensor_operations::<Wgpu, firebox_ocnn::parity::Operations>(&target, device));
    trials.extend(tensor_operations::<Wgpu, firebox_sammon::parity::Operations>(&target, device));
    trials
}
