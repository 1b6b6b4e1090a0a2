//! `firebox bench cost`: growth of time and memory of whole runs with the number of points.

use std::time::Duration;

use firebox_core::{Context, Error, Result, Session};
use serde::Serialize;

use super::{at_least_one, case::Growth, time_once};
use crate::{Device, DeviceLimits, with_context};

/// Sizes to be measured.
#[derive(Debug, Clone)]
pub struct SizeRange {
    /// Smallest number of points.
    pub from: usize,
    /// Largest number of points.
    pub to: usize,
    /// Number of sizes per decade, at equal logarithmic distances.
    pub each_decade: usize,
    /// Maximum time of a run, as extrapolated from smaller sizes; larger sizes are skipped.
    pub max_time: Duration,
}

/// A whole run at one size.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CostRow {
    /// Name of the algorithm.
    pub algorithm: String,
    /// Name of the case.
    pub case: String,
    /// Number of points.
    pub size: Vec<usize>,
    /// Time of the second of two runs in milliseconds.
    pub ms: f64,
    /// Bytes planned on the device.
    pub peak_device_bytes: u64,
    /// With the last size: exponent b of time ∝ points^b, fitted to the upper half of the sizes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exponent: Option<f64>,
    /// With the last size: exponent of the bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_exponent: Option<f64>,
}

/// Measures all `runs`, listed by the names of their algorithms, over `range`; each row is passed to `row` as soon as
/// it is complete. A size that does not fit into memory ends the sizes of its case with a notice.
///
/// # Errors
/// [`Error::Config`] for an invalid range; errors of the runs except [`Error::Memory`].
pub fn measure(
    runs: &[(String, Vec<Growth>)],
    range: &SizeRange,
    device: &Device,
    session: &Session,
    row: &mut dyn FnMut(CostRow),
) -> Result<()> {
    with_context!(device, session, |context| measure_on(runs, range, context, row))
}

fn measure_on<B: DeviceLimits>(
    runs: &[(String, Vec<Growth>)],
    range: &SizeRange,
    context: &Context<B>,
    row: &mut dyn FnMut(CostRow),
) -> Result<()> {
    let sizes = range.sizes()?;
    for (algorithm, growth) in runs.iter().flat_map(|(name, all)| all.iter().map(move |growth| (name, growth))) {
        // Rows are passed on with one row's delay, as the last gets the exponents.
        let mut rows: Vec<CostRow> = Vec::new();
        for &n in &sizes {
            if extrapolated_ms(&rows, n) > range.max_time.as_secs_f64() * 1e3 {
                break;
            }
            let run = || time_once(context, growth.start(n)?);
            let (ms, peak_device_bytes) = match run().and_then(|_| run()) {
                Err(error @ Error::Memory { .. }) => {
                    context.observer.notice(&format!("larger sizes are skipped: {}: {error}", growth.case));
                    break;
                }
                measured => measured?,
            };
            if let Some(previous) = rows.last() {
                row(previous.clone());
            }
            let (algorithm, case) = (algorithm.clone(), growth.case.into());
            let (exponent, memory_exponent) = (None, None);
            rows.push(CostRow { algorithm, case, size: vec![n], ms, peak_device_bytes, exponent, memory_exponent });
        }
        if let Some(last) = rows.last() {
            let upper = &rows[rows.len() / 2..];
            let exponent_of = |value: fn(&CostRow) -> f64| {
                exponent(&upper.iter().map(|row| (row.size[0] as f64, value(row))).collect::<Vec<_>>())
            };
            let time = exponent_of(|row| row.ms);
            let memory = exponent_of(|row| row.peak_device_bytes as f64);
            row(CostRow { exponent: time, memory_exponent: memory, ..last.clone() });
        }
    }
    Ok(())
}

/// Time for n points in milliseconds, extrapolated by the exponent of the last two rows, which is taken as at least 1.
fn extrapolated_ms(rows: &[CostRow], n: usize) -> f64 {
    let Some(last) = rows.last() else { return 0.0 };
    let points = |row: &CostRow| (row.size[0] as f64, row.ms);
    let power = rows.len().checked_sub(2).and_then(|k| exponent(&[points(&rows[k]), points(last)])).unwrap_or(1.0);
    last.ms * (n as f64 / last.size[0] as f64).powf(power.max(1.0))
}

