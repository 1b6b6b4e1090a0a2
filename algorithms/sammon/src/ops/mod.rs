//! The operations of a mapping on a backend, with one implementation per kind of backend.
//!
//! | backend | implementation |
//! |---|---|
//! | `NdArray` | `ndarray`: rayon and SIMD over slices |
//! | `CubeBackend` (CUDA, wgpu, ROCm) | `cube`: CubeCL kernels |
//! | `Fusion<B>` | `fusion`: custom operations, run by `B` |
//! | any other | `tensor`: default bodies in tensor operations, in blocks of rows |
//!
//! Shapes: n points, d source dimensions, m target dimensions. Features and embeddings are *dimension-major*, `[d, n]`
//! and `[m, n]`, with d, m ≥ 1. n and the number of steps may be 0; results then have shapes with a 0. A point
//! represents μ_j ≥ 1 equal points of the input.
//!
//! With δ_ij the source distance, d_ij = |y_i − y_j| the target distance and w_ij = δ_ij^(−p) the weight of a pair
//! (p = 1 is Sammon's; w is 0 for i = j, for δ_ij = 0 and for a missing pair):
//!
//! - force F_i = Σ_j μ_j·w_ij·(δ_ij − d_ij)/d_ij·(y_i − y_j), eq. (3) without its step size; coincident y contribute 0;
//! - stress e_i = Σ_j μ_j·w_ij·(δ_ij − d_ij)²; E = Σ_i μ_i·e_i / (2c), c = Σ_{i<j} μ_i·μ_j·w_ij·δ_ij², which for p = 1
//!   is eq. (1)'s Σ δ.
//!
//! Inputs are nondimensional: source distances are about 1 and features are centred, so that f32 does not overflow.

#[cfg(feature = "cube")]
pub(crate) mod cube;
#[cfg(feature = "fusion")]
mod fusion;
mod ndarray;
pub(crate) mod tensor;

use burn::tensor::ops::FloatTensor;
use firebox_backends::{DeviceLimits, operations};
use firebox_core::{Error, Result};

use crate::types::{Epoch, Forces, Metric, Problem, Steps, Variant};

/// The operations of a Sammon mapping on a backend. Default bodies use tensor operations and memory for one block of
/// rows; backends with kernels override all of them.
#[operations(sammon)]
pub trait SammonOps: DeviceLimits {
    /// Name of the implementation that runs `variant` on the device.
    ///
    /// # Errors
    /// If the device does not support the variant.
    #[forward]
    fn sammon_strategy(device: &Self::Device, variant: Variant) -> Result<&'static str> {
        let _ = device;
        if variant == Variant::Auto {
            return Ok("tensor operations");
        }
        let reason = "this backend has tensor operations only; leave it at auto".into();
        Err(Error::Config { field: "variant", value: variant.to_string(), reason })
    }

    /// 1/δ `[r, n]` between `rows` `[d, r]` and `points` `[d, n]`; 0 where δ = 0. With `first`, `rows` are the points
    /// from index `first` on, and the entries of a point with itself are 0.
    #[output([rows.shape()[1], points.shape()[1]], points.dtype())]
    fn sammon_inverse(
        rows: FloatTensor<Self>,
        points: FloatTensor<Self>,
        first: Option<usize>,
        metric: Metric,
    ) -> FloatTensor<Self> {
        tensor::inverse::<Self>(rows, points, first, metric)
    }

    /// Forces F and stresses e of an embedding `[m, n]`.
    #[output(embedding.shape(), embedding.dtype())]
    #[output([embedding.shape()[1]], embedding.dtype())]
    fn sammon_forces(problem: &Problem<Self>, embedding: FloatTensor<Self>, variant: Variant) -> Forces<Self> {
        let _ = variant;
        tensor::forces::<Self>(problem, embedding)
    }

    /// Takes `steps` steps y_i ← y_i + rate_i·F_i from an embedding `[m, n]` with `rates` `[n]`.
    #[output(embedding.shape(), embedding.dtype())]
    #[output([steps, embedding.shape()[1]], embedding.dtype())]
    fn sammon_steps(
        problem: &Problem<Self>,
        embedding: FloatTensor<Self>,
        rates: FloatTensor<Self>,
        steps: usize,
        variant: Variant,
    ) -> Steps<Self> {
        let _ = variant;
        tensor::steps::<Self>(problem, embedding, rates, steps)
    }

    /// Sums over the pairs of each point, `[6, n]`: Σ μ_j·w, Σ μ_j·w·δ², Σ μ_j·w·δ·d, Σ μ_j·w·d², Σ μ_j·(δ − d)²,
    /// Σ μ_j·d²; j over pairs with i ≠ j, δ ≠ 0 and not missing.
    #[output([crate::types::MEASURES, embedding.shape()[1]], embedding.dtype())]
    fn sammon_measure(problem: &Problem<Self>, embedding: FloatTensor<Self>) -> FloatTensor<Self> {
        tensor::measure::<Self>(problem, embedding)
    }

    /// Runs `epochs` of block sampling from an embedding `[m, n]` over features `[d, n]`, in blocks of `block` ≥ 1
    /// points, of which the last may be smaller. All points move at once in an epoch. Returns the embedding after the
    /// last.
    #[output(embedding.shape(), embedding.dtype())]
    fn sammon_sampled(
        points: FloatTensor<Self>,
        metric: Metric,
        multiplicity: FloatTensor<Self>,
        power: f64,
        embedding: FloatTensor<Self>,
        epochs: &[Epoch],
        block: usize,
    ) -> FloatTensor<Self> {
        tensor::sampled::<Self>(points, metric, multiplicity, power, embedding, epochs, block)
    }

    /// Places q new points among n fixed ones, independently of one another, by `steps` steps y_q ← y_q + F_q/Σ_j
    /// μ_j·w_qj from `embedding` `[m, q]`. `inverse` `[q, n]` is 1/δ to the fixed points, in the backend's float type,
    /// and `fixed` `[m, n]` is their embedding. No step increases the stress of a point: each goes to the minimum of a
    /// majorizing parabola. A point without a pair stays.
    #[output(embedding.shape(), embedding.dtype())]
    #[output([steps, embedding.shape()[1]], embedding.dtype())]
    fn sammon_place(
        inverse: FloatTensor<Self>,
        multiplicity: FloatTensor<Self>,
        power: f64,
        fixed: FloatTensor<Self>,
        embedding: FloatTensor<Self>,
        steps: usize,
    ) -> Steps<Self> {
        tensor::place::<Self>(inverse, multiplicity, power, fixed, embedding, steps)
    }
}

#[cfg(feature = "flex")]
impl SammonOps for burn_flex::Flex {}
