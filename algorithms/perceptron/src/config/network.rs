//! Configurations of a sigmoid layer and of a multilayer perceptron.

use burn::config::Config;

use super::{check_count, invalid};
use crate::types::{Activation, Matmul, Sigmoid, Sign};

/// Maximum number of inputs or neurons of a layer.
const MAX_WIDTH: usize = 1 << 24;

/// Configuration of a [`SigmoidLayer`](crate::SigmoidLayer).
#[derive(Config, Debug, PartialEq)]
pub struct SigmoidLayerConfig {
    /// Number of inputs k, ≥ 1.
    pub inputs: usize,
    /// Number of neurons m, ≥ 1.
    pub neurons: usize,
    /// Adds a bias b, which the paper does not have.
    #[config(default = true)]
    pub bias: bool,
    /// Location μ of the sigmoid.
    #[config(default = "0.0")]
    pub location: f64,
    /// Slope σ of the sigmoid, other than 0.
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
    /// Sigmoid of the layer.
    pub(crate) fn sigmoid(&self) -> Sigmoid {
        Sigmoid { location: self.location, slope: self.slope, sign: self.sign }
    }

    /// Checks every field.
    ///
    /// # Errors
    /// [`Error::Config`](firebox_core::Error::Config) with the name of the first field that is out of range.
    pub fn validate(&self) -> firebox_core::Result<()> {
        check_count("inputs", self.inputs, MAX_WIDTH)?;
        check_count("neurons", self.neurons, MAX_WIDTH)?;
        check_sigmoid(self.sigmoid())
    }
}

/// Configuration of an [`Mlp`](crate::Mlp).
///
/// ```
/// use burn::tensor::Tensor;
/// use burn_ndarray::NdArray;
/// use firebox_perceptron::MlpConfig;
///
/// let device = Default::default();
/// let network = MlpConfig::new(4, vec![16, 8], 3).init::<NdArray<f32>>(&device)?;
/// assert_eq!(network.forward(Tensor::ones([5, 4], &device)).dims(), [5, 3]);
/// # Ok::<(), firebox_core::Error>(())
/// ```
#[derive(Config, Debug, PartialEq)]
pub struct MlpConfig {
    /// Number of inputs, ≥ 1.
    pub inputs: usize,
    /// Neurons of each hidden layer, ≥ 1; empty for a linear model.
    pub hidden: Vec<usize>,
    /// Number of outputs, ≥ 1.
    pub outputs: usize,
    /// Activation of hidden layers.
    #[config(default = "Activation::default()")]
    pub activation: Activation,
    /// The sigmoid of layers that have one.
    #[config(default = "Sigmoid::default()")]
    pub sigmoid: Sigmoid,
    /// Applies the sigmoid to the last layer too, as in the paper.
    #[config(default = false)]
    pub squash_outputs: bool,
    /// Adds a bias to every layer, which the paper does not have.
    #[config(default = true)]
    pub bias: bool,
    /// Matrix product kernel on a GPU.
    #[config(default = "Matmul::Auto")]
    pub matmul: Matmul,
    /// Seed of the initial weights, which are equal on all backends.
    #[config(default = 0)]
    pub seed: u64,
}

impl MlpConfig {
    /// Widths from the inputs to the outputs.
    pub(crate) fn widths(&self) -> Vec<usize> {
        [&[self.inputs], self.hidden.as_slice(), &[self.outputs]].concat()
    }

    /// Number of trainable parameters.
    pub fn parameters(&self) -> u128 {
        let layer = |pair: &[usize]| (pair[0] as u128 + u128::from(self.bias)) * pair[1] as u128;
        self.widths().windows(2).map(layer).sum()
    }

    /// Checks every field.
    ///
    /// # Errors
    /// [`Error::Config`](firebox_core::Error::Config) with the name of the first field that is out of range; those of
    /// `sigmoid` are `location` and `slope`.
    pub fn validate(&self) -> firebox_core::Result<()> {
        check_count("inputs", self.inputs, MAX_WIDTH)?;
        self.hidden.iter().try_for_each(|&count| check_count("hidden", count, MAX_WIDTH))?;
        check_count("outputs", self.outputs, MAX_WIDTH)?;
        check_sigmoid(self.sigmoid)
    }
}

/// Fails unless the location is finite, and the slope finite and other than 0.
fn check_sigmoid(Sigmoid { location, slope, .. }: Sigmoid) -> firebox_core::Result<()> {
    if !location.is_finite() {
        return invalid("location", location, "must be a number");
    }
    if slope.is_finite() && slope != 0.0 { Ok(()) } else { invalid("slope", slope, "must be a number other than 0") }
}
