//! The hot loops as operations on a backend: signatures here, one implementation per kind of backend.
//!
//! | backend | implementation |
//! |---|---|
//! | `NdArray` | `cpu`: rayon and SIMD over slices, products by `matrixmultiply` |
//! | `CubeBackend` (CUDA, wgpu, ROCm) | `kernel`: CubeCL, and cubek's matrix products |
//! | `Fusion<B>` | `fusion`: queued, then `B`'s |
//! | `Autodiff<B>` | `autodiff`: `B`'s, with backward passes of their own |
//! | any other | the default bodies: tensor operations |
//!
//! Shapes: n instances, k inputs of a layer, m neurons. Floats are f32, f64, or on a CubeCL backend also f16 and bf16,
//! which are summed in f32; all tensors of a call are of one type. The default bodies are for f32 and f64, and multiply
//! as Burn does, which rounds f32 to TF32 where a device has that.

use burn::tensor::{DType, ops::FloatTensor};
use firebox_backends::Limited;
use firebox_core::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::tensor_ops;

/// Which way a sigmoid runs for a slope above 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Sign {
    /// y = 1/(1 + exp(−(x − μ)·σ)), which rises with x.
    #[default]
    Rising,
    /// y = 1/(1 + exp((x − μ)·σ)) as the paper prints it, which falls.
    Literal,
}

/// A sigmoid with location μ and slope σ.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Sigmoid {
    /// μ: where y = ½.
    pub location: f64,
    /// σ.
    pub slope: f64,
    /// Which way it runs.
    pub sign: Sign,
}

impl Default for Sigmoid {
    /// 1/(1 + exp(−x)).
    fn default() -> Self {
        Self { location: 0.0, slope: 1.0, sign: Sign::Rising }
    }
}

impl Sigmoid {
    /// ±σ, so that y = 1/(1 + exp(−(x − μ)·steepness)).
    pub fn steepness(self) -> f64 {
        match self.sign {
            Sign::Rising => self.slope,
            Sign::Literal => -self.slope,
        }
    }
}

/// How a GPU multiplies matrices.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Matmul {
    /// What was measured to be the fastest for the size and the device; never TF32 unless that is allowed.
    #[default]
    Auto,
    /// The paper's kernel: tiles of 16 × 16 in shared memory, with bias and sigmoid in the same kernel.
    Tile,
    /// cubek's kernel on scalar units, or the paper's where it has none.
    Simt,
    /// f32 as sums of two TF32 numbers, three products on tensor cores (3×TF32): as precise as f32. What meets an
    /// infinite number is NaN.
    Split,
    /// Tensor cores: f16 and bf16 as they are; f32 cut off to TF32, 11 bits. The commands want --allow-tf32 for that; in
    /// a program, to choose this is to allow it.
    Tensor,
}

impl std::fmt::Display for Matmul {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Auto => "auto",
            Self::Tile => "tile",
            Self::Simt => "simt",
            Self::Split => "split",
            Self::Tensor => "tensor",
        })
    }
}

/// The hot loops of a perceptron on a backend. Every default body is in plain tensor operations; backends with kernels
/// override all of them.
pub trait PerceptronOps: Limited {
    /// Checks a way to multiply `[n, k]` by `[k, m]` (`size` is n, k, m) in floats of type `dtype` against the device,
    /// and resolves `Auto`; with the name of what will run for dense matrices. Without `tf32`, nothing rounds f32 to
    /// TF32.
    fn perceptron_strategy(
        device: &Self::Device,
        dtype: DType,
        size: [usize; 3],
        matmul: Matmul,
        tf32: bool,
    ) -> Result<(Matmul, &'static str)> {
        let _ = (device, dtype, size, tf32);
        if matmul == Matmul::Auto { Ok((matmul, "tensor operations")) } else { Err(no_choice(matmul)) }
    }

    /// y = 1/(1 + exp(∓(x − μ)·σ)) of every element of `values`, of any shape. With `in_place` it takes the memory of
    /// `values`, if nobody else holds that.
    fn perceptron_sigmoid(values: FloatTensor<Self>, sigmoid: Sigmoid, in_place: bool) -> FloatTensor<Self> {
        let _ = in_place;
        tensor_ops::sigmoid::<Self>(values, sigmoid)
    }

    /// ±σ·y·(1 − y)·g of every element: what a sigmoid with `outputs` y hands back of a `gradient` g, both of one shape.
    fn perceptron_delta(
        outputs: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
        sigmoid: Sigmoid,
    ) -> FloatTensor<Self> {
        tensor_ops::delta::<Self>(outputs, gradient, sigmoid)
    }

    /// A layer's outputs `[n, m]`: A·B + b, or the sigmoid of that, for inputs A `[n, k]`, weights B `[k, m]` and a bias b
    /// `[m]`; k from 1. A and B may be transposed views: they are read as they lie.
    ///
    /// # Panics
    /// If sizes or types of numbers differ, or the device cannot multiply so:
    /// [`perceptron_strategy`](Self::perceptron_strategy) tells.
    fn perceptron_layer(
        inputs: FloatTensor<Self>,
        weights: FloatTensor<Self>,
        bias: Option<FloatTensor<Self>>,
        sigmoid: Option<Sigmoid>,
        matmul: Matmul,
    ) -> FloatTensor<Self> {
        let _ = matmul;
        tensor_ops::layer::<Self>(inputs, weights, bias, sigmoid)
    }
}

/// The error of a backend that multiplies in one way only.
pub(crate) fn no_choice(matmul: Matmul) -> Error {
    Error::Config {
        field: "matmul",
        value: matmul.to_string(),
        reason: "this backend multiplies matrices in one way only; leave it at auto".into(),
    }
}

#[cfg(feature = "flex")]
impl PerceptronOps for burn_flex::Flex {}
