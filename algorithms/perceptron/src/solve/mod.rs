//! Instances, losses, metrics, the state of training, and the model that it results in.

mod fitted;
mod instances;
mod loss;
mod metrics;
mod missing;
mod network;
mod optimizer;
mod parameters;
mod parts;
mod ranges;
mod samples;
mod scaling;
mod state;

pub use fitted::{LayerNumbers, Model, OutputKind};
pub use instances::{Classes, Instances, Targets};
pub use metrics::{Confusion, r2, rmse};
pub use missing::Imputation;
pub use parts::Parts;
pub use scaling::Scaling;
pub use state::{Epoch, Stop};

pub(crate) use loss::losses;
pub(crate) use metrics::{argmax, cross_entropy, probabilities};
pub(crate) use network::{Layer, Network, activation_of};
pub(crate) use optimizer::{Iterate, step};
pub(crate) use parameters::concatenated;
pub(crate) use parts::local_rows;
pub(crate) use ranges::Ranges;
pub(crate) use samples::{LocalSamples, Samples, ints};
pub(crate) use state::State;
