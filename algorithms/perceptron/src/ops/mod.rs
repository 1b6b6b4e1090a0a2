//! Operations of a perceptron on a backend, with one implementation per kind of backend.
//!
//! | backend | implementation |
//! |---|---|
//! | `NdArray` | `ndarray`: rayon and SIMD over slices, products by `matrixmultiply` |
//! | `CubeBackend` (CUDA, wgpu, ROCm) | `cube`: CubeCL, and cubek's matrix products |
//! | `Fusion<B>` | `fusion`: queued custom operations, executed by `B` |
//! | `Autodiff<B>` | `autodiff`: operations of `B` with explicit backward passes |
//! | any other | `tensor`: the default bodies |
//!
//! Shapes: n instances, k inputs of a layer, m neurons. Floats are f32, f64, or on a CubeCL backend also f16 and bf16,
//! which accumulate in f32; all tensors of a call have one type. The default bodies support f32 and f64 and use Burn's
//! matrix product, which rounds f32 to TF32 on devices with TF32 tensor cores.

pub(crate) mod activations;
mod autodiff;
#[cfg(feature = "cube")]
mod cube;
mod ndarray;
pub(crate) mod sums;
pub(crate) mod tensor;

use burn::tensor::{DType, ops::FloatTensor};
use firebox_backends::{DeviceLimits, operations};
use firebox_core::{Error, Result};

use crate::types::{AdamStep, Matmul, MatmulKernel, Sigmoid};

/// Operations of a perceptron on a backend. The default bodies are tensor operations; backends with kernels override all
/// of them.
#[operations(perceptron)]
pub trait PerceptronOps: DeviceLimits {
    /// Resolves `matmul` for a product of `[n, k]` by `[k, m]` (`size` is n, k, m) in floats of type `dtype`; returns the
    /// method and its kernel for dense matrices. Without `tf32`, `Auto` never rounds f32 to TF32.
    ///
    /// Fails if the device has no such kernel.
    #[forward]
    fn perceptron_strategy(
        device: &Self::Device,
        dtype: DType,
        size: [usize; 3],
        matmul: Matmul,
        tf32: bool,
    ) -> Result<(Matmul, MatmulKernel)> {
        let _ = (device, dtype, size, tf32);
        if matmul == Matmul::Auto {
            Ok((matmul, MatmulKernel::TensorOperations))
        } else {
            Err(unsupported_matmul(matmul))
        }
    }

    /// y = 1/(1 + exp(∓(x − μ)·σ)) of every element of `values`, of any shape. With `in_place`, the result reuses the
    /// memory of `values` if no other tensor shares it.
    #[output(values.shape(), values.dtype())]
    fn perceptron_sigmoid(values: FloatTensor<Self>, sigmoid: Sigmoid, in_place: bool) -> FloatTensor<Self> {
        let _ = in_place;
        tensor::sigmoid::<Self>(values, sigmoid)
    }

    /// Δ = ±σ·y·(1 − y)·g of every element: the backward pass of a sigmoid with `outputs` y for a `gradient` g of the
    /// same shape.
    #[output(outputs.shape(), outputs.dtype())]
    fn perceptron_delta(
        outputs: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
        sigmoid: Sigmoid,
    ) -> FloatTensor<Self> {
        tensor::delta::<Self>(outputs, gradient, sigmoid)
    }

    /// Outputs `[n, m]` of a layer: A·B + b, or the sigmoid of it, for inputs A `[n, k]`, weights B `[k, m]` and a bias b
    /// `[m]`; k ≥ 1. A and B may be transposed views, which are read without a copy.
    ///
    /// # Panics
    /// If shapes or types do not match, or the device lacks the kernel, which
    /// [`perceptron_strategy`](Self::perceptron_strategy) checks.
    #[output([inputs.shape()[0], weights.shape()[1]], inputs.dtype())]
    fn perceptron_layer(
        inputs: FloatTensor<Self>,
        weights: FloatTensor<Self>,
        bias: Option<FloatTensor<Self>>,
        sigmoid: Option<Sigmoid>,
        matmul: Matmul,
    ) -> FloatTensor<Self> {
        let _ = matmul;
        tensor::layer::<Self>(inputs, weights, bias, sigmoid)
    }

    /// Cross-entropy L = ln Σ eˣ − x of its class, `[n, 1]`, of each row x of `outputs` `[n, m]`, and its gradient
    /// ∂L/∂x·`scale` `[n, m]`. `classes` `[n, 1]` are indices below m, exact in floats. f32 and f64 alone.
    #[output([outputs.shape()[0], 1], outputs.dtype())]
    #[output(outputs.shape(), outputs.dtype())]
    fn perceptron_cross_entropy(
        outputs: FloatTensor<Self>,
        classes: FloatTensor<Self>,
        scale: f64,
    ) -> (FloatTensor<Self>, FloatTensor<Self>) {
        tensor::cross_entropy::<Self>(outputs, classes, scale)
    }

    /// Step of Adam (Kingma and Ba 2015) for parameters θ with gradient g, moments m and v ≥ 0, and average θ̄, all of one
    /// shape. With h = g + λ·θ,
    ///
    /// m ← β₁·m + (1 − β₁)·h, v ← β₂·v + (1 − β₂)·h², θ ← θ − a·m/(√v + ε), θ̄ ← (1 − s)·θ̄ + s·θ
    ///
    /// with the constants of `step`. Returns θ, m, v and θ̄. f32 and f64 alone.
    #[output(parameters.shape(), parameters.dtype())]
    #[output(parameters.shape(), parameters.dtype())]
    #[output(parameters.shape(), parameters.dtype())]
    #[output(parameters.shape(), parameters.dtype())]
    fn perceptron_adam(
        parameters: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
        first: FloatTensor<Self>,
        second: FloatTensor<Self>,
        average: FloatTensor<Self>,
        step: AdamStep,
    ) -> (FloatTensor<Self>, FloatTensor<Self>, FloatTensor<Self>, FloatTensor<Self>) {
        tensor::adam::<Self>(parameters, gradient, [first, second, average], step)
    }
}

/// Error of a backend with a single matrix product.
pub(crate) fn unsupported_matmul(matmul: Matmul) -> Error {
    Error::Config {
        field: "matmul",
        value: matmul.to_string(),
        reason: "this backend has a single matrix product; use auto".into(),
    }
}

#[cfg(feature = "flex")]
impl PerceptronOps for burn_flex::Flex {}
