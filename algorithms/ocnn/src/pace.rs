//! How much a call of the device is given to do.

use std::time::Instant;

/// Seconds a call should take: between calls progress is told, and a wish to stop is heard.
const CALL: f64 = 0.2;

/// How much the next call is given, after one that was given at most `pace` and did `done` since `start`: at least 1, and
/// no more than four times as much, since a first call compiles kernels and clocks are coarse.
pub(crate) fn next(pace: usize, done: usize, start: Instant) -> usize {
    let affordable = done as f64 * CALL / start.elapsed().as_secs_f64().max(1e-9);
    (affordable as usize).clamp(1, 4 * pace)
}
