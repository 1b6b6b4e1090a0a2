#![doc = include_str!("../README.md")]

#[cfg(feature = "command")]
pub mod command;
pub mod config;
mod io;
mod model;
pub mod ops;
#[cfg(any(test, feature = "parity"))]
pub mod parity;
mod problem;
mod solve;
#[cfg(test)]
mod tests;
pub mod types;

#[cfg(feature = "command")]
pub use command::RbfPlugin;
pub use config::{AdaptiveConfig, RbfConfig};
pub use firebox_core::checkpoint::Checkpoints;
pub use io::{checkpoint::check_state, serialization::NetworkFormat};
pub use model::{
    adaptive::{AdaptiveSolution, AdaptiveSolver},
    growing::Slab,
    layer::{self, RbfLayer, RbfLayerConfig},
    solution::{RbfSolution, Solution},
    solver::RbfSolver,
};
pub use ops::RbfOps;
pub use problem::{
    condition::{BoundaryRule, Condition},
    definition::Problem,
    domain::Domain,
    equation::{Argument, Derivative, Equation},
    expression::Expression,
    function::{BatchFunction, Function},
    non_linear::NonLinear,
    predicate::Predicate,
    region::Region,
    tabulated::Tabulated,
    time::TimeSlabs,
    unknown::{Measurements, Role, Unknown},
};
pub use solve::{
    accuracy::Accuracy,
    adaptive::{End, Estimated, Fit, Found, Level},
    network::RbfNetwork,
    piecewise::PiecewiseNetwork,
    state::Stop,
};
pub use types::{Redraw, Sampling, ShapeSolver, Weights, Width};
