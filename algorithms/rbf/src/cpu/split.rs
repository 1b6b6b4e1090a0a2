//! Which task has which conditions: by n and m alone, so that the bits do not depend on the number of threads.

use std::ops::Range;

use firebox_backends::cpu::BLOCK;

/// Elements of A that are worth a task.
const WORTH: usize = 1 << 14;
/// Elements of A below which one thread is done before a second has begun.
const SHARED: usize = 1 << 15;
/// Tasks with sums of their own, at most.
const MOST: usize = 64;
/// Blocks of conditions whose terms are summed in E before they go to f64: 256 of them.
pub(super) const PANEL: usize = 4;

/// Whether n × m elements are worth more than one thread.
pub(super) fn shared(n: usize, m: usize) -> bool {
    n.saturating_mul(m) >= SHARED
}

/// Blocks of conditions that are worth a task.
pub(super) fn least(m: usize) -> usize {
    WORTH.div_ceil(BLOCK * m.max(1)).next_multiple_of(PANEL)
}

/// The blocks of n conditions, task by task.
pub(super) fn tasks(n: usize, m: usize) -> Vec<Range<usize>> {
    let count = n.div_ceil(BLOCK);
    let height = least(m).max(count.div_ceil(MOST).next_multiple_of(PANEL));
    (0..count).step_by(height).map(|first| first..count.min(first + height)).collect()
}
