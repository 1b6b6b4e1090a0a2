//! Sizes of device calls.

use std::time::Instant;

/// Target seconds of a call: progress and cancellation are handled between calls.
const CALL_SECONDS: f64 = 0.2;

/// Items for the next call, after one that processed `done` of at most `batch` items since `start`: from 1 to
/// 4·`batch`, since a first call compiles kernels and clocks are coarse.
pub(crate) fn next_batch(batch: usize, done: usize, start: Instant) -> usize {
    let affordable = done as f64 * CALL_SECONDS / start.elapsed().as_secs_f64().max(1e-9);
    (affordable as usize).clamp(1, 4 * batch)
}
