//! The model: fitting, the fitted map, and placement of new points in it.

mod close;
mod fit;
pub(crate) mod map;
#[cfg(feature = "plot")]
mod page;
mod run;
pub(crate) mod sammon;
#[cfg(test)]
mod tests;
mod transform;
mod transform_distances;
