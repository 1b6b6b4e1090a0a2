//! What an instruction set gains: for tests, which results to the last bit do not tell it.

use std::time::{Duration, Instant};

use super::Level;

/// Runs of each level, in turns, at least.
const TRIES: usize = 9;
/// How long there are more of them: a machine that is busy with other tests is not for so long without a break.
const TIME: Duration = Duration::from_millis(100);

/// How many times as fast as on the baseline a loop runs on this machine's best level, by the shortest of some runs of each;
/// none where there is the baseline alone.
///
/// A body that the compiler did not make part of [`Level::run`] whole, for a closure or a call that is not inlined, is
/// compiled for the baseline: it gives the same numbers at every level, at the baseline's speed or below.
pub fn gain(mut run: impl FnMut(Level) + Send) -> Option<f64> {
    let levels = Level::all();
    let (best, [.., baseline]) = (levels.first()?, &levels[..]) else { return None };
    if best == baseline {
        return None;
    }
    // A thread of its own: those that all tests share may be in the middle of what another has asked for.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().ok()?;
    let shortest = pool.install(|| {
        let (mut shortest, began) = ([Duration::MAX; 2], Instant::now());
        let mut tries = 0;
        while tries < TRIES || began.elapsed() < TIME {
            for (shortest, level) in shortest.iter_mut().zip([best, baseline]) {
                let start = Instant::now();
                run(*level);
                *shortest = start.elapsed().min(*shortest);
            }
            tries += 1;
        }
        shortest
    });
    Some(shortest[1].as_secs_f64() / shortest[0].as_secs_f64())
}
