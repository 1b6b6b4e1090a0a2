//! The arguments of `firebox perceptron train|predict|eval`.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};
use firebox_core::data::InputArgs;

use crate::{
    config::{Optimizer, Task, TrainConfig},
    mlp::Activation,
    ops::{Matmul, Sigmoid, Sign},
};

#[derive(Debug, Args)]
pub(crate) struct TrainArgs {
    #[command(flatten)]
    pub input: InputArgs,
    /// What is learnt: classes, named by --label or --labels, or the numbers of the column that --label names
    #[arg(long, value_enum, default_value_t)]
    pub task: Task,
    /// Write the trained network, with its columns, scaling and classes (.safetensors)
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub model: Option<PathBuf>,
    /// Neurons of each hidden layer, such as 128 or 256,64; none for a linear model
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_value = "128")]
    pub hidden: Vec<String>,
    /// What follows the product in hidden layers
    #[arg(long, value_enum, default_value_t)]
    pub activation: Activation,
    #[command(flatten)]
    pub shape: SigmoidArgs,
    /// Leave out the bias of every layer, as in the paper
    #[arg(long)]
    pub no_bias: bool,
    #[command(flatten)]
    pub product: ProductArgs,
    /// How weights follow gradients
    #[arg(long, value_enum, default_value_t)]
    pub optimizer: Optimizer,
    /// Length of a step, above 0
    #[arg(long, value_name = "R", default_value_t = 0.005, allow_negative_numbers = true)]
    pub learning_rate: f64,
    /// Share of the last step that the next one goes on with (sgd), from 0 to below 1
    #[arg(long, value_name = "M", default_value_t = 0.9, allow_negative_numbers = true)]
    pub momentum: f64,
    /// λ: λ/2 times the sum of all squared weights is added to the loss, from 0
    #[arg(long, value_name = "L", default_value_t = 1e-4, allow_negative_numbers = true)]
    pub weight_decay: f64,
    /// Rows of a step
    #[arg(long, value_name = "N", default_value_t = 64)]
    pub batch: usize,
    /// The most passes over the training part
    #[arg(long, value_name = "E", default_value_t = 100)]
    pub epochs: usize,
    /// Share of the rows that is kept for the test, from 0 to below 1
    #[arg(long, value_name = "S", default_value_t = 0.2, allow_negative_numbers = true)]
    pub test: f64,
    /// Share of the other rows that early stopping looks at, from 0 to below 1
    #[arg(long, value_name = "S", default_value_t = 0.1, allow_negative_numbers = true)]
    pub validation: f64,
    /// Passes without a better loss there after which training stops
    #[arg(long, value_name = "E", default_value_t = 15)]
    pub patience: usize,
    /// Write the training's state every so often, when it is stopped, and at its end
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub checkpoint: Option<PathBuf>,
    /// Seconds between two of these
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0)]
    pub checkpoint_every: f64,
    /// Go on from a state that --checkpoint wrote; only --epochs and --patience may differ
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub resume: Option<PathBuf>,
    /// Draw how the test part was predicted: classes by count, or numbers against true ones (.svg, .png)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub confusion: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct SigmoidArgs {
    /// Which way the sigmoid runs: rising, or literal, the paper's sign, which falls
    #[arg(long = "sigmoid", value_enum, default_value_t)]
    pub sign: Sign,
    /// Where the sigmoid is a half
    #[arg(long, value_name = "X", default_value_t = 0.0, allow_negative_numbers = true)]
    pub location: f64,
    /// How steep the sigmoid is
    #[arg(long, value_name = "S", default_value_t = 1.0, allow_negative_numbers = true)]
    pub slope: f64,
}

impl SigmoidArgs {
    pub(crate) fn sigmoid(&self) -> Sigmoid {
        Sigmoid { location: self.location, slope: self.slope, sign: self.sign }
    }
}

#[derive(Debug, Args)]
pub(crate) struct ProductArgs {
    /// How a GPU multiplies matrices
    #[arg(long, value_enum, default_value_t)]
    pub matmul: Matmul,
    /// Let products cut f32 off to TF32, 11 bits, on tensor cores
    #[arg(long)]
    pub allow_tf32: bool,
}

impl TrainArgs {
    /// Fails with the field's name if the hidden layers are no counts.
    pub(crate) fn config(&self) -> firebox_core::Result<TrainConfig> {
        let hidden = self.hidden.iter().filter(|text| !matches!(text.trim(), "" | "none"));
        let counts = hidden.map(|text| {
            text.trim().parse::<usize>().map_err(|_| firebox_core::Error::Config {
                field: "hidden",
                value: text.clone(),
                reason: "must be whole numbers with commas between, or none".into(),
            })
        });
        Ok(TrainConfig::new()
            .with_task(self.task)
            .with_hidden(counts.collect::<firebox_core::Result<_>>()?)
            .with_activation(self.activation)
            .with_sigmoid(self.shape.sigmoid())
            .with_bias(!self.no_bias)
            .with_matmul(self.product.matmul)
            .with_allow_tf32(self.product.allow_tf32)
            .with_optimizer(self.optimizer)
            .with_learning_rate(self.learning_rate)
            .with_momentum(self.momentum)
            .with_weight_decay(self.weight_decay)
            .with_batch(self.batch)
            .with_epochs(self.epochs)
            .with_test(self.test)
            .with_validation(self.validation)
            .with_patience(self.patience))
    }
}

/// What predictions are given as.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Give {
    /// The likeliest class, or the number
    #[default]
    Labels,
    /// The label, then the probability of each class
    Probabilities,
    /// The label, then the network's results themselves
    Raw,
}

#[derive(Debug, Args)]
pub(crate) struct PredictArgs {
    #[command(flatten)]
    pub input: InputArgs,
    /// The network, a file that train wrote
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub model: PathBuf,
    /// What is given
    #[arg(long, value_enum, default_value_t)]
    pub give: Give,
    #[command(flatten)]
    pub product: ProductArgs,
}

#[derive(Debug, Args)]
pub(crate) struct EvalArgs {
    #[command(flatten)]
    pub input: InputArgs,
    /// The network, a file that train wrote
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub model: PathBuf,
    #[command(flatten)]
    pub product: ProductArgs,
}
