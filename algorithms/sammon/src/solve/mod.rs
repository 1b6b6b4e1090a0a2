//! Numerics of a mapping: on the host in f64, and by operations on a backend.

pub(crate) mod block_sampling;
pub(crate) mod close;
pub(crate) mod connectivity;
pub(crate) mod descent;
pub(crate) mod exact_stress;
pub(crate) mod fitted;
pub(crate) mod initialization;
pub(crate) mod lbfgs;
pub(crate) mod memory_plan;
pub(crate) mod metric;
pub(crate) mod nondimensional;
pub(crate) mod objective;
pub(crate) mod out_of_sample;
pub(crate) mod pair_sample;
pub(crate) mod quality;
pub(crate) mod relaxation;
pub(crate) mod state;
pub(crate) mod subsample;
pub(crate) mod vector;
