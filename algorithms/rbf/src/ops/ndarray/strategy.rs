//! The choice of loops for a size, and their scratch memory.

use firebox_backends::cpu::BLOCK;

use super::{conjugate, tasks};
use crate::types::{Extent, Strategy, Way};

/// How gradient steps and conjugate gradients run in floats of `size` bytes.
pub(super) fn strategy(extent: &Extent, size: usize) -> Strategy {
    let Extent { conditions, neurons: m, dims: d, .. } = *extent;
    let (rows, stored) = (extent.rows() as u128, conjugate::stored(extent.rows(), m, size));
    let kept = if stored { rows * m as u128 } else { 0 };
    let packed = (2 * d as u128 + 4) * rows;
    // Sums are in f64.
    let tasks = conditions.iter().map(|&n| tasks::tasks(n, m).len()).sum::<usize>();
    let sums = (tasks * m.next_multiple_of(BLOCK) * (d + 1) * (size_of::<f64>() / size)) as u128;
    let conjugate = if stored { Way::Kept } else { Way::Computed };
    Strategy { descend: Way::Computed, conjugate, scratch: kept + packed + sums }
}
