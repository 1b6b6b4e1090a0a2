//! Configuration of training.

use burn::config::Config;
use firebox_core::data::Missing;
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

/// Scaling of the input columns, by the training rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "command", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum InputScale {
    /// As they are
    None,
    /// (x − mean)/standard deviation
    #[cfg_attr(feature = "command", value(alias = "columns"))]
    Standard,
    /// (x − median)/interquartile range
    Robust,
    /// (x − mean)/root mean square of the standard deviations of all columns
    Common,
}

/// Weights of the classes in the loss.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "command", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum ClassWeight {
    /// Every row has the weight 1.
    #[default]
    None,
    /// n/(K·n_c) for a row of class c, of which n_c of the n training rows are; K classes have rows.
    Balanced,
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
    #[config(default = "vec![128, 64]")]
    #[cfg_attr(feature = "command", arg(skip = defaults().hidden))]
    pub hidden: Vec<usize>,
    /// Activation function of the hidden layers; relu for classes and gelu for numbers unless given
    #[config(default = "None")]
    #[cfg_attr(feature = "command", arg(long, value_enum, value_name = "F"))]
    pub activation: Option<Activation>,
    /// The sigmoid
    #[config(default = "Sigmoid::default()")]
    #[cfg_attr(feature = "command", command(flatten))]
    pub sigmoid: Sigmoid,
    /// Adds a bias to every layer, which the paper does not have.
    #[config(default = true)]
    #[cfg_attr(feature = "command", arg(long = "no-bias", action = clap::ArgAction::SetFalse))]
    #[cfg_attr(feature = "command", arg(help = "Leave out the bias of every layer, as in the paper"))]
    pub bias: bool,
    /// Scale of the input columns; unless given, common if they share one, as pixels, counts and shares do, and standard
    /// otherwise
    #[config(default = "None")]
    #[cfg_attr(feature = "command", arg(long, alias = "input-scale", value_enum, value_name = "SCALE"))]
    pub standardise: Option<InputScale>,
    /// Missing numbers: nan, NA, N/A, null, none, ? or nothing; means and medians are those of the training rows, and
    /// replace the missing ones of new rows too
    #[config(default = "Missing::Refuse")]
    #[cfg_attr(feature = "command", arg(long, value_enum, default_value_t = defaults().missing))]
    pub missing: Missing,
    /// Weights of the classes in the loss: none, or balanced, by which rare classes count as much as frequent ones
    #[config(default = "ClassWeight::None")]
    #[cfg_attr(feature = "command", arg(long, value_enum, default_value_t = defaults().class_weight))]
    pub class_weight: ClassWeight,
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
    #[config(default = "0.01")]
    #[cfg_attr(feature = "command", arg(long, value_name = "R"))]
    #[cfg_attr(feature = "command", arg(default_value_t = defaults().learning_rate))]
    pub learning_rate: f64,
    /// Share of the last step that the next one goes on with (sgd), from 0 to below 1
    #[config(default = "0.9")]
    #[cfg_attr(feature = "command", arg(long, value_name = "M"))]
    #[cfg_attr(feature = "command", arg(default_value_t = defaults().momentum))]
    pub momentum: f64,
    /// λ: λ/2 times the sum of all squared weights is added to the loss, from 0; by the task unless given
    #[config(default = "None")]
    #[cfg_attr(feature = "command", arg(long, value_name = "L"))]
    pub weight_decay: Option<f64>,
    /// Rows of a step, from 1; by the number of rows unless given
    #[config(default = "None")]
    #[cfg_attr(feature = "command", arg(long, value_name = "N"))]
    pub batch: Option<usize>,
    /// Epochs over which the weights of the steps are averaged, from 0; with 0 the last weights alone count [default: 10; 5 if
    /// rows × weights exceed 4·10⁸]
    #[config(default = "None")]
    #[cfg_attr(feature = "command", arg(long, value_name = "E"))]
    pub averaging: Option<f64>,
    /// Maximum number of passes over the training part, from 1
    #[config(default = 300)]
    #[cfg_attr(feature = "command", arg(long, value_name = "E", default_value_t = defaults().epochs))]
    pub epochs: usize,
    /// Stop after this many seconds, at the end of an epoch, with the best network so far
    #[config(default = "None")]
    #[cfg_attr(feature = "command", arg(long, value_name = "S"))]
    pub time_limit: Option<f64>,
    /// Share of the rows that is kept for the test, from 0 to below 1
    #[config(default = "0.2")]
    #[cfg_attr(feature = "command", arg(long, value_name = "S"))]
    #[cfg_attr(feature = "command", arg(default_value_t = defaults().test))]
    pub test: f64,
    /// Share of the other rows that early stopping uses, from 0 to below 1; with 0 training never stops early
    #[config(default = "0.1")]
    #[cfg_attr(feature = "command", arg(long, value_name = "S"))]
    #[cfg_attr(feature = "command", arg(default_value_t = defaults().validation))]
    pub validation: f64,
    /// Passes without a lower loss on those rows after which training stops, from 1 [default: 10; 5 if rows × weights exceed
    /// 4·10⁸]
    #[config(default = "None")]
    #[cfg_attr(feature = "command", arg(long, value_name = "E"))]
    pub patience: Option<usize>,
}

/// Steps per epoch that the default batch aims at, and its smallest and largest number of rows.
const STEPS: usize = 40;
const MIN_BATCH: usize = 16;
const MAX_BATCH: usize = 256;
/// Default patience and averaging, in epochs.
const EPOCHS: usize = 10;
/// The same where an epoch is long.
const LONG_EPOCHS: usize = 5;
/// Products of an epoch, training rows times weights, beyond which it is long: some 0.1 s on two cores.
const LONG: u128 = 400_000_000;
/// Largest default of the weight decay.
const MAX_DECAY: f64 = 5e-3;

