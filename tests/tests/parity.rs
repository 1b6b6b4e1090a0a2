//! Every operation, on every backend that is here, over awkward shapes, against the f64 reference.
//!
//! Inputs are fresh in every run: the seed is printed, and `FIREBOX_SEED` brings a run back. A backend that finds no
//! device is skipped, loudly; `FIREBOX_REQUIRE=ndarray,wgpu` turns that into a failure. A new operation is one entry
//! in its algorithm's `cases`, a new algorithm one entry in [`algorithms`].

use std::{collections::BTreeSet, env, time::SystemTime};

use burn_fusion::Fusion;
use firebox_backends::{
    Choice, Device, Precision,
    backend::{Cuda, NdArray, Wgpu},
};
use libtest_mimic::{Arguments, Failed, Trial};

/// Behind fusion the same kernels run as without, so one shape in four shows that they are reached. CubeCL's CUDA has no
/// empty buffers, so nothing is tried without points there; the algorithms never ask for it.
const FUSED: (usize, usize) = (1, 4);

fn main() {
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
        match (Device::find(choice, precision), precision) {
            (Ok(Device::NdArray(device)), Precision::F32) => {
                trials.extend(plan::<NdArray<f32>>(name, &device, seed, Bodies::Backend, (0, 1)));
                trials.extend(plan::<NdArray<f32>>(name, &device, seed, Bodies::TensorOperations, (0, 1)));
            }
            (Ok(Device::NdArray(device)), Precision::F64) => {
                trials.extend(plan::<NdArray<f64>>(name, &device, seed, Bodies::Backend, (0, 1)));
            }
            (Ok(Device::Wgpu(device)), _) => {
                trials.extend(plan::<Wgpu<f32>>(name, &device, seed, Bodies::Backend, (0, 1)));
                // As Burn has it, fusion in front; the default bodies too, which run there as anywhere.
                let name = "wgpu with fusion";
                trials.extend(plan::<Fusion<Wgpu<f32>>>(name, &device, seed, Bodies::Backend, FUSED));
                trials.extend(plan::<Fusion<Wgpu<f32>>>(name, &device, seed, Bodies::TensorOperations, FUSED));
            }
            (Ok(Device::Cuda(device)), Precision::F32) => {
                trials.extend(plan::<Cuda<f32>>(name, &device, seed, Bodies::Backend, (1, 1)));
                // As Burn has it, fusion in front; the default bodies too, which run there as anywhere.
                let name = "cuda with fusion";
                trials.extend(plan::<Fusion<Cuda<f32>>>(name, &device, seed, Bodies::Backend, FUSED));
                trials.extend(plan::<Fusion<Cuda<f32>>>(name, &device, seed, Bodies::TensorOperations, FUSED));
            }
            (Ok(Device::Cuda(device)), Precision::F64) => {
                trials.extend(plan::<Cuda<f64>>(name, &device, seed, Bodies::Backend, (1, 1)));
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

/// Makes `plan` from a name, a crate with `cases`, and a trait of operations for each algorithm.
macro_rules! algorithms {
    ($($algorithm:ident: $krate:ident::$ops:ident),+ $(,)?) => {
        /// The operations of all algorithms.
        trait Operations: $($krate::$ops +)+ {}

        impl<B: $($krate::$ops +)+> Operations for B {}

        /// A test for every operation and shape of every algorithm on one backend.
        ///
        /// One in `every` shapes is taken, of those with at least `least` points.
        fn plan<B: Operations>(
            backend: &'static str,
            device: &B::Device,
            seed: u64,
            bodies: Bodies,
            (least, every): (usize, usize),
        ) -> Vec<Trial> {
            let mut trials = Vec::new();
            $({
                use $krate::cases::{Problem, Suite, cases, shapes};
                let suite = match bodies {
                    Bodies::Backend => Suite::<B>::backend,
                    Bodies::TensorOperations => Suite::<B>::tensor_operations,
                };
                for (k, shape) in shapes().into_iter().enumerate().filter(|(_, shape)| shape.n >= least).step_by(every) {
                    for case in cases::<B>(device) {
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
    ocnn: firebox_ocnn::OcnnOps,
    rbf: firebox_rbf::RbfOps,
    sammon: firebox_sammon::SammonOps,
}
