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

/// Elements of A between two questions whether to stop, some milliseconds of work.
const UNINTERRUPTED: usize = 1 << 20;

/// A task's blocks in pieces of whole panels, between which it may stop. Sums of panels are added in their order, so that
/// the pieces do not change the bits.
pub(super) fn pieces(blocks: Range<usize>, m: usize) -> impl Iterator<Item = Range<usize>> {
    let height = (UNINTERRUPTED / (BLOCK * m.max(1))).max(1).next_multiple_of(PANEL);
    blocks.clone().step_by(height).map(move |first| first..blocks.end.min(first + height))
}

/// The blocks of n conditions, task by task.
pub(super) fn tasks(n: usize, m: usize) -> Vec<Range<usize>> {
    let count = n.div_ceil(BLOCK);
    let height = least(m).max(count.div_ceil(MOST).next_multiple_of(PANEL));
    (0..count).step_by(height).map(|first| first..count.min(first + height)).collect()
}
