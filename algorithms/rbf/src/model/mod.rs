//! The training of a network, from a problem to a solution.

pub(crate) mod adaptive;
#[cfg(feature = "plot")]
pub(crate) mod convergence;
mod cycle;
mod device_matrix;
mod diagnostics;
mod distributed_objective;
mod engine;
pub(crate) mod growing;
pub mod layer;
mod memory;
#[cfg(feature = "plot")]
mod page;
pub(crate) mod solution;
pub(crate) mod solver;
mod time_limit;
mod training;

#[cfg(test)]
#[cfg(feature = "plot")]
mod page_tests;
#[cfg(test)]
mod stopping_tests;
#[cfg(test)]
mod tests;
