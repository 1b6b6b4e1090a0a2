//! File formats of models and of training states.

pub(crate) mod checkpoint;
mod serialization;
