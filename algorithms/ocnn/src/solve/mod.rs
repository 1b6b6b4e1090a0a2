//! The numerics: neurons and their scale, the dynamics, synchronisation and components.

pub(crate) mod auto;
pub(crate) mod batching;
pub(crate) mod components;
pub(crate) mod execution_plan;
pub(crate) mod morton;
pub mod neighbours;
pub(crate) mod neurons;
pub mod scale;
pub(crate) mod simulation;
pub(crate) mod sync_accumulator;
