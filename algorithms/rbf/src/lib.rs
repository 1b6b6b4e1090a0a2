#![doc = include_str!("../README.md")]

pub mod command;
pub mod config;
mod io;
mod model;
pub mod ops;
pub mod parity;
mod problem;
mod solve;
#[cfg(test)]
mod tests;
pub mod types;

pub use command::RbfPlugin;
pub use config::RbfConfig;
pub use firebox_core::checkpoint::Checkpoints;
pub use io::{checkpoint::check_state, serialization::NetworkFormat};
pub use model::{
    layer::{self, RbfLayer, RbfLayerConfig},
    trainer::{Trained, Trainer},
};
pub use ops::RbfOps;
pub use problem::{
    boundary::{Boundary, BoundaryPoints, Piece},
    definition::{BoundaryRule, Condition, Equation, Problem},
    domain::Domain,
    expression::Expression,
    function::Function,
    grid::Grid,
    predicate::Predicate,
};
pub use solve::{
    accuracy::{Accuracy, accuracy},
    collocation::{Weighted, residual},
    levenberg_marquardt::{Lm, Moved},
    lsqr::{Lsqr, Operator, lsqr},
    network::RbfNetwork,
    preconditioner::Preconditioner,
    qr::{Fit, fit},
    state::Stop,
    width_search::{Tried, WidthSearch, search_width},
};
pub use types::{Coefficient, Conditions, Redraw, Sampling, ShapeSolver, System, Weights, Width};
