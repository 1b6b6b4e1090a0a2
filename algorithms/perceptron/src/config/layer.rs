//! Configuration of a sigmoid layer.

use burn::config::Config;
use firebox_core::Error;

use crate::types::{Matmul, Sigmoid, Sign};

/// Configuration of a [`SigmoidLayer`](crate::SigmoidLayer).
///
/// ```
/// use burn::tensor::Tensor;
/// use burn_ndarray::NdArray;
/// use firebox_perceptron::SigmoidLayerConfig;
///
/// let device = Default::default();
/// let layer = SigmoidLayerConfig::new(3, 2).init::<NdArray<f32>>(&device)?;
/// let outputs = layer.forward(Tensor::ones([5, 3], &device));
/// assert_eq!(outputs.dims(), [5, 2]);
/// # Ok::<(), firebox_core::Error>(())
/// ```
#[derive(Config, Debug, PartialEq)]
pub struct SigmoidLayerConfig {
    /// Number of inputs k, ≥ 1.
    pub inputs: usize,
    /// Number of neurons m, ≥ 1.
    pub neurons: usize,
    /// Whether a bias b is added, which the paper does not do.
    #[config(default = true)]
    pub bias: bool,
    /// Location μ of the sigmoid.
    #[config(default = "0.0")]
    pub location: f64,
    /// Slope σ of the sigmoid.
    #[config(default = "1.0")]
    pub slope: f64,
    /// Sign of the sigmoid's exponent.
    #[config(default = "Sign::Rising")]
    pub sign: Sign,
    /// Matrix product kernel on a GPU.
    #[config(default = "Matmul::Auto")]
    pub matmul: Matmul,
    /// Seed of the initial weights, which are equal on all backends.
    #[config(default = 0)]
    pub seed: u64,
}

impl SigmoidLayerConfig {
    /// The sigmoid; fails with the name of a field that is out of range.
    pub(crate) fn sigmoid(&self) -> firebox_core::Result<Sigmoid> {
        for (field, value) in [("location", self.location), ("slope", self.slope)] {
            if !value.is_finite() {
                return Err(Error::Config { field, value: value.to_string(), reason: "must be a number".into() });
            }
        }
        Ok(Sigmoid { location: self.location, slope: self.slope, sign: self.sign })
    }
}
