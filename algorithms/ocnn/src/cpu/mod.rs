//! The hot loops on the CPU: rayon over slices, vectorised for the instruction set found at run time.
//!
//! Every function takes the [`Level`](firebox_backends::cpu::Level) that it runs on, `Level::best()` as a rule, and
//! gives the same bits whatever the number of threads. Matrices are row-major; trajectories are time-major, so that
//! neurons lie side by side and inner loops run over them.
//!
//! A period of steps belongs into one [`rayon::scope`]: called from outside of the pool, each step waits some
//! microseconds for a thread to wake up, a tenth of a step of 1000 neurons and at times half.

mod coupling;
mod graph;
mod link;
mod measure;
mod nearest;
mod reach;
mod rows;
mod step;
mod sync;

pub use coupling::{Network, store, strengths};
pub use graph::{Graph, common_ones, graph_step, signs};
pub use link::{link_fragmentary, link_phase};
pub use nearest::nearest;
pub use rows::{fragmentary_link_rows, phase_link_rows};
pub use step::{step_on_the_fly, step_stored};
pub use sync::{fragmentary_sync, pack_increase, phase_sync};

#[cfg(test)]
mod tests;
