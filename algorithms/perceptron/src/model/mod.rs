//! Network modules, training and prediction.

mod all_reduce;
mod epochs;
pub(crate) mod layer;
pub(crate) mod mlp;
pub(crate) mod predict;
pub(crate) mod score;
mod snapshot;
pub(crate) mod train;
