//! The clock of kernels.

use std::time::Instant;

use firebox_core::{Context, Error, Result, kernels::Prepared};

use super::WARM_UP;
use crate::Limited;

/// So long a timing is made by calling again, that reading the clock and waiting for the device do not show.
const ENOUGH: f64 = 5.0;
/// The most calls of a timing: what is queued on a device has its cost too.
const MOST: usize = 1000;

/// Milliseconds of one unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Timed {
    pub(super) median: f64,
    pub(super) min: f64,
    pub(super) max: f64,
    /// Calls of each timing.
    pub(super) calls: usize,
}

/// Times calls of `sets`, one set after the other, `repeats` times, after a warm-up in which each has its turn, since
/// memory comes page by page where it is written first. The device has finished what it had before, and the clock stops
/// when it has finished.
pub(super) fn time<B: Limited>(context: &Context<B>, sets: &mut [Prepared], repeats: usize) -> Result<Timed> {
    let units = sets.first().map_or(1, |set| set.units).max(1) as f64;
    let (mut turn, mut turn_besides) = (0, 0);
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
        let besides = if sets.iter().any(|set| set.besides.is_some()) {
            run(context, sets, &mut turn_besides, calls, true)?
        } else {
            0.0
        };
        times.push((whole - besides) / (calls as f64 * units));
    }
    times.sort_by(f64::total_cmp);
    Ok(Timed { median: times[times.len() / 2], min: times[0], max: times[times.len() - 1], calls })
}

/// How many calls make a timing, if one takes so many milliseconds.
fn calls(ms: f64) -> usize {
    (ENOUGH / ms.max(1e-6)).ceil().clamp(1.0, MOST as f64) as usize
}

/// Milliseconds of `calls` calls, or of what they do besides.
fn run<B: Limited>(
    context: &Context<B>,
    sets: &mut [Prepared],
    turn: &mut usize,
    calls: usize,
    besides: bool,
) -> Result<f64> {
    if context.observer.cancelled() {
        return Err(Error::Cancelled);
    }
    B::finish(&context.device, "bench")?;
    let start = Instant::now();
    for _ in 0..calls {
        *turn = (*turn + 1) % sets.len();
        let set = &mut sets[*turn];
        match (&mut set.besides, besides) {
            (Some(besides), true) => besides(),
            _ => (set.call)(),
        }
    }
    B::finish(&context.device, "bench")?;
    Ok(start.elapsed().as_secs_f64() * 1e3)
}

#[cfg(test)]
mod tests {
    use std::{cell::RefCell, rc::Rc};

    use burn_ndarray::NdArray;
    use firebox_core::kernels::Least;

    use super::*;

    #[test]
    fn a_timing_is_as_long_as_the_clock_needs() {
        for (ms, expected) in [(0.0, 1000), (0.001, 1000), (0.5, 10), (4.0, 2), (5.0, 1), (1e4, 1)] {
            assert_eq!(calls(ms), expected, "{ms}");
        }
    }

    #[test]
    fn sets_take_turns_and_what_is_besides_is_taken_off() {
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
                Prepared::new(0.0, Least::default(), call).units(10).besides(move || nap(20))
            })
            .collect();
        let timed = time(&context, &mut sets, 3).unwrap();
        assert_eq!(timed.calls, 1);
        assert!(timed.min <= timed.median && timed.median <= timed.max, "{timed:?}");
        assert!((1.0..4.0).contains(&timed.median), "{timed:?}");
        assert!(seen.borrow().windows(2).all(|pair| pair[1] == (pair[0] + 1) % 3));
    }
}
