//! Networks, states and solutions in files.

pub(crate) mod checkpoint;
pub(crate) mod serialization;
#[cfg_attr(not(feature = "command"), allow(dead_code))] // The library uses only the points and their exact values.
pub(crate) mod solution_grid;
#[cfg(feature = "command")]
pub(crate) mod vtk;
#[cfg(feature = "command")]
pub(crate) mod vtk_series;
