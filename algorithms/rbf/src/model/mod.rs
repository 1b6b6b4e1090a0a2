//! The training of a network, from a problem to a solution.

mod cycle;
mod device_matrix;
mod diagnostics;
mod distributed_objective;
pub mod layer;
mod memory;
mod run;
mod time_limit;
pub(crate) mod trainer;
mod training;

#[cfg(test)]
mod stopping_tests;
#[cfg(test)]
mod tests;
