//! The numerics: neurons and their scale, the dynamics, synchronisation and components.

pub(crate) mod auto;
pub(crate) mod batching;
pub(crate) mod components;
pub(crate) mod execution_plan;
pub(crate) mod morton;
pub(crate) mod neighbours;
pub(crate) mod neurons;
pub(crate) mod scale;
pub(crate) mod simulation;
pub(crate) mod sync_accumulator;
