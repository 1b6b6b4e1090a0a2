//! Multilayer perceptron as a Burn module.

use burn::{
    module::Module,
    tensor::{Tensor, backend::Backend},
};
use firebox_core::{Result, random::Random};

use super::layer::{Linear, glorot, uniform};
use crate::config::MlpConfig;
use crate::ops::PerceptronOps;
use crate::solve::{LayerNumbers, activation_of};
use crate::types::{Activation, Sigmoid};

/// Stream of [`Random`] that draws the weights of a network.
const STREAM: u64 = 0x6d6c;

impl MlpConfig {
    /// Initialises a network with uniform weights: in ±√(6/k) before a ReLU or GELU (He et al. 2015), in ±√(3/k) before a
    /// tanh (LeCun et al. 1998), else in ±√(6/(k + m)) (Glorot and Bengio 2010), doubled before a sigmoid, which is half as
    /// steep. Biases are uniform in ±1/√k before a ReLU, GELU or tanh, whose kinks and bends they spread over the inputs,
    /// else 0.
    ///
    /// # Errors
    /// As [`validate`](Self::validate).
    pub fn init<B: Backend>(&self, device: &B::Device) -> Result<Mlp<B>> {
        let widths = self.widths();
        let layers = widths.windows(2).zip(self.initial_layers()?);
        let layers =
            layers.map(|(pair, values)| Linear::new(values, [pair[0], pair[1]], self.matmul, device)).collect();
        let (activation, sigmoid, squash_outputs) = (self.activation, self.sigmoid, self.squash_outputs);
        Ok(Mlp { layers, activation, sigmoid, squash_outputs })
    }

    /// Initial weights and biases of [`init`](Self::init).
    pub(crate) fn initial_layers(&self) -> Result<Vec<LayerNumbers>> {
        self.validate()?;
        let mut random = Random::new(self.seed, STREAM);
        let widths = self.widths();
        let layers = widths.windows(2).enumerate().map(|(at, pair)| {
            let size = [pair[0], pair[1]];
            let inputs = size[0] as f64;
            let (bound, bias) = match self.activation {
                _ if at == self.hidden.len() => (glorot(size), 0.0),
                Activation::Sigmoid => (2.0 * glorot(size), 0.0),
                Activation::Tanh => ((3.0 / inputs).sqrt(), inputs.sqrt().recip()),
                Activation::Relu | Activation::Gelu => ((6.0 / inputs).sqrt(), inputs.sqrt().recip()),
            };
            uniform(size, bound, self.bias.then_some(bias), &mut random)
        });
        Ok(layers.collect())
    }
}

/// Multilayer perceptron: the outputs of each layer are the inputs of the next.
#[derive(Module, Debug)]
pub struct Mlp<B: Backend> {
    /// The layers in order.
    pub layers: Vec<Linear<B>>,
    /// Activation of hidden layers, which is not trained.
    #[module(skip)]
    pub activation: Activation,
    /// The sigmoid of layers that have one.
    #[module(skip)]
    pub sigmoid: Sigmoid,
    /// Applies the sigmoid to the last layer too.
    #[module(skip)]
    pub squash_outputs: bool,
}

impl<B: Backend> Mlp<B> {
    /// Stores weights in column-major layout, in which products on tensor cores read them, for prediction. Training steps
    /// restore row-major layout.
    pub fn into_column_major(mut self) -> Self {
        for layer in &mut self.layers {
            let weights = layer.weights.clone();
            layer.weights = weights.map(|weights| {
                let [k, m] = weights.dims();
                // Through one axis, since the device might pad rows.
                weights.transpose().reshape([m * k]).reshape([m, k]).transpose()
            });
        }
        self
    }
}

impl<B: PerceptronOps> Mlp<B> {
    /// Outputs `[n, outputs]` of instances `[n, inputs]`: logits for a classifier, unless `squash_outputs` is set.
    ///
    /// # Panics
    /// If the instances have another number of inputs, or n = 0.
    pub fn forward(&self, instances: Tensor<B, 2>) -> Tensor<B, 2> {
        self.layers.iter().enumerate().fold(instances, |x, (at, layer)| {
            let activation = activation_of(at, self.layers.len(), self.activation, self.squash_outputs);
            layer.forward_with(x, activation, self.sigmoid)
        })
    }
}

#[cfg(test)]
mod tests {
    use burn_ndarray::NdArray;
    use firebox_core::{
        Error,
        tensor::{floats, read_floats},
    };

    use super::*;
    use crate::parity::reference;

    type B = NdArray<f64>;

    /// The network of the paper: a sigmoid after every layer, no bias.
    #[test]
    fn network_composes_its_layers() {
        let device = Default::default();
        let config = MlpConfig::new(3, vec![5, 4], 2)
            .with_activation(Activation::Sigmoid)
            .with_bias(false)
            .with_squash_outputs(true)
            .with_seed(7);
        let network = config.init::<B>(&device).unwrap();
        assert_eq!(config.parameters(), 15 + 20 + 8);
        let x: Vec<f64> = (0..6).map(f64::from).collect();
        let actual = read_floats(network.forward(floats(x.clone(), [2, 3], &device)), "test").unwrap();
        let expected = network.layers.iter().fold(x.clone(), |x, layer| {
            let [k, m] = layer.weights.dims();
            let weights = read_floats(layer.weights.val(), "test").unwrap();
            reference::layer(&x, &weights, None, config.sigmoid, [2, k, m])
        });
        assert!(actual.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-14));
        let column_major = network.into_column_major().forward(floats(x, [2, 3], &device));
        let column_major = read_floats(column_major, "test").unwrap();
        assert!(column_major.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-14));
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