/// Exponent b of y = a·xᵇ by least squares in logarithms; `None` without two different x.
fn exponent(points: &[(f64, f64)]) -> Option<f64> {
    let logs = || points.iter().filter(|(x, y)| *x > 0.0 && *y > 0.0).map(|(x, y)| (x.ln(), y.ln()));
    let count = logs().count() as f64;
    let mean = |coordinate: fn((f64, f64)) -> f64| logs().map(coordinate).sum::<f64>() / count;
    let (x0, y0) = (mean(|point| point.0), mean(|point| point.1));
    let (sxy, sxx) = logs().fold((0.0, 0.0), |(a, b), (x, y)| (a + (x - x0) * (y - y0), b + (x - x0) * (x - x0)));
    (sxx > 0.0).then_some(sxy / sxx)
}

impl SizeRange {
    /// All sizes in ascending order.
    fn sizes(&self) -> Result<Vec<usize>> {
        at_least_one(&[("from", self.from), ("each_decade", self.each_decade)])?;
        if self.to < self.from {
            let reason = format!("must be at least `from` = {}", self.from);
            return Err(Error::Config { field: "to", value: self.to.to_string(), reason });
        }
        let decades = (self.to as f64 / self.from as f64).log10();
        let count = (decades * self.each_decade as f64 + 1e-9).floor() as usize;
        let size = |k: usize| (self.from as f64 * 10f64.powf(k as f64 / self.each_decade as f64)).round() as usize;
        let mut sizes: Vec<usize> = (0..=count).map(size).collect();
        sizes.dedup();
        Ok(sizes)
    }
}

#[cfg(test)]
mod tests {
    use burn_ndarray::NdArray;

    use super::*;

    fn range(from: usize, to: usize, each_decade: usize) -> SizeRange {
        SizeRange { from, to, each_decade, max_time: Duration::from_secs(9) }
    }

    #[test]
    fn exponent_of_a_power_law_is_recovered() {
        let law = |power: f64| [1e2, 1e3, 5e3, 1e4].map(|x: f64| (x, 7.0 * x.powf(power)));
        for power in [0.0, 1.0, 1.5, 2.0] {
            assert!((exponent(&law(power)).unwrap() - power).abs() < 1e-12);
        }
        // Least squares in logarithms: 0, 1 and 3 over 0, 1 and 2.
        let bent = [(1.0, 1.0), (10.0, 10.0), (100.0, 1000.0)];
        assert!((exponent(&bent).unwrap() - 1.5).abs() < 1e-12);
        assert_eq!([exponent(&[]), exponent(&[(3.0, 1.0)]), exponent(&[(3.0, 1.0), (3.0, 2.0)])], [None; 3]);
        assert_eq!(exponent(&[(1.0, 0.0), (2.0, 1.0)]), None);
    }

    #[test]
    fn sizes_have_equal_logarithmic_distances() {
        assert_eq!(range(100, 10_000, 2).sizes().unwrap(), [100, 316, 1000, 3162, 10_000]);
        assert_eq!(range(1, 3, 9).sizes().unwrap(), [1, 2, 3]);
        assert_eq!(range(50, 50, 4).sizes().unwrap(), [50]);
        for invalid in [range(0, 5, 1), range(5, 4, 1), range(5, 9, 0)] {
            assert!(invalid.sizes().is_err(), "{invalid:?}");
        }
    }

    #[test]
    fn sizes_that_would_take_too_long_are_skipped() {
        let nap = |n: usize, _: &Context<NdArray<f32>>| {
            Ok(move || {
                std::thread::sleep(Duration::from_millis(n as u64));
                Ok(8 * n as u64)
            })
        };
        let context = Context::new(Default::default());
        let runs = [("toy".to_string(), vec![Growth::new("nap", &context, nap)])];
        let mut rows = Vec::new();
        let range = SizeRange { max_time: Duration::from_millis(60), ..range(10, 1000, 3) };
        measure_on(&runs, &range, &context, &mut |row| rows.push(row)).unwrap();
        let sizes: Vec<usize> = rows.iter().map(|row| row.size[0]).collect();
        assert!(sizes == [10, 22] || sizes == [10, 22, 46], "{rows:?}");
        let last = rows.last().unwrap();
        assert!((last.memory_exponent.unwrap_or(1.0) - 1.0).abs() < 1e-9, "{last:?}");
        assert!(rows[0].exponent.is_none());
    }
}
