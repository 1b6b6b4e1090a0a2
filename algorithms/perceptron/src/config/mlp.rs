//! Configuration of a multilayer perceptron.

use burn::config::Config;
use firebox_core::Error;

use crate::types::{Activation, Matmul, Sigmoid};

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
    /// Columns of an instance, ≥ 1.
    pub inputs: usize,
    /// Neurons of each hidden layer, ≥ 1; empty for a linear model.
    pub hidden: Vec<usize>,
    /// Columns of an output, ≥ 1.
    pub outputs: usize,
    /// Activation of hidden layers.
    #[config(default = "Activation::Sigmoid")]
    pub activation: Activation,
    /// The sigmoid of layers that have one.
    #[config(default = "Sigmoid::default()")]
    pub sigmoid: Sigmoid,
    /// Whether the sigmoid is applied to the last layer too, as in the paper.
    #[config(default = false)]
    pub squash_outputs: bool,
    /// Whether every layer has a bias, which the paper's layers do not have.
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

    /// Fails with the name of a field that is out of range.
    pub fn validate(&self) -> firebox_core::Result<()> {
        let invalid = |field, value: String, reason: &str| Err(Error::Config { field, value, reason: reason.into() });
        let widths = [("inputs", &[self.inputs][..]), ("hidden", &self.hidden), ("outputs", &[self.outputs])];
        for (field, counts) in widths {
            if let Some(count) = counts.iter().find(|count| !(1..=1 << 24).contains(*count)) {
                return invalid(field, count.to_string(), &format!("must lie between 1 and {}", 1 << 24));
            }
        }
        if !self.sigmoid.location.is_finite() {
            return invalid("location", self.sigmoid.location.to_string(), "must be a number");
        }
        if !(self.sigmoid.slope.is_finite() && self.sigmoid.slope != 0.0) {
            return invalid("slope", self.sigmoid.slope.to_string(), "must be a number other than 0");
        }
        Ok(())
    }
}
