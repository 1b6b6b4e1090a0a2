//! The hot loops on the CPU: rayon over slices, vectorised for the instruction set found at run time.
//!
//! Every function takes the [`Level`](firebox_backends::cpu::Level) that it runs on, `Level::best()` as a rule, and
//! gives the same bits whatever the number of threads. φ is one multiplication and 2^y: −log₂e/a² is known of each
//! neuron, as are the factors of a condition's terms. Δu and u alone are compiled apart, in the plane and in space.
//!
//! | file | side by side | one after the other |
//! |---|---|---|
//! | `residual`, `slopes` | conditions | neurons |
//! | `rows`, `columns` | neurons | conditions |

mod columns;
mod conjugate;
mod descend;
mod form;
mod pack;
mod residual;
mod rows;
mod slopes;
mod split;
mod stored;
mod sums;
#[cfg(test)]
mod tests;

pub use conjugate::conjugate;
pub use descend::{Aim, descend};
pub use pack::{Rows, Shape};
pub use residual::residual;
pub use rows::matrix;
pub use slopes::slopes;
pub use sums::{gradient, normal, transposed};

use firebox_backends::cpu::Level;

/// The level that operations run on: the best, unless a test asks for another.
pub fn level() -> Level {
    #[cfg(test)]
    if let Some(level) = tests::LEVEL.get() {
        return level;
    }
    Level::best()
}
