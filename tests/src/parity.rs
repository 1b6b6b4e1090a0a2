//! Compares every operation on every available backend with the f64 reference, over edge-case shapes.
//!
//! Inputs are random in every run: the seed is printed, and `FIREBOX_SEED` repeats a run. A backend without a device is
//! skipped with a message; `FIREBOX_REQUIRE=ndarray,wgpu` turns that into a failure. A new operation is one entry in
//! its algorithm's `parity`, a new algorithm one entry in `algorithms!`.
//!
//! This is a library module so that it compiles in parallel with the program, for which integration tests wait.

use std::{collections::BTreeSet, env, time::SystemTime};

use burn_fusion::Fusion;
use firebox_backends::{
    Choice, Device, Precision,
    backend::{Cuda, NdArray, Wgpu},
};
use libtest_mimic::{Arguments, Failed, Trial};

use crate::program::seed;

/// Selection of shapes for a backend.
#[derive(Debug, Clone, Copy)]
struct Selection {
    /// Minimum number of points.
    min_points: usize,
    /// Stride through the list of shapes.
    stride: usize,
    /// True for devices emulated on the CPU. There the most unrolled kernels take up to half a minute to compile,
    /// so that only some operations are tested per shape, depending on the seed.
    software: bool,
}

impl Selection {
    /// Returns the stride through the operations per shape, which is 1 except on emulated devices.
    fn case_stride(self, software_stride: usize) -> usize {
        if self.software { software_stride } else { 1 }
    }
}

const ALL: Selection = Selection { min_points: 0, stride: 1, software: false };

/// CubeCL's CUDA runtime has no empty buffers, hence at least one point, as in the algorithms.
const CUDA: Selection = Selection { min_points: 1, ..ALL };

/// Fusion runs the same kernels, so that one shape in four suffices.
const FUSED: Selection = Selection { stride: 4, ..CUDA };

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
        let device = Device::find(choice, precision);
        let software = device.as_ref().is_ok_and(Device::is_software);
        match (device, precision) {
            (Ok(Device::NdArray(device)), Precision::F32) => {
                for bodies in [Bodies::Backend, Bodies::TensorOperations] {
                    trials.extend(backend_trials::<NdArray<f32>>(name, &device, seed, bodies, ALL));
                }
            }
            (Ok(Device::NdArray(device)), Precision::F64) => {
                trials.extend(backend_trials::<NdArray<f64>>(name, &device, seed, Bodies::Backend, ALL));
            }
            (Ok(Device::Wgpu(device)), _) => {
                let [all, fused] = [ALL, FUSED].map(|selection| Selection { software, ..selection });
                trials.extend(backend_trials::<Wgpu<f32>>(name, &device, seed, Bodies::Backend, all));
                trials.extend(fused_trials::<Fusion<Wgpu<f32>>>("wgpu with fusion", &device, seed, fused));
            }
            (Ok(Device::Cuda(device)), Precision::F32) => {
                trials.extend(backend_trials::<Cuda<f32>>(name, &device, seed, Bodies::Backend, CUDA));
                trials.extend(fused_trials::<Fusion<Cuda<f32>>>("cuda with fusion", &device, seed, FUSED));
            }
            (Ok(Device::Cuda(device)), Precision::F64) => {
                trials.extend(backend_trials::<Cuda<f64>>(name, &device, seed, Bodies::Backend, CUDA));
            }
            (Ok(_), _) => {}
            (Err(error), _) => {
                eprintln!("SKIPPED {name}: {error}");
                absent.insert(choice.to_string());
            }
        }
    }
    let required = env::var("FIREBOX_REQUIRE").unwrap_or_default();
    for backend in required.split(',').filter(|backend| absent.contains(*backend)) {
        let what = format!("FIREBOX_REQUIRE names {backend}, which is not available");
        trials.push(Trial::test(format!("{backend} is available"), move || Err(Failed::from(what))));
    }
    libtest_mimic::run(&arguments, trials).exit();
}

/// Implementations under test.
#[derive(Clone, Copy)]
enum Bodies {
    Backend,
    TensorOperations,
}

/// Prefix of the cases whose default bodies are not tested with fusion. Fusion always runs RBF's kernels instead:
/// Burn's autotuned reductions differ in the last bits between calls, and NVIDIA's Vulkan driver crashes on a fused
/// reduction.
const NOT_FUSED: &str = "rbf/";

/// Returns tests with fusion, as in Burn's default backends, of kernels and of default bodies.
fn fused_trials<B: Operations>(
    backend: &'static str,
    device: &B::Device,
    seed: u64,
    selection: Selection,
) -> Vec<Trial> {
    let mut trials = backend_trials::<B>(backend, device, seed, Bodies::Backend, selection);
    let default = backend_trials::<B>(backend, device, seed, Bodies::TensorOperations, selection);
    trials.extend(default.into_iter().filter(|trial| !trial.name().starts_with(NOT_FUSED)));
    trials
}

/// Generates `backend_trials` from, for each algorithm: a name, a crate with `parity`, a trait of operations, and for
/// emulated devices the stride through the operations and an index of the kernels that a shape needs.
macro_rules! algorithms {
    ($($algorithm:ident: $krate:ident::$ops:ident, $stride:literal, |$shape:pat_param| $kernels:expr);+ $(;)?) => {
        /// Operations of all algorithms.
        trait Operations: $($krate::$ops +)+ {}

        impl<B: $($krate::$ops +)+> Operations for B {}

        /// Returns a test for every operation and selected shape of every algorithm on one backend.
        fn backend_trials<B: Operations>(
            backend: &'static str,
            device: &B::Device,
            seed: u64,
            bodies: Bodies,
            selection: Selection,
        ) -> Vec<Trial> {
            let mut trials = Vec::new();
            $({
                use $krate::parity::{Problem, Suite, cases, shapes};
                let suite = match bodies {
                    Bodies::Backend => Suite::<B>::backend,
                    Bodies::TensorOperations => Suite::<B>::tensor_operations,
                };
                let stride = selection.case_stride($stride);
                let shapes = shapes().into_iter().enumerate().filter(|(_, shape)| shape.n >= selection.min_points);
                for (k, shape) in shapes.step_by(selection.stride) {
                    let $shape = &shape;
                    let offset = $kernels + seed as usize;
                    let cases = cases::<B>(device).into_iter().enumerate();
                    for (_, case) in cases.filter(|(c, _)| (c + offset).is_multiple_of(stride)) {
                        let (device, suite) = (device.clone(), suite());
                        let name =
                            format!("{}/{backend}/{}/{}/{shape}", stringify!($algorithm), suite.name, case.name);
                        trials.push(Trial::test(name, move || {
                            let problem = Problem::new(suite, &device, shape, seed.wrapping_add(k as u64));
                            (case.check)(&problem)
                                .map_err(|what| Failed::from(format!("{what} (FIREBOX_SEED={seed})")))
                        }));
                    }
                }
            })+
            trials
        }
    };
}

algorithms! {
    ocnn: firebox_ocnn::OcnnOps, 1, |_| 0;
    rbf: firebox_rbf::RbfOps, 1, |_| 0;
    sammon: firebox_sammon::SammonOps, 3, |shape| shape.kernels;
    perceptron: firebox_perceptron::PerceptronOps, 1, |_| 0;
}
