//! Networks, states and solutions in files.

pub(crate) mod checkpoint;
pub(crate) mod serialization;
pub(crate) mod solution_grid;
pub(crate) mod vtk;
