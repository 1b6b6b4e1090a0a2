//! Measured speedups of instruction sets, for tests: results do not show whether a loop was compiled for the baseline.

use std::time::{Duration, Instant};

use super::SimdLevel;

/// Minimum number of runs at each level; the levels alternate.
const MIN_RUNS: usize = 9;
/// Minimum total time of all runs, longer than other tests occupy a core without a break.
const MIN_TIME: Duration = Duration::from_millis(100);

/// Measures the speedup of a loop over the baseline at the level where it is smallest, by the shortest run at each
/// level. `None` if this machine has the baseline only.
///
/// A body that the compiler does not inline completely into [`SimdLevel::run`], because of a closure or a call, is
/// compiled for the baseline: its results are right at every level, but it is no faster than the baseline.
pub fn gain(mut run: impl FnMut(SimdLevel) + Send) -> Option<f64> {
    let levels = SimdLevel::all();
    // Threads of the shared pool may be busy with work of other tests.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().ok()?;
    let shortest = pool.install(|| {
        let (mut shortest, begun) = (vec![Duration::MAX; levels.len()], Instant::now());
        let mut runs = 0;
        while runs < MIN_RUNS || begun.elapsed() < MIN_TIME {
            for (shortest, level) in shortest.iter_mut().zip(&levels) {
                let start = Instant::now();
                run(*level);
                *shortest = start.elapsed().min(*shortest);
            }
            runs += 1;
        }
        shortest
    });
    let (baseline, faster) = shortest.split_last()?;
    faster.iter().map(|level| baseline.as_secs_f64() / level.as_secs_f64()).reduce(f64::min)
}
