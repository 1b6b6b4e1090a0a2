//! The arguments of `firebox perceptron train|predict|eval`: those of [`TrainConfig`], and files.

use clap::{Args, ValueEnum, ValueHint};
use firebox_core::{
    Result,
    command::{self, CheckpointArgs, DocumentOut, InputArgs, InputFile, PageArgs, PlotOut},
};

use crate::config::{TrainConfig, invalid};
use crate::types::Matmul;

/// The default of `hidden` in the form of the argument.
pub(super) const HIDDEN: &str = "128,64";

#[derive(Debug, Args)]
pub(super) struct TrainArgs {
    #[command(flatten)]
    pub(super) input: InputArgs,
    /// Write the trained network, with its columns, scaling and classes (.safetensors)
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(super) model: Option<DocumentOut>,
    /// Neurons of each hidden layer, such as 128 or 256,64; none for a linear model
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_value = HIDDEN)]
    hidden: Vec<String>,
    #[command(flatten)]
    config: TrainConfig,
    #[command(flatten)]
    product: ProductArgs,
    #[command(flatten)]
    pub(super) states: CheckpointArgs,
    /// Draw how the test part was predicted: classes by count, or numbers against true ones (.svg, .png)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(super) confusion: Option<PlotOut>,
    #[command(flatten)]
    pub(super) page: PageArgs,
}

impl TrainArgs {
    /// The configuration of the training.
    ///
    /// # Errors
    ///
    /// [`Error::Config`](firebox_core::Error::Config) if a hidden layer is not a count.
    pub(super) fn config(&self) -> Result<TrainConfig> {
        let hidden = self.hidden.iter().filter(|text| !matches!(text.trim(), "" | "none"));
        let counts = hidden.map(|text| {
            let reason = "must be whole numbers with commas between, or none";
            text.trim().parse::<usize>().or_else(|_| invalid("hidden", text, reason))
        });
        let ProductArgs { matmul, allow_tf32 } = self.product;
        let config = self.config.clone().with_hidden(counts.collect::<Result<_>>()?);
        Ok(config.with_matmul(matmul).with_allow_tf32(allow_tf32))
    }
}

#[derive(Debug, Clone, Copy, Args)]
pub(super) struct ProductArgs {
    /// How a GPU multiplies matrices
    #[arg(long, value_enum, default_value_t = TrainConfig::new().matmul)]
    pub(super) matmul: Matmul,
    /// Let products cut f32 off to TF32, 11 bits, on tensor cores
    #[arg(long)]
    pub(super) allow_tf32: bool,
}

#[derive(Debug, Args)]
pub(super) struct ModelArgs {
    #[command(flatten)]
    pub(super) input: InputArgs,
    /// The network, a file that train wrote
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(super) model: InputFile,
    #[command(flatten)]
    pub(super) product: ProductArgs,
}

#[derive(Debug, Args)]
pub(super) struct EvalArgs {
    #[command(flatten)]
    pub(super) model_args: ModelArgs,
    #[command(flatten)]
    pub(super) page: PageArgs,
}

/// Form of the predictions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum Form {
    /// The argmax class, or the number
    #[default]
    Labels,
    /// The label, then the probability of each class
    Probabilities,
    /// The label, then the network's results themselves
    Raw,
}

#[derive(Debug, Args)]
pub(super) struct PredictArgs {
    #[command(flatten)]
    pub(super) model_args: ModelArgs,
    /// Form of the predictions
    #[arg(long, value_enum, default_value_t)]
    pub(super) give: Form,
}

impl From<&command::PredictArgs> for PredictArgs {
    fn from(args: &command::PredictArgs) -> Self {
        let product = ProductArgs { matmul: TrainConfig::new().matmul, allow_tf32: false };
        let model_args = ModelArgs { input: args.rows(), model: args.model.clone(), product };
        Self { model_args, give: Form::default() }
    }
}
