//! Network modules, training, prediction, and the models that combine them.

mod epochs;
mod estimator;
mod fitted;
mod layer;
mod mlp;
pub(crate) mod on_device;
#[cfg(feature = "plot")]
pub(crate) mod page;
mod predict;
mod task;
mod train;

pub use estimator::{MlpClassifier, MlpEstimator, MlpRegressor};
pub use fitted::{FittedMlp, FittedMlpClassifier, FittedMlpRegressor};
pub use layer::{Linear, SigmoidLayer};
pub use mlp::Mlp;
pub use predict::Score;
#[cfg(feature = "command")]
pub(crate) use predict::Scored;
#[cfg(feature = "command")]
pub(crate) use predict::column;
pub use task::{Classification, Regression, TaskKind};
pub use train::Training;
pub(crate) use train::{Given, train};
