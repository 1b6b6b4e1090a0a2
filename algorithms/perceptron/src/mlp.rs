//! A multilayer perceptron as a Burn module.

use burn::{
    config::Config,
    module::Module,
    tensor::{Tensor, activation, backend::Backend},
};
use firebox_core::{Error, random::Random};
use serde::{Deserialize, Serialize};

use crate::{
    layer::Linear,
    ops::{Matmul, PerceptronOps, Sigmoid},
};

/// The stream of [`Random`] that networks start from.
const STREAM: u64 = 0x6d6c;

/// What follows the product in a hidden layer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Activation {
    /// The sigmoid of the paper, in one operation with the product.
    #[default]
    Sigmoid,
    /// max(0, x).
    Relu,
    /// The hyperbolic tangent.
    Tanh,
    /// x·Φ(x), Φ the normal distribution.
    Gelu,
}

/// Configuration of an [`Mlp`].
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
    /// Columns of an instance, from 1.
    pub inputs: usize,
    /// Neurons of each hidden layer, from 1; none is a linear model.
    pub hidden: Vec<usize>,
    /// Columns of a result, from 1.
    pub outputs: usize,
    /// What follows the product in hidden layers.
    #[config(default = "Activation::Sigmoid")]
    pub activation: Activation,
    /// The sigmoid, where that follows.
    #[config(default = "Sigmoid::default()")]
    pub sigmoid: Sigmoid,
    /// Whether the last layer has the sigmoid too, as in the paper.
    #[config(default = false)]
    pub squash_outputs: bool,
    /// Whether layers have a bias; the paper has none.
    #[config(default = true)]
    pub bias: bool,
    /// How a GPU multiplies.
    #[config(default = "Matmul::Auto")]
    pub matmul: Matmul,
    /// Names the weights drawn, the same on every backend.
    #[config(default = 0)]
    pub seed: u64,
}

impl MlpConfig {
    /// The widths from the inputs to the outputs.
    pub(crate) fn widths(&self) -> Vec<usize> {
        [&[self.inputs], self.hidden.as_slice(), &[self.outputs]].concat()
    }

    /// Numbers that are trained.
    pub fn parameters(&self) -> u128 {
        let of = |pair: &[usize]| (pair[0] as u128 + u128::from(self.bias)) * pair[1] as u128;
        self.widths().windows(2).map(of).sum()
    }

    /// A network with weights uniform in ±√(6/(k + m)) (Glorot and Bengio 2010), before a sigmoid ±2√(6/(k + m)), since a
    /// sigmoid is half as steep, and biases of 0.
    ///
    /// Fails if a field is out of its range, which it names.
    pub fn init<B: Backend>(&self, device: &B::Device) -> firebox_core::Result<Mlp<B>> {
        self.validate()?;
        let mut random = Random::new(self.seed, STREAM);
        let widths = self.widths();
        let last = widths.len() - 2;
        let draw = |(at, pair): (usize, &[usize])| {
            let squashed = at < last && self.activation == Activation::Sigmoid;
            let gain = if squashed { 2.0 } else { 1.0 };
            Linear::draw([pair[0], pair[1]], self.bias, self.matmul, gain, &mut random, device)
        };
        let layers = widths.windows(2).enumerate().map(draw).collect::<firebox_core::Result<_>>()?;
        Ok(self.with_layers(layers))
    }

    /// The network of these layers.
    pub(crate) fn with_layers<B: Backend>(&self, layers: Vec<Linear<B>>) -> Mlp<B> {
        let (activation, sigmoid, squash_outputs) = (self.activation, self.sigmoid, self.squash_outputs);
        Mlp { layers, activation, sigmoid, squash_outputs }
    }

    /// Fails if a field is out of its range, which it names.
    pub fn validate(&self) -> firebox_core::Result<()> {
        let wrong = |field, value: String, reason: &str| Err(Error::Config { field, value, reason: reason.into() });
        let widths = [("inputs", &[self.inputs][..]), ("hidden", &self.hidden), ("outputs", &[self.outputs])];
        for (field, counts) in widths {
            if let Some(count) = counts.iter().find(|count| !(1..=1 << 24).contains(*count)) {
                return wrong(field, count.to_string(), &format!("must lie between 1 and {}", 1 << 24));
            }
        }
        if !self.sigmoid.location.is_finite() {
            return wrong("location", self.sigmoid.location.to_string(), "must be a number");
        }
        if !(self.sigmoid.slope.is_finite() && self.sigmoid.slope != 0.0) {
            return wrong("slope", self.sigmoid.slope.to_string(), "must be a number other than 0");
        }
        Ok(())
    }
}