/// Help of the argument `task`, with the arguments that name the column.
#[cfg(feature = "command")]
const TASK: &str = "The task: classes, named by --label or --labels, or regression of the column that --label names, or the columns, such as a,b";

/// The defaults of the arguments.
#[cfg(feature = "command")]
fn defaults() -> TrainConfig {
    TrainConfig::new()
}

impl TrainConfig {
    /// Configuration of the network with these numbers of inputs and outputs.
    pub fn network(&self, inputs: usize, outputs: usize, seed: u64) -> MlpConfig {
        MlpConfig::new(inputs, self.hidden.clone(), outputs)
            .with_activation(self.activation_by_task())
            .with_sigmoid(self.sigmoid)
            .with_bias(self.bias)
            .with_matmul(self.matmul)
            .with_seed(seed)
    }

    /// The activation, or the default for the task: the GELU is smooth, as a regression's target often is.
    fn activation_by_task(&self) -> Activation {
        self.activation.unwrap_or(match self.task {
            Task::Classification => Activation::Relu,
            Task::Regression => Activation::Gelu,
        })
    }

    /// The configuration for `rows` training rows and a network of `parameters`, with a value for each option that depends on
    /// the data but [`standardise`](Self::standardise).
    pub(crate) fn resolved(&self, rows: usize, parameters: u128) -> Self {
        let strength = match self.task {
            Task::Classification => 15.0,
            Task::Regression => 1.0,
        };
        let decay = (strength / rows as f64).min(MAX_DECAY);
        let epochs = if rows as u128 * parameters > LONG { LONG_EPOCHS } else { EPOCHS };
        Self {
            activation: Some(self.activation_by_task()),
            batch: self.batch.or(Some((rows / STEPS).clamp(MIN_BATCH, MAX_BATCH))),
            weight_decay: self.weight_decay.or(Some(decay)),
            averaging: self.averaging.or(Some(epochs as f64)),
            patience: self.patience.or(Some(epochs)),
            ..self.clone()
        }
    }

    /// Rows of a step of a resolved configuration.
    pub(crate) fn batch_rows(&self) -> usize {
        self.batch.unwrap_or(MAX_BATCH)
    }

    /// Epochs of averaging of a resolved configuration.
    pub(crate) fn averaging_epochs(&self) -> f64 {
        self.averaging.unwrap_or(EPOCHS as f64)
    }

    /// Epochs of patience of a resolved configuration.
    pub(crate) fn patience_epochs(&self) -> usize {
        self.patience.unwrap_or(EPOCHS)
    }

    /// Checks every field.
    ///
    /// # Errors
    /// [`Error::Config`](firebox_core::Error::Config) with the name of the first field that is out of range; those of
    /// `sigmoid` are `location` and `slope`.
    pub fn validate(&self) -> firebox_core::Result<()> {
        self.network(1, 1, 0).validate()?;
        if self.task == Task::Regression && self.class_weight != ClassWeight::None {
            return invalid("class_weight", "balanced", "is for classes, which a regression does not have");
        }
        let positive = |it: f64| it > 0.0 && it.is_finite();
        if !positive(self.learning_rate) {
            return invalid("learning_rate", self.learning_rate, "must be a number above 0");
        }
        if let Some(limit) = self.time_limit.filter(|&limit| !positive(limit)) {
            return invalid("time_limit", limit, "must be a number of seconds above 0");
        }
        for (field, share) in [("momentum", self.momentum), ("test", self.test), ("validation", self.validation)] {
            if !(0.0..1.0).contains(&share) {
                return invalid(field, share, "must be a number from 0 to below 1");
            }
        }
        for (field, number) in
            [("weight_decay", self.weight_decay.unwrap_or(0.0)), ("averaging", self.averaging_epochs())]
        {
            if !(number == 0.0 || positive(number)) {
                return invalid(field, number, "must be a number from 0");
            }
        }
        let counts =
            [("batch", self.batch.unwrap_or(1)), ("epochs", self.epochs), ("patience", self.patience_epochs())];
        counts.into_iter().try_for_each(|(field, count)| check_count(field, count, 1 << 31))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_follow_from_the_rows_and_the_task() {
        let of = |config: &TrainConfig, rows: usize| {
            let config = config.resolved(rows, 10);
            (config.batch_rows(), config.weight_decay, config.activation)
        };
        let (classes, numbers) = (TrainConfig::new(), TrainConfig::new().with_task(Task::Regression));
        let (relu, gelu) = (Some(Activation::Relu), Some(Activation::Gelu));
        assert_eq!(of(&classes, 1), (16, Some(5e-3), relu));
        assert_eq!(of(&classes, 6000), (150, Some(2.5e-3), relu));
        assert_eq!(of(&classes, 100_000), (256, Some(1.5e-4), relu));
        assert_eq!(of(&numbers, 100), (16, Some(5e-3), gelu));
        assert_eq!(of(&numbers, 1000), (25, Some(1e-3), gelu));
        let given = numbers.with_batch(Some(7)).with_weight_decay(Some(0.0)).with_activation(Some(Activation::Sigmoid));
        assert_eq!(of(&given, 1000), (7, Some(0.0), Some(Activation::Sigmoid)));
        assert_eq!(given.resolved(1000, 10).resolved(10, 10), given.resolved(1000, 10));
        let epochs = |parameters: u128| {
            let config = classes.resolved(4000, parameters);
            (config.averaging_epochs(), config.patience_epochs())
        };
        assert_eq!((epochs(100_000), epochs(100_001)), ((10.0, 10), (5.0, 5)));
    }
}
