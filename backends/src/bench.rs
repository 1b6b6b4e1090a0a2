//! What the benches of algorithms share: the clock, and what becomes of sizes that a device cannot hold.
//!
//! [`kernels`] measures hot loops by themselves, against [`ceilings`]; [`cost`] whole runs at more and more points.

mod cache;
pub mod ceilings;
pub mod cost;
pub mod kernels;
mod timed;

use std::time::{Duration, Instant};

use firebox_core::{Context, Error, Observer, Result, plugin::BenchRow};

use crate::Limited;

/// How long `work` is done before it is timed, and once at least: clocks rise, threads find cores of their own, caches and
/// the device's kernels fill.
const WARM_UP: Duration = Duration::from_millis(250);

/// Median milliseconds of `repeats` times `work`, each to the end of what it put on the device, after a warm-up.
pub fn median<B: Limited>(context: &Context<B>, repeats: usize, mut work: impl FnMut() -> Result<()>) -> Result<f64> {
    let mut times = Vec::with_capacity(repeats);
    let begun = Instant::now();
    let mut warm = false;
    while times.len() < repeats {
        if context.observer.cancelled() {
            return Err(Error::Cancelled);
        }
        B::finish(&context.device, "bench")?;
        let start = Instant::now();
        work()?;
        B::finish(&context.device, "bench")?;
        if warm {
            times.push(start.elapsed().as_secs_f64() * 1e3);
        }
        warm |= begun.elapsed() >= WARM_UP;
    }
    times.sort_by(f64::total_cmp);
    Ok(times[times.len() / 2])
}

/// Fails if one of a bench's counts is 0.
pub fn at_least_one(counts: &[(&'static str, usize)]) -> Result<()> {
    match counts.iter().find(|(_, count)| *count == 0) {
        Some((field, _)) => Err(Error::Config { field, value: "0".into(), reason: "must be at least 1".into() }),
        None => Ok(()),
    }
}

/// Where rows go. What the device cannot hold is left out with a notice, since a table's smaller sizes are still of
/// use; that nothing at all could be measured is an error.
pub struct Rows<'a> {
    observer: &'a dyn Observer,
    row: &'a mut dyn FnMut(BenchRow),
    any: bool,
    refusal: Option<Error>,
}

impl<'a> Rows<'a> {
    /// Each row goes to `row`, each notice to `observer`.
    pub fn new(observer: &'a dyn Observer, row: &'a mut dyn FnMut(BenchRow)) -> Self {
        Self { observer, row, any: false, refusal: None }
    }

    /// A row, or why there is none. Fails unless that is for want of memory.
    pub fn add(&mut self, measured: Result<BenchRow>) -> Result<()> {
        match measured {
            Ok(row) => {
                self.any = true;
                (self.row)(row);
            }
            Err(error @ Error::Memory { .. }) => {
                self.observer.notice(&format!("left out: {error}"));
                self.refusal.get_or_insert(error);
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Fails if there was no row; `points` are the sizes that were asked for.
    pub fn end(self, points: &[usize]) -> Result<()> {
        match self.refusal {
            _ if self.any => Ok(()),
            Some(refusal) => Err(refusal),
            None => {
                let value = points.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
                let reason = "none of the chosen tables has such a row; leave the option out to see those there are";
                Err(Error::Config { field: "points", value, reason: reason.into() })
            }
        }
    }
}
