//! The model: fitting, the fitted embedding, and placement of new points.

pub(crate) mod embedding;
mod fit;
mod fitted;
#[cfg(test)]
mod precision_tests;
mod run;
pub(crate) mod sammon;
#[cfg(test)]
mod tests;
mod transform;
