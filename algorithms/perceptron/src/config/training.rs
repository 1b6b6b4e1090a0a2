//! Configuration of training.

use burn::config::Config;
use serde::{Deserialize, Serialize};

use super::{check_count, invalid, network::MlpConfig};
use crate::types::{Activation, Matmul, Sigmoid};

/// Learning task of a network.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "command", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum Task {
    /// Which class an instance is of, by cross-entropy.
    #[default]
    Classification,
    /// A number, by mean squared error.
    Regression,
}

/// Method of the gradient steps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "command", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum Optimizer {
    /// Adam (Kingma and Ba 2015).
    #[default]
    Adam,
    /// Stochastic gradient descent, with momentum.
    Sgd,
}

/// Configuration of a training.
#[derive(Config, Debug, PartialEq)]
#[cfg_attr(feature = "command", derive(clap::Args))]
pub struct TrainConfig {
    /// The task: classification, or regression of a column.
    #[config(default = "Task::Classification")]
    #[cfg_attr(feature = "command", arg(long, value_enum, default_value_t = defaults().task, help = TASK))]
    pub task: Task,
    /// Neurons of each hidden layer, from 1; none for a linear model
    #[config(default = "vec![128]")]
    #[cfg_attr(feature = "command", arg(skip = defaults().hidden))]
    pub hidden: Vec<usize>,
    /// Activation function of the hidden layers
    #[config(default = "Activation::Sigmoid")]
    #[cfg_attr(feature = "command", arg(long, value_enum, default_value_t = defaults().activation))]
    pub activation: Activation,
    /// The sigmoid
    #[config(default = "Sigmoid::default()")]
    #[cfg_attr(feature = "command", command(flatten))]
    pub sigmoid: Sigmoid,
    /// Adds a bias to every layer, which the paper does not have.
    #[config(default = true)]
    #[cfg_attr(feature = "command", arg(long = "no-bias", action = clap::ArgAction::SetFalse))]
    #[cfg_attr(feature = "command", arg(help = "Leave out the bias of every layer, as in the paper"))]
    pub bias: bool,
    /// Matrix product kernel on a GPU.
    #[config(default = "Matmul::Auto")]
    #[cfg_attr(feature = "command", arg(skip = defaults().matmul))]
    pub matmul: Matmul,
    /// Allows products to truncate f32 to TF32 (11 bits) on tensor cores.
    #[config(default = false)]
    #[cfg_attr(feature = "command", arg(skip = defaults().allow_tf32))]
    pub allow_tf32: bool,
    /// Method of the steps
    #[config(default = "Optimizer::Adam")]
    #[cfg_attr(feature = "command", arg(long, value_enum, default_value_t = defaults().optimizer))]
    pub optimizer: Optimizer,
    /// Length of a step, above 0
    #[config(default = "0.005")]
    #[cfg_attr(feature = "command", arg(long, value_name = "R", allow_negative_numbers = true))]
    #[cfg_attr(feature = "command", arg(default_value_t = defaults().learning_rate))]
    pub learning_rate: f64,
    /// Share of the last step that the next one goes on with (sgd), from 0 to below 1
    #[config(default = "0.9")]
    #[cfg_attr(feature = "command", arg(long, value_name = "M", allow_negative_numbers = true))]
    #[cfg_attr(feature = "command", arg(default_value_t = defaults().momentum))]
    pub momentum: f64,
    /// λ: λ/2 times the sum of all squared weights is added to the loss, from 0
    #[config(default = "1e-4")]
    #[cfg_attr(feature = "command", arg(long, value_name = "L", allow_negative_numbers = true))]
    #[cfg_attr(feature = "command", arg(default_value_t = defaults().weight_decay))]
    pub weight_decay: f64,
    /// Rows of a step, from 1
    #[config(default = 64)]
    #[cfg_attr(feature = "command", arg(long, value_name = "N", default_value_t = defaults().batch))]
    pub batch: usize,
    /// Maximum number of passes over the training part, from 1
    #[config(default = 100)]
    #[cfg_attr(feature = "command", arg(long, value_name = "E", default_value_t = defaults().epochs))]
    pub epochs: usize,
    /// Share of the rows that is kept for the test, from 0 to below 1
    #[config(default = "0.2")]
    #[cfg_attr(feature = "command", arg(long, value_name = "S", allow_negative_numbers = true))]
    #[cfg_attr(feature = "command", arg(default_value_t = defaults().test))]
    pub test: f64,
    /// Share of the other rows that early stopping uses, from 0 to below 1; with 0 training never stops early
    #[config(default = "0.1")]
    #[cfg_attr(feature = "command", arg(long, value_name = "S", allow_negative_numbers = true))]
    #[cfg_attr(feature = "command", arg(default_value_t = defaults().validation))]
    pub validation: f64,
    /// Passes without a lower loss on those rows after which training stops, from 1
    #[config(default = 15)]
    #[cfg_attr(feature = "command", arg(long, value_name = "E", default_value_t = defaults().patience))]
    pub patience: usize,
}

/// Help of the argument `task`, with the arguments that name the column.
#[cfg(feature = "command")]
const TASK: &str = "The task: classes, named by --label or --labels, or regression of the column that --label names";

/// The defaults of the arguments.
#[cfg(feature = "command")]
fn defaults() -> TrainConfig {
    TrainConfig::new()
}

impl TrainConfig {
    /// Configuration of the network with these numbers of inputs and outputs.
    pub fn network(&self, inputs: usize, outputs: usize, seed: u64) -> MlpConfig {
        MlpConfig::new(inputs, self.hidden.clone(), outputs)
            .with_activation(self.activation)
            .with_sigmoid(self.sigmoid)
            .with_bias(self.bias)
            .with_matmul(self.matmul)
            .with_seed(seed)
    }

    /// Checks every field.
    ///
    /// # Errors
    /// [`Error::Config`](firebox_core::Error::Config) with the name of the first field that is out of range; those of
    /// `sigmoid` are `location` and `slope`.
    pub fn validate(&self) -> firebox_core::Result<()> {
        self.network(1, 1, 0).validate()?;
        let positive = |it: f64| it > 0.0 && it.is_finite();
        if !positive(self.learning_rate) {
            return invalid("learning_rate", self.learning_rate, "must be a number above 0");
        }
        for (field, share) in [("momentum", self.momentum), ("test", self.test), ("validation", self.validation)] {
            if !(0.0..1.0).contains(&share) {
                return invalid(field, share, "must be a number from 0 to below 1");
            }
        }
        if !(self.weight_decay == 0.0 || positive(self.weight_decay)) {
            return invalid("weight_decay", self.weight_decay, "must be a number from 0");
        }
        let counts = [("batch", self.batch), ("epochs", self.epochs), ("patience", self.patience)];
        counts.into_iter().try_for_each(|(field, count)| check_count(field, count, 1 << 31))
    }
}
