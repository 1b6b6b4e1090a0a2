//! The default bodies of [`OcnnOps`] in tensor operations, for any Burn backend.
//!
//! Intermediate N × N matrices are computed by blocks of rows. Bits are unpacked for comparison, which takes 4·N·T
//! bytes that memory plans do not count: these bodies are for backends whose limits are unknown.
//!
//! [`OcnnOps`]: crate::OcnnOps

mod blocks;
pub(crate) mod graph;
pub(crate) mod network;
pub(crate) mod sync;
