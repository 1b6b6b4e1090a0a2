//! Parameters of the operations: sigmoids, activations, matrix product methods.

use serde::{Deserialize, Serialize};

/// Sign of a sigmoid's exponent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "command", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum Sign {
    /// y = 1/(1 + exp(−(x − μ)·σ)), increasing for σ > 0.
    #[default]
    Rising,
    /// y = 1/(1 + exp((x − μ)·σ)) as printed in the paper, decreasing for σ > 0.
    Literal,
}

/// Logistic function with location μ and slope σ.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "command", derive(clap::Args))]
pub struct Sigmoid {
    /// Location μ of the sigmoid, where it is a half
    #[cfg_attr(feature = "command", arg(long, value_name = "X"))]
    #[cfg_attr(feature = "command", arg(default_value_t = Sigmoid::default().location))]
    pub location: f64,
    /// Slope σ of the sigmoid, other than 0
    #[cfg_attr(feature = "command", arg(long, value_name = "S"))]
    #[cfg_attr(feature = "command", arg(default_value_t = Sigmoid::default().slope))]
    pub slope: f64,
    /// Direction of the sigmoid: rising, or literal, the paper's sign, which falls
    #[cfg_attr(feature = "command", arg(long = "sigmoid", value_enum, default_value_t = Sigmoid::default().sign))]
    pub sign: Sign,
}

impl Default for Sigmoid {
    /// 1/(1 + exp(−x)).
    fn default() -> Self {
        Self { location: 0.0, slope: 1.0, sign: Sign::Rising }
    }
}

impl Sigmoid {
    /// ±σ by the sign: y = 1/(1 + exp(−(x − μ)·steepness)).
    pub fn steepness(self) -> f64 {
        match self.sign {
            Sign::Rising => self.slope,
            Sign::Literal => -self.slope,
        }
    }
}

/// Matrix product kernel on a GPU.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "command", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum Matmul {
    /// The fastest in measurements for the size and the device; TF32 only if allowed.
    #[default]
    Auto,
    /// The paper's kernel: 16 × 16 tiles in shared memory, fused with bias and sigmoid.
    Tile,
    /// cubek's kernel on scalar units, falling back to the paper's.
    Simt,
    /// f32 as sums of two TF32 numbers, three products on tensor cores (3×TF32): as precise as f32. Products with an
    /// infinity are NaN.
    Split,
    /// Tensor cores: f16 and bf16 unchanged, f32 truncated to TF32 (11 bits). Choosing this in a program allows TF32; the
    /// commands also require `allow_tf32`.
    Tensor,
}

impl std::fmt::Display for Matmul {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&format!("{self:?}").to_lowercase())
    }
}

/// Kernel of a matrix product. `Display` gives its name in reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MatmulKernel {
    /// Burn's matrix product.
    TensorOperations,
    /// `matrixmultiply`, rows per thread, on NdArray.
    RowsByThread,
    /// [`Matmul::Tile`].
    Tile,
    /// [`Matmul::Simt`].
    Simt,
    /// [`Matmul::Split`].
    Split,
    /// [`Matmul::Tensor`] for f32, truncated to TF32.
    Tf32,
    /// [`Matmul::Tensor`] for f16 and bf16.
    Tensor,
}

impl std::fmt::Display for MatmulKernel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::TensorOperations => "tensor operations",
            Self::RowsByThread => "rows by thread",
            Self::Tile => "tile 16 × 16",
            Self::Simt => "cubek on scalar units",
            Self::Split => "3×TF32 on tensor cores",
            Self::Tf32 => "TF32 on tensor cores",
            Self::Tensor => "tensor cores",
        })
    }
}

/// Constants of a step of Adam: see [`PerceptronOps::perceptron_adam`](crate::PerceptronOps::perceptron_adam).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AdamStep {
    /// Decay rates β₁ and β₂ of the moments.
    pub betas: [f64; 2],
    /// Weight decay λ.
    pub decay: f64,
    /// Length a of the step.
    pub rate: f64,
    /// ε, above 0, which bounds steps where gradients vanish.
    pub epsilon: f64,
    /// Share s of the new parameters in their average, above 0 and at most 1.
    pub share: f64,
}

/// Activation of hidden layers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "command", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum Activation {
    /// The sigmoid of the paper, fused with the product.
    Sigmoid,
    /// max(0, x).
    #[default]
    Relu,
    /// The hyperbolic tangent.
    Tanh,
    /// x·Φ(x), Φ the cumulative normal distribution.
    Gelu,
}
