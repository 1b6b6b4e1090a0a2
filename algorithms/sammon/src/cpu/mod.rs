//! The hot loops on the CPU: rayon over slices, vectorised for the instruction set found at run time.
//!
//! Every function takes the [`Level`](firebox_backends::cpu::Level) that it runs on, `Level::best()` as a rule, and but
//! for the triangles of [`variants`] gives the same bits whatever the number of threads. Matrices are row-major, with
//! points side by side, and inner loops run over them.

mod inverse;
mod place;
mod pull;
mod sampled;
mod source;
mod steps;
mod sweep;
mod terms;
mod variants;

pub use inverse::inverse;
pub use place::place;
pub use sampled::sampled;
pub use source::{Features, Source};
pub use steps::{Problem, forces, measure, steps};

#[cfg(test)]
mod oracle;
#[cfg(test)]
mod tests;
