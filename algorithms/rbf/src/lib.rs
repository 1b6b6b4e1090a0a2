#![doc = include_str!("../README.md")]

mod accuracy;
mod args;
mod assemble;
mod autodiff;
mod bench;
pub mod cases;
mod checkpoint;
mod choice;
mod conditions;
pub mod config;
mod control;
mod cpu;
mod cycle;
mod device;
mod field;
mod frame;
mod fusion;
mod gauss;
mod goal;
mod householder;
mod kernel;
pub mod layer;
mod limit;
mod lm;
mod lsqr;
mod ndarray;
mod network;
pub mod ops;
mod paper;
mod pictures;
mod plan;
pub mod plugin;
mod problem;
mod qr;
pub mod reference;
mod run;
#[cfg(test)]
mod samples;
mod saved;
mod serial;
mod state;
#[cfg(test)]
mod stopping;
pub mod strategy;
mod subset;
mod tensor_ops;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod threads;
mod train;
mod triangular;
mod trust;
mod verdict;
mod vtk;
mod width;

pub use accuracy::{Accuracy, accuracy};
pub use assemble::{Weighted, residual};
pub use checkpoint::check_state;
pub use choice::{Redraw, ShapeSolver, Weights, Width};
pub use conditions::{Coefficient, Conditions, System};
pub use config::RbfConfig;
pub use firebox_core::checkpoint::Checkpoints;
pub use layer::{RbfLayer, RbfLayerConfig};
pub use lm::{Lm, Moved};
pub use lsqr::{Lsqr, Operator, Preconditioner, lsqr};
pub use network::RbfNetwork;
pub use ops::RbfOps;
pub use plugin::RbfPlugin;
pub use problem::{
    Boundary, BoundaryPoints, BoundaryRule, Condition, Domain, Equation, Expression, Function, Grid, Piece, Predicate,
    Problem, Sampling,
};
pub use qr::{Fit, fit};
pub use saved::NetworkFormat;
pub use state::Stop;
pub use train::{Trained, Trainer};
pub use width::{Tried, WidthSearch, search_width};
