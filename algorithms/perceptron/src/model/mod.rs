//! Network modules, training, prediction, and the models that combine them.

mod epochs;
mod estimator;
mod layer;
mod mlp;
mod predict;
mod train;

pub use estimator::{
    Classification, FittedMlp, FittedMlpClassifier, FittedMlpRegressor, MlpClassifier, MlpEstimator, MlpRegressor,
    Regression, TaskKind,
};
pub use layer::{Linear, SigmoidLayer};
pub use mlp::Mlp;
pub use predict::Score;
#[cfg(feature = "command")]
pub(crate) use predict::column;
pub use train::Training;
pub(crate) use train::train;
