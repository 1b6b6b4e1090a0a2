//! The numerics: collocation, least squares, and the minimisation of centres and widths.

pub(crate) mod accuracy;
pub(crate) mod adaptive;
pub(crate) mod collocation;
pub(crate) mod control_points;
pub(crate) mod decompositions;
mod gaussian;
mod householder;
pub(crate) mod levenberg_marquardt;
pub(crate) mod lsqr;
pub(crate) mod network;
pub(crate) mod nondimensional;
pub(crate) mod piecewise;
pub(crate) mod preconditioner;
pub(crate) mod qr;
pub(crate) mod state;
pub(crate) mod triangular;
pub(crate) mod trust_region;
pub(crate) mod width_search;
