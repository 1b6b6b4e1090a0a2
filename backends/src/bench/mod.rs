//! Benchmarks, shared by all algorithms: cases, timing, rows, and the handling of sizes that do not fit into memory.
//!
//! [`kernels`] measures single hot loops against [`ceilings`]; [`cost`] measures whole runs of growing size.

mod cache;
mod case;
pub mod ceilings;
pub mod cost;
pub mod kernels;
pub mod score;
mod timed;

use std::time::{Duration, Instant};

use firebox_core::{Context, Error, Observer, Result};
use serde_json::{Map, Value};

use crate::DeviceLimits;

pub use case::{Growth, Kernel, LowerBound, Prepared};

/// A measured time, with the paper's for comparison if available.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct BenchRow {
    /// Table or figure of the paper.
    pub table: String,
    /// Name of the case.
    pub case: String,
    /// Problem size: points, then the case's other dimensions.
    pub size: Vec<usize>,
    /// Median of the measured times in milliseconds.
    pub ms: f64,
    /// Number of measurements.
    pub repeats: usize,
    /// The paper's time for the same work in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paper_ms: Option<f64>,
    /// Results other than times, as text.
    #[serde(skip)]
    pub note: Option<String>,
    /// Further entries: strategy, clusters, bytes.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub details: Map<String, Value>,
}

/// Minimum duration of the warm-up, in which clocks rise, threads settle on cores, caches fill and kernels are
/// compiled.
const WARM_UP: Duration = Duration::from_millis(250);

/// Performs `work`, including the work it submits to the device. Returns the time in milliseconds, and its result.
fn time_once<B: DeviceLimits, T>(context: &Context<B>, work: impl FnOnce() -> Result<T>) -> Result<(f64, T)> {
    if context.observer.cancelled() {
        return Err(Error::Cancelled);
    }
    B::finish(&context.device, "bench")?;
    let start = Instant::now();
    let result = work()?;
    B::finish(&context.device, "bench")?;
    Ok((start.elapsed().as_secs_f64() * 1e3, result))
}

/// Median time in milliseconds of `repeats` executions of `work`, including the work it submits to the device, after a
/// warm-up of at least one execution.
///
/// # Errors
/// Errors of `work` and the device; [`Error::Cancelled`].
///
/// # Panics
/// If `repeats` is 0.
pub fn median<B: DeviceLimits>(
    context: &Context<B>,
    repeats: usize,
    mut work: impl FnMut() -> Result<()>,
) -> Result<f64> {
    let mut times = Vec::with_capacity(repeats);
    let begun = Instant::now();
    let mut warm = false;
    while times.len() < repeats {
        let (ms, ()) = time_once(context, &mut work)?;
        if warm {
            times.push(ms);
        }
        warm |= begun.elapsed() >= WARM_UP;
    }
    times.sort_by(f64::total_cmp);
    Ok(times[times.len() / 2])
}

/// Checks that all counts, named by their options, are positive.
///
/// # Errors
/// [`Error::Config`] for the first count that is 0.
pub fn at_least_one(counts: &[(&'static str, usize)]) -> Result<()> {
    match counts.iter().find(|(_, count)| *count == 0) {
        Some((field, _)) => Err(Error::Config { field, value: "0".into(), reason: "must be at least 1".into() }),
        None => Ok(()),
    }
}

/// Collector of rows. Sizes that do not fit into memory are skipped with a notice, so that smaller sizes are still
/// measured; it is an error if nothing could be measured.
pub struct Rows<'a> {
    observer: &'a dyn Observer,
    row: &'a mut dyn FnMut(BenchRow),
    any: bool,
    refusal: Option<Error>,
}

impl<'a> Rows<'a> {
    /// Creates a collector that passes rows to `row` and notices to `observer`.
    pub fn new(observer: &'a dyn Observer, row: &'a mut dyn FnMut(BenchRow)) -> Self {
        Self { observer, row, any: false, refusal: None }
    }

    /// Passes on a row, or skips it if it does not fit into memory.
    ///
    /// # Errors
    /// Errors other than [`Error::Memory`].
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

    /// Finishes the table; `points` are the requested sizes.
    ///
    /// # Errors
    /// Without rows, the first [`Error::Memory`], or [`Error::Config`] if no row has a requested size.
    pub fn end(self, points: &[usize]) -> Result<()> {
        match self.refusal {
            _ if self.any => Ok(()),
            Some(refusal) => Err(refusal),
            None => {
                let value = points.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
                let reason = "none of the chosen tables has a row of this size; omit the option to measure all sizes";
                Err(Error::Config { field: "points", value, reason: reason.into() })
            }
        }
    }
}
