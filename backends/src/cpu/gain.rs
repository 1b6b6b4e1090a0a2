//! Speedups of instruction sets, for tests: results do not show that a loop lost its instruction set.

use std::time::{Duration, Instant};

use super::Level;

/// Minimum number of runs of each level, in turns.
const TRIES: usize = 9;
/// Minimum time of all runs, longer than other tests keep a core busy without a break.
const TIME: Duration = Duration::from_millis(100);

/// Speedup of a loop over the baseline by the level that gains least on this machine: each level's shortest of several
/// runs counts. `None` where the baseline is the only level.
///
/// A body that the compiler did not inline whole into [`Level::run`], because of a closure or a call, is compiled for the
/// baseline: it returns the same numbers at every level, at the baseline's speed or below.
pub fn gain(mut run: impl FnMut(Level) + Send) -> Option<f64> {
    let levels = Level::all();
    // A thread of its own: those that all tests share may be in the middle of what another has asked for.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().ok()?;
    let shortest = pool.install(|| {
        let (mut shortest, began) = (vec![Duration::MAX; levels.len()], Instant::now());
        let mut tries = 0;
        while tries < TRIES || began.elapsed() < TIME {
            for (shortest, level) in shortest.iter_mut().zip(&levels) {
                let start = Instant::now();
                run(*level);
                *shortest = start.elapsed().min(*shortest);
            }
            tries += 1;
        }
        shortest
    });
    let (baseline, faster) = shortest.split_last()?;
    faster.iter().map(|level| baseline.as_secs_f64() / level.as_secs_f64()).reduce(f64::min)
}
