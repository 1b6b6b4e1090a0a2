//! Division of conditions into tasks, by n and m only: bits do not depend on the number of threads.

use std::ops::Range;

use firebox_backends::cpu::BLOCK;

/// Minimum number of elements of A per task.
const MIN_TASK: usize = 1 << 14;
/// Minimum number of elements of A for several threads.
const MIN_PARALLEL: usize = 1 << 15;
/// Maximum number of tasks with partial sums.
const MAX_TASKS: usize = 64;
/// Blocks of conditions whose terms are summed in `E` before they are added in f64: 256 conditions.
pub(super) const PANEL: usize = 4;

/// Returns `true` if n × m elements are worth several threads.
pub(super) fn shared(n: usize, m: usize) -> bool {
    n.saturating_mul(m) >= MIN_PARALLEL
}

/// Minimum number of blocks of conditions per task.
pub(super) fn least(m: usize) -> usize {
    MIN_TASK.div_ceil(BLOCK * m.max(1)).next_multiple_of(PANEL)
}

/// Elements of A between two stop checks, some milliseconds of work.
const UNINTERRUPTED: usize = 1 << 20;

/// A task's blocks in pieces of whole panels, with stop checks in between. Panels are summed in order, so that pieces
/// do not affect the bits.
pub(super) fn pieces(blocks: Range<usize>, m: usize) -> impl Iterator<Item = Range<usize>> {
    let height = (UNINTERRUPTED / (BLOCK * m.max(1))).max(1).next_multiple_of(PANEL);
    blocks.clone().step_by(height).map(move |first| first..blocks.end.min(first + height))
}

/// The blocks of n conditions per task.
pub(super) fn tasks(n: usize, m: usize) -> Vec<Range<usize>> {
    let count = n.div_ceil(BLOCK);
    let height = least(m).max(count.div_ceil(MAX_TASKS).next_multiple_of(PANEL));
    (0..count).step_by(height).map(|first| first..count.min(first + height)).collect()
}
