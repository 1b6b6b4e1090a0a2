//! How a network is trained: parameters, defaults, ranges.

use burn::config::Config;
use firebox_core::Error;
use serde::{Deserialize, Serialize};

use crate::{
    mlp::{Activation, MlpConfig},
    ops::{Matmul, Sigmoid},
};

/// What a network is to learn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Task {
    /// Which class an instance is of, by cross-entropy.
    #[default]
    Classification,
    /// A number, by mean squared error.
    Regression,
}

/// How weights follow gradients.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Optimizer {
    /// Adam (Kingma and Ba 2015).
    #[default]
    Adam,
    /// Stochastic gradient descent, with --momentum.
    Sgd,
}

/// Configuration of a training.
#[derive(Config, Debug, PartialEq)]
pub struct TrainConfig {
    /// What is learnt.
    #[config(default = "Task::Classification")]
    pub task: Task,
    /// Neurons of each hidden layer, from 1.
    #[config(default = "vec![128]")]
    pub hidden: Vec<usize>,
    /// What follows hidden layers.
    #[config(default = "Activation::Sigmoid")]
    pub activation: Activation,
    /// The sigmoid.
    #[config(default = "Sigmoid::default()")]
    pub sigmoid: Sigmoid,
    /// Whether layers have a bias.
    #[config(default = true)]
    pub bias: bool,
    /// How a GPU multiplies.
    #[config(default = "Matmul::Auto")]
    pub matmul: Matmul,
    /// Whether f32 may be rounded to TF32.
    #[config(default = false)]
    pub allow_tf32: bool,
    /// How weights follow gradients.
    #[config(default = "Optimizer::Adam")]
    pub optimizer: Optimizer,
    /// Length of a step, above 0.
    #[config(default = "0.005")]
    pub learning_rate: f64,
    /// Share of the last step that the next one goes on with (SGD), from 0 to below 1.
    #[config(default = "0.9")]
    pub momentum: f64,
    /// λ: λ/2·|B|² is added to the loss, from 0.
    #[config(default = "1e-4")]
    pub weight_decay: f64,
    /// Instances of a step, from 1.
    #[config(default = 64)]
    pub batch: usize,
    /// The most passes over the training part, from 1.
    #[config(default = 100)]
    pub epochs: usize,
    /// Share of the rows that is kept for the test, from 0 to below 1.
    #[config(default = "0.2")]
    pub test: f64,
    /// Share of the other rows that early stopping looks at, from 0 to below 1; at 0 there is none.
    #[config(default = "0.1")]
    pub validation: f64,
    /// Passes without a better loss there after which training stops, from 1.
    #[config(default = 15)]
    pub patience: usize,
}

impl TrainConfig {
    /// The network for so many columns and outputs.
    pub fn network(&self, inputs: usize, outputs: usize, seed: u64) -> MlpConfig {
        MlpConfig::new(inputs, self.hidden.clone(), outputs)
            .with_activation(self.activation)
            .with_sigmoid(self.sigmoid)
            .with_bias(self.bias)
            .with_matmul(self.matmul)
            .with_seed(seed)
    }

    /// Fails if a field is out of its range, which it names.
    pub fn validate(&self) -> firebox_core::Result<()> {
        self.network(1, 1, 0).validate()?;
        let wrong = |field, value: String, reason: &str| Err(Error::Config { field, value, reason: reason.into() });
        let positive = |it: f64| it > 0.0 && it.is_finite();
        if !positive(self.learning_rate) {
            return wrong("learning_rate", self.learning_rate.to_string(), "must be a number above 0");
        }
        let shares = [("momentum", self.momentum), ("test", self.test), ("validation", self.validation)];
        for (field, share) in shares {
            if !(0.0..1.0).contains(&share) {
                return wrong(field, share.to_string(), "must be a number from 0 to below 1");
            }
        }
        if !(self.weight_decay == 0.0 || positive(self.weight_decay)) {
            return wrong("weight_decay", self.weight_decay.to_string(), "must be a number from 0");
        }
        let counts = [("batch", self.batch), ("epochs", self.epochs), ("patience", self.patience)];
        for (field, count) in counts {
            if !(1..=1 << 31).contains(&count) {
                return wrong(field, count.to_string(), &format!("must lie between 1 and {}", 1u64 << 31));
            }
        }
        Ok(())
    }
}
