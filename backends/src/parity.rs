//! Parity tests of an algorithm's operations: the contract that its room `parity` fulfils, and the trials on every
//! backend, which are compiled in the algorithm's own crate.

pub mod views;

use std::fmt::Display;

use burn::tensor::backend::Backend;

use crate::{Device, Precision};

/// Check of an operation on a problem `P`; fails with the first difference.
pub type Check<P> = Box<dyn Fn(&P) -> Result<(), String> + Send>;

/// A check of one operation.
pub struct Case<P> {
    /// The operation and its variant.
    pub name: String,
    /// The check.
    pub check: Check<P>,
}

/// The operations of an algorithm on backend `B`, compared with a reference in f64.
pub trait Parity<B: Backend> {
    /// Name of the algorithm.
    const NAME: &'static str;
    /// Size of a problem.
    type Shape: Display + Clone + Send + 'static;
    /// Implementations of the operations.
    type Suite: 'static;
    /// Random inputs of one size, and the implementations under test.
    type Problem: 'static;

    /// All sizes, around those of the kernels' tiles.
    fn shapes() -> Vec<Self::Shape>;

    /// Number of points of a size; some backends have no empty tensors.
    fn points(shape: &Self::Shape) -> usize;

    /// On emulated devices, which take up to half a minute to compile a kernel, the share 1/stride of the trials of a case
    /// that run, chosen by the seed.
    fn stride(case: &str) -> usize {
        let _ = case;
        1
    }

    /// Offset of a shape's first case on emulated devices: equal for shapes that run the same kernels.
    fn offset(shape: &Self::Shape) -> usize {
        let _ = shape;
        0
    }

    /// The checks of all operations that the device supports.
    fn cases(device: &B::Device) -> Vec<Case<Self::Problem>>;

    /// The backend's own implementations.
    fn kernels() -> Self::Suite;

    /// The default bodies.
    fn tensor_operations() -> Self::Suite;

    /// Draws a problem from `seed`.
    fn problem(suite: Self::Suite, device: &B::Device, shape: Self::Shape, seed: u64) -> Self::Problem;
}

/// Device and selection of shapes of a set of trials.
#[derive(Debug, Clone, Copy)]
pub struct Target<'a> {
    /// Name of the backend in trials.
    pub name: &'static str,
    /// The device.
    pub device: &'a Device,
    /// Width of the floats.
    pub precision: Precision,
    /// Seed of the problems.
    pub seed: u64,
    /// Fewest points of a shape.
    pub min_points: usize,
    /// Stride through the shapes.
    pub stride: usize,
}

/// A test of one operation at one size on one backend.
pub struct Trial {
    /// `algorithm/backend/bodies/case/shape`.
    pub name: String,
    /// Runs the test; fails with the first difference.
    pub run: Box<dyn FnOnce() -> Result<(), String> + Send>,
}

/// The trials of algorithm `A`'s own implementations on backend `B`.
pub fn kernels<B: Backend, A: Parity<B>>(target: &Target<'_>, device: &B::Device) -> Vec<Trial> {
    trials::<B, A>(target, device, "kernels", A::kernels)
}

/// The trials of the default bodies of algorithm `A` on backend `B`.
pub fn tensor_operations<B: Backend, A: Parity<B>>(target: &Target<'_>, device: &B::Device) -> Vec<Trial> {
    trials::<B, A>(target, device, "tensor operations", A::tensor_operations)
}

// The suite is a function, so that default bodies are compiled only for the backends on which they are tested.
fn trials<B: Backend, A: Parity<B>>(
    target: &Target<'_>,
    device: &B::Device,
    bodies: &str,
    suite: fn() -> A::Suite,
) -> Vec<Trial> {
    let Target { name: backend, seed, .. } = *target;
    let is_software = target.device.is_software();
    let mut trials = Vec::new();
    let shapes = A::shapes().into_iter().enumerate().filter(|(_, shape)| A::points(shape) >= target.min_points);
    for (k, shape) in shapes.step_by(target.stride) {
        let offset = A::offset(&shape) + seed as usize;
        let cases = A::cases(device).into_iter().enumerate();
        let runs = |c: usize, case: &str| !is_software || (c + offset).is_multiple_of(A::stride(case));
        for (_, case) in cases.filter(|(c, case)| runs(*c, &case.name)) {
            let name = format!("{}/{backend}/{bodies}/{}/{shape}", A::NAME, case.name);
            let (device, shape) = (device.clone(), shape.clone());
            let run = move || (case.check)(&A::problem(suite(), &device, shape, seed.wrapping_add(k as u64)));
            trials.push(Trial { name, run: Box::new(run) });
        }
    }
    trials
}

/// The trials of an algorithm, a type that implements [`Parity`] for all backends, on a [`Target`]: its own
/// implementations, and in f32 on NdArray the default bodies too.
#[macro_export]
macro_rules! parity_trials {
    ($target:expr, $algorithm:ty) => {{
        let target: &$crate::parity::Target<'_> = $target;
        let mut trials: Vec<$crate::parity::Trial> =
            $crate::with_backend!(target.device, target.precision, |B, device| {
                $crate::parity::kernels::<B, $algorithm>(target, device)
            });
        if let ($crate::Device::NdArray(device), $crate::Precision::F32) = (target.device, target.precision) {
            let defaults: Vec<$crate::parity::Trial> = $crate::backend::ndarray!(device, NdArray<f32>, B, {
                $crate::parity::tensor_operations::<B, $algorithm>(target, device)
            });
            trials.extend(defaults);
        }
        trials
    }};
}