/// Layers, one after the other: the results of each are the instances of the next.
#[derive(Module, Debug)]
pub struct Mlp<B: Backend> {
    /// The layers in order.
    pub layers: Vec<Linear<B>>,
    /// What follows hidden layers. It is not trained.
    #[module(skip)]
    pub activation: Activation,
    /// The sigmoid, where that follows.
    #[module(skip)]
    pub sigmoid: Sigmoid,
    /// Whether it follows the last layer too.
    #[module(skip)]
    pub squash_outputs: bool,
}

impl<B: Backend> Mlp<B> {
    /// The same network with weights that lie by columns, as products on tensor cores read them: for forward passes of
    /// a network that is not trained on. What trains it lays them by rows again.
    pub fn laid_by_columns(mut self) -> Self {
        for layer in &mut self.layers {
            let weights = layer.weights.clone();
            layer.weights = weights.map(|weights| {
                let [k, m] = weights.dims();
                // As one row first: rows of their own might be padded.
                weights.transpose().reshape([m * k]).reshape([m, k]).transpose()
            });
        }
        self
    }
}

impl<B: PerceptronOps> Mlp<B> {
    /// Results `[n, outputs]` of instances `[n, inputs]`: logits for a classifier, unless the outputs are squashed.
    ///
    /// # Panics
    /// If instances have another number of inputs, or there are none.
    pub fn forward(&self, instances: Tensor<B, 2>) -> Tensor<B, 2> {
        let last = self.layers.len().saturating_sub(1);
        self.layers.iter().enumerate().fold(instances, |x, (at, layer)| match self.activation {
            _ if at == last => layer.outputs(x, self.squash_outputs.then_some(self.sigmoid)),
            Activation::Sigmoid => layer.outputs(x, Some(self.sigmoid)),
            Activation::Relu => activation::relu(layer.forward(x)),
            Activation::Tanh => activation::tanh(layer.forward(x)),
            Activation::Gelu => activation::gelu(layer.forward(x)),
        })
    }
}

#[cfg(test)]
mod tests {
    use burn_ndarray::NdArray;
    use firebox_core::tensor::{floats, read_floats};

    use super::*;
    use crate::reference;

    type B = NdArray<f64>;

    /// Sigmoids at every layer, as in the paper, without a bias.
    #[test]
    fn a_network_is_its_layers() {
        let device = Default::default();
        let config = MlpConfig::new(3, vec![5, 4], 2).with_bias(false).with_squash_outputs(true).with_seed(7);
        let network = config.init::<B>(&device).unwrap();
        assert_eq!(config.parameters(), 15 + 20 + 8);
        let x: Vec<f64> = (0..6).map(f64::from).collect();
        let found = read_floats(network.forward(floats(x.clone(), [2, 3], &device)), "test").unwrap();
        let wanted = network.layers.iter().fold(x.clone(), |x, layer| {
            let [k, m] = layer.weights.dims();
            let weights = read_floats(layer.weights.val(), "test").unwrap();
            reference::layer(&x, &weights, None, config.sigmoid, [2, k, m])
        });
        assert!(found.iter().zip(&wanted).all(|(a, b)| (a - b).abs() < 1e-14));
        let laid = network.laid_by_columns().forward(floats(x, [2, 3], &device));
        let laid = read_floats(laid, "test").unwrap();
        assert!(laid.iter().zip(&wanted).all(|(a, b)| (a - b).abs() < 1e-14));
    }

    #[test]
    fn every_activation_runs() {
        let device = Default::default();
        for activation in [Activation::Sigmoid, Activation::Relu, Activation::Tanh, Activation::Gelu] {
            let network = MlpConfig::new(3, vec![5], 2).with_activation(activation).init::<B>(&device).unwrap();
            assert_eq!(network.forward(Tensor::ones([4, 3], &device)).dims(), [4, 2]);
        }
        let linear = MlpConfig::new(3, vec![], 2).init::<B>(&device).unwrap();
        assert_eq!(linear.forward(Tensor::ones([4, 3], &device)).dims(), [4, 2]);
        let field = |config: MlpConfig| match config.init::<B>(&device) {
            Err(Error::Config { field, .. }) => field,
            _ => "none",
        };
        assert_eq!(field(MlpConfig::new(3, vec![4, 0], 2)), "hidden");
        let flat = Sigmoid { slope: 0.0, ..Sigmoid::default() };
        assert_eq!(field(MlpConfig::new(3, vec![4], 2).with_sigmoid(flat)), "slope");
    }
}
