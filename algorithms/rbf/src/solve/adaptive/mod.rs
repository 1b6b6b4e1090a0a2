//! Adaptive collocation in one to five dimensions: centres, widths and weights from the problem alone.
//!
//! Centres are those of cells, which are bisected along one or more axes where held-out conditions are violated most; widths are a
//! common multiple of the cells' sides. Each condition is divided by the size of its operator at the local spacing, so
//! that all are in units of u and need no penalty, and means of residuals over blocks are further conditions. The network
//! grows until the estimate of its error is small enough or the work is spent.

mod blocks;
mod buckets;
mod cells;
mod engine;
mod first;
mod grow;
mod growth;
mod level;
mod newton;
mod operator;
mod posterior;
mod residual;
mod rows;
#[cfg(test)]
pub(crate) mod samples;
mod training;
mod weighting;

pub(crate) use cells::Point;
pub(crate) use engine::{Border, Engine, Host, LeastSquares, Triangular};
pub(crate) use growth::{Adapted, Adaptive, Measured, places};
pub use growth::{End, Level};
pub(crate) use level::conditions_per_neuron;
pub(crate) use operator::{Arrays, Functionals, Neurons};
pub use posterior::{Estimated, Fit, Found};
#[cfg(feature = "plot")]
pub(crate) use residual::residuals;
pub(crate) use residual::state;

#[cfg(test)]
mod inverse_tests;
#[cfg(test)]
mod system_tests;
#[cfg(test)]
mod tests;
