//! Timing of kernels.

use std::time::Instant;

use firebox_core::{Context, Result};

use super::{WARM_UP, case::Prepared, time_once};
use crate::DeviceLimits;

/// Minimum duration of a timing in milliseconds, for which calls are repeated: reading the clock and waiting for the
/// device are negligible then.
const MIN_MS: f64 = 5.0;
/// Maximum number of calls per timing, since a long queue on a device has its own cost.
const MAX_CALLS: usize = 1000;

/// Time per unit in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Timed {
    pub(super) median: f64,
    pub(super) min: f64,
    pub(super) max: f64,
    /// Number of calls per timing.
    pub(super) calls: usize,
}

/// Times calls that rotate through `sets`, `repeats` times. The warm-up calls each set, since first writes allocate
/// memory pages. The device is synchronised before and after each timing.
pub(super) fn time<B: DeviceLimits>(context: &Context<B>, sets: &mut [Prepared], repeats: usize) -> Result<Timed> {
    let units = sets.first().map_or(1, |set| set.units).max(1) as f64;
    let (mut turn, mut overhead_turn) = (0, 0);
    let begun = Instant::now();
    let mut done = 0;
    let mut once = f64::INFINITY;
    while done < sets.len().max(2) || begun.elapsed() < WARM_UP {
        once = once.min(run(context, sets, &mut turn, 1, false)?);
        done += 1;
    }
    let calls = calls(once);
    let mut times = Vec::with_capacity(repeats);
    for _ in 0..repeats.max(1) {
        let whole = run(context, sets, &mut turn, calls, false)?;
        let overhead = if sets.iter().any(|set| set.overhead.is_some()) {
            run(context, sets, &mut overhead_turn, calls, true)?
        } else {
            0.0
        };
        times.push((whole - overhead) / (calls as f64 * units));
    }
    times.sort_by(f64::total_cmp);
    Ok(Timed { median: times[times.len() / 2], min: times[0], max: times[times.len() - 1], calls })
}

/// Number of calls per timing if one takes `ms` milliseconds.
fn calls(ms: f64) -> usize {
    (MIN_MS / ms.max(1e-6)).ceil().clamp(1.0, MAX_CALLS as f64) as usize
}

/// Time in milliseconds of `calls` calls, or of their overhead.
fn run<B: DeviceLimits>(
    context: &Context<B>,
    sets: &mut [Prepared],
    turn: &mut usize,
    calls: usize,
    overhead: bool,
) -> Result<f64> {
    let calls = || {
        for _ in 0..calls {
            *turn = (*turn + 1) % sets.len();
            let set = &mut sets[*turn];
            match (&mut set.overhead, overhead) {
                (Some(overhead), true) => overhead(),
                _ => (set.call)(),
            }
        }
        Ok(())
    };
    Ok(time_once(context, calls)?.0)
}

#[cfg(test)]
mod tests {
    use std::{cell::RefCell, rc::Rc};

    use super::{super::case::LowerBound, *};
    use burn_ndarray::NdArray;

    #[test]
    fn calls_reach_the_minimum_duration() {
        for (ms, expected) in [(0.0, 1000), (0.001, 1000), (0.5, 10), (4.0, 2), (5.0, 1), (1e4, 1)] {
            assert_eq!(calls(ms), expected, "{ms}");
        }
    }

    #[test]
    fn sets_rotate_and_overhead_is_subtracted() {
        let context = Context::<NdArray<f32>>::new(Default::default());
        let seen = Rc::new(RefCell::new(Vec::new()));
        let mut sets: Vec<Prepared> = (0..3)
            .map(|set| {
                let seen = seen.clone();
                let nap = |ms| std::thread::sleep(std::time::Duration::from_millis(ms));
                let call = move || {
                    seen.borrow_mut().push(set);
                    nap(40);
                };
                Prepared::new(0.0, LowerBound::default(), call).units(10).overhead(move || nap(20))
            })
            .collect();
        let timed = time(&context, &mut sets, 3).unwrap();
        assert_eq!(timed.calls, 1);
        assert!(timed.min <= timed.median && timed.median <= timed.max, "{timed:?}");
        assert!((1.0..4.0).contains(&timed.median), "{timed:?}");
        assert!(seen.borrow().windows(2).all(|pair| pair[1] == (pair[0] + 1) % 3));
    }
}
