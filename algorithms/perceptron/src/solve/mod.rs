//! Data, losses, metrics and the state of training.

pub mod data;
pub(crate) mod dataset;
pub(crate) mod fitted;
pub(crate) mod logits;
pub(crate) mod loss;
pub mod metrics;
pub(crate) mod optimizer;
pub(crate) mod state;
