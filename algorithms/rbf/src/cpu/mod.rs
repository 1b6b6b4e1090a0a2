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

use firebox_backends::cpu::{BLOCK, Level};

use crate::strategy::{Extent, Strategy, Way};

/// How steps and iterations run in floats of `size` bytes.
pub fn strategy(extent: &Extent, size: usize) -> Strategy {
    let Extent { conditions, neurons: m, dims: d, .. } = *extent;
    let (rows, stored) = (extent.rows() as u128, conjugate::stored(extent.rows(), m, size));
    let kept = if stored { rows * m as u128 } else { 0 };
    let packed = (2 * d as u128 + 4) * rows;
    // Sums are f64.
    let tasks = conditions.iter().map(|&n| split::tasks(n, m).len()).sum::<usize>();
    let sums = (tasks * m.next_multiple_of(BLOCK) * (d + 1) * (size_of::<f64>() / size)) as u128;
    let conjugate = if stored { Way::Kept } else { Way::Computed };
    Strategy { descend: Way::Computed, conjugate, scratch: kept + packed + sums }
}

/// The level that operations run on: the best, unless a test asks for another.
pub fn level() -> Level {
    #[cfg(test)]
    if let Some(level) = tests::LEVEL.get() {
        return level;
    }
    Level::best()
}
