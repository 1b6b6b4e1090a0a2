//! Every operation, on every backend that is here, over awkward shapes, against the f64 reference.
//!
//! Inputs are fresh in every run: the seed is printed, and `FIREBOX_SEED` brings a run back. A backend that finds no
//! device is skipped, loudly; `FIREBOX_REQUIRE=ndarray,wgpu` turns that into a failure. A new operation is one entry
//! in its algorithm's `cases`, a new algorithm one entry in `algorithms!`.
//!
//! In the library, not in the test itself, so that it compiles beside the program: a test waits for the program's
//! machine code, a library does not.

use std::{collections::BTreeSet, env, time::SystemTime};

use burn_fusion::Fusion;
use firebox_backends::{
    Choice, Device, Precision,
    backend::{Cuda, NdArray, Wgpu},
};
use libtest_mimic::{Arguments, Failed, Trial};

/// The shapes that a backend is tried on.
#[derive(Debug, Clone, Copy)]
struct Share {
    /// Those with at least as many points.
    least: usize,
    /// One in so many of them.
    every: usize,
    /// A CPU in disguise. It takes up to half a minute to compile one of the kernels that are unrolled most, so
    /// operations take turns at what needs kernels of its own, another one each seed.
    software: bool,
}

/// Whose default bodies are not tried behind fusion. Fusion runs RBF's kernels, never these: the reductions that Burn
/// tunes differ in their last bits from one call to the next, and NVIDIA's Vulkan driver crashes on a fused one.
const NOT_FUSED: &str = "rbf/";

impl Share {
    /// How many operations take turns, if so many do where kernels are slow to compile.
    fn turns(self, software: usize) -> usize {
        if self.software { software } else { 1 }
    }
}

const ALL: Share = Share { least: 0, every: 1, software: false };

/// Behind fusion the same kernels run as without, so one shape in four shows that they are reached. CubeCL's CUDA has no
/// empty buffers, so nothing is tried without points there; the algorithms never ask for it.
const FUSED: Share = Share { least: 1, every: 4, software: false };

/// Runs the tests that the command line names, and ends the process.
pub fn main() {
    let mut arguments = Arguments::from_args();
    // One device, one thread: a failure is then the failing test's own.
    arguments.test_threads = Some(1);
    let seed = env::var("FIREBOX_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or_else(|| {
        SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .map_or(0, |since| since.as_nanos() as u64 % 1_000_000_007)
    });
    eprintln!("FIREBOX_SEED={seed}");

    let mut trials = Vec::new();
    let mut absent = BTreeSet::new();
    for (name, choice, precision) in [
        ("ndarray", Choice::NdArray, Precision::F32),
        ("ndarray f64", Choice::NdArray, Precision::F64),
        ("wgpu", Choice::Wgpu(None), Precision::F32),
        ("cuda", Choice::Cuda(None), Precision::F32),
        ("cuda f64", Choice::Cuda(None), Precision::F64),
    ] {
        let found = Device::find(choice, precision);
        let software = found.as_ref().is_ok_and(Device::is_software);
        match (found, precision) {
            (Ok(Device::NdArray(device)), Precision::F32) => {
                trials.extend(plan::<NdArray<f32>>(name, &device, seed, Bodies::Backend, ALL));
                trials.extend(plan::<NdArray<f32>>(name, &device, seed, Bodies::TensorOperations, ALL));
            }
            (Ok(Device::NdArray(device)), Precision::F64) => {
                trials.extend(plan::<NdArray<f64>>(name, &device, seed, Bodies::Backend, ALL));
            }
            (Ok(Device::Wgpu(device)), _) => {
                trials.extend(plan::<Wgpu<f32>>(name, &device, seed, Bodies::Backend, Share { software, ..ALL }));
                // As Burn has it, fusion in front; the default bodies too, which run there as anywhere.
                let (name, share) = ("wgpu with fusion", Share { software, ..FUSED });
                trials.extend(plan::<Fusion<Wgpu<f32>>>(name, &device, seed, Bodies::Backend, share));
                let default = plan::<Fusion<Wgpu<f32>>>(name, &device, seed, Bodies::TensorOperations, share);
                trials.extend(default.into_iter().filter(|trial| !trial.name().starts_with(NOT_FUSED)));
            }
            (Ok(Device::Cuda(device)), Precision::F32) => {
                trials.extend(plan::<Cuda<f32>>(name, &device, seed, Bodies::Backend, Share { least: 1, ..ALL }));
                // As Burn has it, fusion in front; the default bodies too, which run there as anywhere.
                let name = "cuda with fusion";
                trials.extend(plan::<Fusion<Cuda<f32>>>(name, &device, seed, Bodies::Backend, FUSED));
                let default = plan::<Fusion<Cuda<f32>>>(name, &device, seed, Bodies::TensorOperations, FUSED);
                trials.extend(default.into_iter().filter(|trial| !trial.name().starts_with(NOT_FUSED)));
            }
            (Ok(Device::Cuda(device)), Precision::F64) => {
                trials.extend(plan::<Cuda<f64>>(name, &device, seed, Bodies::Backend, Share { least: 1, ..ALL }));
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
        let what = format!("FIREBOX_REQUIRE names {backend}, which is not here");
        trials.push(Trial::test(format!("{backend} is here"), move || Err(Failed::from(what))));
    }
    libtest_mimic::run(&arguments, trials).exit();
}

/// Which implementations are under test.
#[derive(Clone, Copy)]
enum Bodies {
    Backend,
    TensorOperations,
}

/// Makes `plan` from a name, a crate with `cases`, a trait of operations, and for where kernels are slow to compile the
/// number of operations that take turns and which kernels a shape has, for each algorithm.
macro_rules! algorithms {
    ($($algorithm:ident: $krate:ident::$ops:ident, $turns:literal, |$of:pat_param| $kernels:expr);+ $(;)?) => {
        /// The operations of all algorithms.
        trait Operations: $($krate::$ops +)+ {}

        impl<B: $($krate::$ops +)+> Operations for B {}

        /// A test for every operation and shape of every algorithm on one backend.
        fn plan<B: Operations>(
            backend: &'static str,
            device: &B::Device,
            seed: u64,
            bodies: Bodies,
            share: Share,
        ) -> Vec<Trial> {
            let mut trials = Vec::new();
            $({
                use $krate::cases::{Problem, Suite, cases, shapes};
                let suite = match bodies {
                    Bodies::Backend => Suite::<B>::backend,
                    Bodies::TensorOperations => Suite::<B>::tensor_operations,
                };
                let turns = share.turns($turns);
                let shapes = shapes().into_iter().enumerate().filter(|(_, shape)| shape.n >= share.least);
                for (k, shape) in shapes.step_by(share.every) {
                    let $of = &shape;
                    let turn = $kernels + seed as usize;
                    let cases = cases::<B>(device).into_iter().enumerate();
                    for (_, case) in cases.filter(|(c, _)| (c + turn).is_multiple_of(turns)) {
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
