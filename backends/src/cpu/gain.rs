//! Measured speedups of instruction sets, for tests: results do not show whether a loop was compiled for the baseline.

use std::time::{Duration, Instant};

use super::SimdLevel;

/// Minimum total time of all runs, longer than other tests occupy a core without a break.
const MIN_TIME: Duration = Duration::from_millis(200);
/// Sampling ends after this time, even if a shortest run was not confirmed.
const MAX_TIME: Duration = Duration::from_secs(5);
/// The shortest run at a level is confirmed by this number of runs, itself included, of at most `CONFIRMED` × its time.
/// On a busy machine, most runs are interrupted.
const CONFIRMATIONS: usize = 6;
const CONFIRMED: f64 = 1.05;

/// Least gain of a loop that is compiled for its instruction set. One that is compiled for the baseline gains 1, and at most
/// `CONFIRMED`² = 1.10 by the error of two measurements; the least gain of others is 1.49, on a machine whose other threads
/// occupy the units that wide instructions share.
pub const LEAST_GAIN: f64 = 1.25;

fn is_confirmed(runs: &[Duration]) -> bool {
    let limit = shortest(runs).mul_f64(CONFIRMED);
    runs.iter().filter(|run| **run <= limit).count() >= CONFIRMATIONS
}

fn shortest(runs: &[Duration]) -> Duration {
    runs.iter().copied().min().unwrap_or(Duration::MAX)
}

/// Measures the speedup of a loop over the baseline at the level where it is smallest, by the shortest run at each
/// level. `None` if this machine has the baseline only.
///
/// A body that the compiler does not inline completely into [`SimdLevel::run`], because of a closure or a call, is
/// compiled for the baseline: its results are right at every level, but it is no faster than the baseline.
pub fn gain(mut run: impl FnMut(SimdLevel) + Send) -> Option<f64> {
    let levels = SimdLevel::all();
    // Threads of the shared pool may be busy with work of other tests.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().ok()?;
    let runs = pool.install(|| {
        let (mut runs, begun) = (vec![Vec::new(); levels.len()], Instant::now());
        // The levels alternate.
        while begun.elapsed() < MIN_TIME
            || begun.elapsed() < MAX_TIME && !runs.iter().all(|runs: &Vec<_>| is_confirmed(runs))
        {
            for (runs, level) in runs.iter_mut().zip(&levels) {
                let start = Instant::now();
                run(*level);
                runs.push(start.elapsed());
            }
        }
        runs
    });
    let times: Vec<f64> = runs.iter().map(|runs| shortest(runs).as_secs_f64()).collect();
    let (baseline, faster) = times.split_last()?;
    faster.iter().map(|level| baseline / level).reduce(f64::min)
}
