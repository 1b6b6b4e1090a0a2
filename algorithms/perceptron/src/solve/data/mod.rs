//! Instances with targets, their split into parts, and their scaling.

pub(crate) mod instances;
pub(crate) mod parts;
pub(crate) mod scaling;

pub use instances::{Classes, Instances, Targets};
pub use parts::Parts;
pub use scaling::Scaling;
