//! `firebox bench cost`: how time and memory of whole runs grow with the number of points.

use std::time::{Duration, Instant};

use firebox_core::{Context, Error, Result, kernels::Growth};
use serde::Serialize;

use crate::Limited;

/// What to measure.
#[derive(Debug, Clone)]
pub struct Range {
    /// The fewest points.
    pub from: usize,
    /// The most.
    pub to: usize,
    /// Sizes from one power of ten to the next, evenly apart in logarithms.
    pub each_decade: usize,
    /// No run is made that is to take longer, by the runs before it.
    pub longest: Duration,
}

/// A whole run at one size.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CostRow {
    /// Whose run it is.
    pub algorithm: String,
    /// What ran.
    pub case: String,
    /// How many points.
    pub size: Vec<usize>,
    /// Milliseconds, the second of two runs.
    pub ms: f64,
    /// Bytes planned on the device.
    pub peak_device_bytes: u64,
    /// With the last size: the power of the number of points that time grows with, over the upper half of the sizes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exponent: Option<f64>,
    /// Likewise for the bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_exponent: Option<f64>,
}

/// A plugin's name and its runs.
pub type Named<B> = (String, Vec<Growth<B>>);

/// Measures all of `runs` over `range`; each row goes to `row` as soon as it is known. A size that the device cannot hold
/// ends its run's with a notice.
pub fn measure<B: Limited>(
    runs: &[Named<B>],
    range: &Range,
    context: &Context<B>,
    row: &mut dyn FnMut(CostRow),
) -> Result<()> {
    let sizes = range.sizes()?;
    for (algorithm, growth) in runs.iter().flat_map(|(name, all)| all.iter().map(move |it| (name, it))) {
        // A row waits until it is known whether it is the last.
        let mut rows: Vec<CostRow> = Vec::new();
        for &n in &sizes {
            if expected(&rows, n) > range.longest.as_secs_f64() * 1e3 {
                break;
            }
            let measured = once(growth, n, context).and_then(|_| once(growth, n, context));
            let (ms, peak_device_bytes) = match measured {
                Err(error @ Error::Memory { .. }) => {
                    context.observer.notice(&format!("no more points: {}: {error}", growth.case));
                    break;
                }
                measured => measured?,
            };
            if let Some(before) = rows.last() {
                row(before.clone());
            }
            let (algorithm, case) = (algorithm.clone(), growth.case.into());
            let (exponent, memory_exponent) = (None, None);
            rows.push(CostRow { algorithm, case, size: vec![n], ms, peak_device_bytes, exponent, memory_exponent });
        }
        if let Some(last) = rows.last() {
            let upper = &rows[rows.len() / 2..];
            let of = |value: fn(&CostRow) -> f64| {
                exponent(&upper.iter().map(|row| (row.size[0] as f64, value(row))).collect::<Vec<_>>())
            };
            let (time, memory) = (of(|row| row.ms), of(|row| row.peak_device_bytes as f64));
            row(CostRow { exponent: time, memory_exponent: memory, ..last.clone() });
        }
    }
    Ok(())
}

/// A run's milliseconds, and the bytes it planned.
fn once<B: Limited>(growth: &Growth<B>, n: usize, context: &Context<B>) -> Result<(f64, u64)> {
    if context.observer.cancelled() {
        return Err(Error::Cancelled);
    }
    let run = growth.start(n, context)?;
    B::finish(&context.device, "bench")?;
    let start = Instant::now();
    let bytes = run()?;
    B::finish(&context.device, "bench")?;
    Ok((start.elapsed().as_secs_f64() * 1e3, bytes))
}

/// The milliseconds that n points are to take, if time goes on growing as it did last, and at least as they do.
fn expected(rows: &[CostRow], n: usize) -> f64 {
    let Some(last) = rows.last() else { return 0.0 };
    let points = |row: &CostRow| (row.size[0] as f64, row.ms);
    let power = rows.len().checked_sub(2).and_then(|at| exponent(&[points(&rows[at]), points(last)])).unwrap_or(1.0);
    last.ms * (n as f64 / last.size[0] as f64).powf(power.max(1.0))
}

/// b of y = a·xᵇ by least squares in logarithms, from two different x on.
fn exponent(points: &[(f64, f64)]) -> Option<f64> {
    let logs = || points.iter().filter(|(x, y)| *x > 0.0 && *y > 0.0).map(|(x, y)| (x.ln(), y.ln()));
    let count = logs().count() as f64;
    let mean = |of: fn((f64, f64)) -> f64| logs().map(of).sum::<f64>() / count;
    let (x0, y0) = (mean(|it| it.0), mean(|it| it.1));
    let (above, below) = logs().fold((0.0, 0.0), |(a, b), (x, y)| (a + (x - x0) * (y - y0), b + (x - x0) * (x - x0)));
    (below > 0.0).then_some(above / below)
}

impl Range {
    /// The sizes, from the smallest on.
    fn sizes(&self) -> Result<Vec<usize>> {
        super::at_least_one(&[("from", self.from), ("each_decade", self.each_decade)])?;
        if self.to < self.from {
            let reason = format!("is less than where the sizes begin, {}", self.from);
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

    fn range(from: usize, to: usize, each_decade: usize) -> Range {
        Range { from, to, each_decade, longest: Duration::from_secs(9) }
    }

    #[test]
    fn an_exponent_is_that_of_the_law() {
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
    fn sizes_are_evenly_apart_in_logarithms() {
        assert_eq!(range(100, 10_000, 2).sizes().unwrap(), [100, 316, 1000, 3162, 10_000]);
        assert_eq!(range(1, 3, 9).sizes().unwrap(), [1, 2, 3]);
        assert_eq!(range(50, 50, 4).sizes().unwrap(), [50]);
        for wrong in [range(0, 5, 1), range(5, 4, 1), range(5, 9, 0)] {
            assert!(wrong.sizes().is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn runs_end_where_they_would_take_too_long() {
        let nap = |n: usize, _: &Context<NdArray<f32>>| {
            Ok(move || {
                std::thread::sleep(Duration::from_millis(n as u64));
                Ok(8 * n as u64)
            })
        };
        let runs = [("toy".to_string(), vec![Growth::new("nap", nap)])];
        let mut rows = Vec::new();
        let range = Range { longest: Duration::from_millis(60), ..range(10, 1000, 3) };
        measure(&runs, &range, &Context::new(Default::default()), &mut |row| rows.push(row)).unwrap();
        let sizes: Vec<usize> = rows.iter().map(|row| row.size[0]).collect();
        assert!(sizes == [10, 22] || sizes == [10, 22, 46], "{rows:?}");
        let last = rows.last().unwrap();
        assert!((last.memory_exponent.unwrap_or(1.0) - 1.0).abs() < 1e-9, "{last:?}");
        assert!(rows[0].exponent.is_none());
    }
}
