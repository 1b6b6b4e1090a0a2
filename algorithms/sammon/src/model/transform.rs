//! Placement of new points in a fitted map.

use std::collections::HashMap;

use burn::tensor::Tensor;
use firebox_backends::limits::{Buffer, admit};
use firebox_core::{
    Context, Error, Result,
    data::Points,
    tensor::{float_values, floats, primitive, read_floats},
    watch::Watch,
};
use rayon::prelude::*;

use super::map::SammonMap;
use crate::{
    ops::SammonOps,
    solve::{
        fitted::{Fitted, SammonModel},
        memory_plan::columns,
        metric::distance,
        out_of_sample::{FixedPoints, STARTS},
    },
};

/// Elements per block of 1/δ between new points and fixed ones.
const BLOCK: usize = 1 << 24;
/// Steps on the device from each initial guess: enough to identify the best minimum, which the host refines.
const STEPS: usize = 50;

impl<B: SammonOps> SammonMap<B> {
    /// Places new points `[Q, d]` among the fitted ones, which stay fixed. Each new point independently gets the
    /// position of least stress: the global minimum for m = 1, else the best local minimum from several initial
    /// guesses. A point at distance 0 from a fitted one gets its position. Returns `[Q, m]` in the unit of the input, on
    /// the device of the fit.
    ///
    /// # Errors
    /// If the map was fitted to distances, if d differs, or if a number is not finite.
    pub fn transform(&self, others: Tensor<B, 2>) -> Result<Tensor<B, 2>> {
        let context = Context::new(self.embedding.device());
        let [rows, d] = others.dims();
        let others = Points::new(read_floats(others, "reading")?, d)?;
        let places = self.transform_with(&others, &context)?;
        Ok(floats(places, [rows, self.config.dims], &context.device))
    }

    /// [`SammonModel::transform_with`] of this map.
    ///
    /// # Errors
    /// As [`SammonModel::transform_with`].
    pub fn transform_with(&self, others: &Points, context: &Context<B>) -> Result<Vec<f64>> {
        self.model.transform_with(others, context)
    }
}

impl SammonModel {
    /// [`transform`](SammonMap::transform) on the host, with the limits, observer and ranks of `context`: returns row-major
    /// Q × m.
    ///
    /// # Errors
    /// As [`transform`](SammonMap::transform); also if the run is cancelled.
    pub fn transform_with<B: SammonOps>(&self, others: &Points, context: &Context<B>) -> Result<Vec<f64>> {
        let Fitted::Features(fitted) = &self.fitted else {
            let help = "fit the points' features instead of their distances, or use `transform_distances`";
            return Err(Error::input("a map of distances places new points by their distances", help));
        };
        let (d, dims, metric, power) = (fitted.d, self.dims, self.metric.operation(), self.power);
        if others.columns != d {
            let what = format!("the new points have {} coordinates; those of the map have {d}", others.columns);
            return Err(Error::input(what, "give the same columns in the same order"));
        }
        // Each rank places its share of the rows, in as many rounds as rank 0, which has the most.
        let ranks = &*context.communicator;
        let parts = ranks.share().all(others.rows, 1);
        let (own, most) = (parts[ranks.rank()].clone(), parts[0].len());
        let values = fitted.scaling.apply(&others.values, |i| i)?;
        let values = &values[own.start * d..own.end * d];
        let known: HashMap<Vec<u64>, usize> = fitted.values.chunks(d).enumerate().map(|(i, x)| (key(x), i)).collect();
        let n = fitted.counts.len();
        // Not the dimension of the embedding: a new point may lie outside the span of few fixed points.
        let m = dims.min(d);
        let map = FixedPoints::new(&fitted.embedding, &fitted.counts, m)?;
        let width = size_of::<B::FloatElem>();
        let height = (BLOCK / n).clamp(1, most.max(1));
        let plan = [
            Buffer::new("points", (n as u128 + height as u128) * d as u128, width),
            Buffer::new("1/δ of new points", height as u128 * n as u128, width),
        ];
        admit(context, &plan, "take fewer points, or a device with more memory")?;
        let multiplicity = primitive::<B, 1>(fitted.counts.clone(), [n], &context.device);
        let fixed: Vec<f64> = (0..m * n).map(|at| map.at(at % n)[at / n]).collect();
        let fixed = primitive::<B, 2>(fixed, [m, n], &context.device);
        let all = columns::<B>(&fitted.values, d, &context.device);

        let mut places = vec![0.0; own.len() * dims];
        let mut unplaceable = Vec::new();
        let watch = Watch::current();
        for first in (0..most).step_by(height) {
            context.checkpoint("placing", first as u64, most as u64)?;
            let rows = &values[(first * d).min(values.len())..((first + height) * d).min(values.len())];
            if rows.is_empty() {
                continue;
            }
            let q = rows.len() / d;
            let inverse = B::sammon_inverse(columns::<B>(rows, d, &context.device), all.clone(), None, metric);
            let mut deltas = float_values::<B>(inverse.clone(), "placing")?;
            // Where 1/δ under- or overflows on the device, δ is computed in f64, so that 0 is exact.
            deltas.par_chunks_mut(n).zip(rows.par_chunks(d)).for_each(|(row, x)| {
                for (value, point) in row.iter_mut().zip(fitted.values.chunks(d)) {
                    let in_range = *value > 0.0 && value.is_finite();
                    *value = if in_range { value.recip() } else { distance(x, point, metric) };
                }
            });
            // Initial guesses, q × STARTS × m.
            let mut guesses: Vec<f64> = Vec::new();
            if m > 1 {
                guesses = deltas
                    .par_chunks(n)
                    .flat_map_iter(|delta| if watch.stopped() { vec![0.0; STARTS * m] } else { map.starts(delta) })
                    .collect();
                for start in 0..STARTS {
                    let at = |k: usize, i: usize| (i * STARTS + start) * m + k;
                    let y = (0..m * q).map(|x| guesses[at(x / q, x % q)]).collect();
                    let y = primitive::<B, 2>(y, [m, q], &context.device);
                    let (inverse, fixed) = (inverse.clone(), fixed.clone());
                    let moved = B::sammon_place(inverse, multiplicity.clone(), power, fixed, y, STEPS);
                    B::finish(&context.device, "placing")?;
                    for (x, y) in float_values::<B>(moved.embedding, "placing")?.into_iter().enumerate() {
                        // Guesses that overflow on the device are kept.
                        if y.is_finite() {
                            guesses[at(x / q, x % q)] = y;
                        }
                    }
                }
            }
            let found = places[first * dims..].par_chunks_mut(dims).zip(deltas.par_chunks(n));
            let failed = found.zip(rows.par_chunks(d)).enumerate().filter_map(|(i, ((place, delta), x))| {
                let same = known.get(&key(x)).copied().or_else(|| delta.iter().position(|&delta| delta == 0.0));
                let y = match same {
                    _ if watch.stopped() => vec![0.0; m],
                    Some(j) => map.at(j).to_vec(),
                    None if m == 1 => vec![map.minimum_on_line(&map.pairs(delta, power))],
                    None => map.best(&map.pairs(delta, power), &guesses[i * STARTS * m..(i + 1) * STARTS * m]),
                };
                place.iter_mut().zip(&y).for_each(|(place, y)| *place = y * fitted.unit);
                (!place.iter().all(|x| x.is_finite())).then_some((own.start + first + i + 1) as u64)
            });
            unplaceable.extend(failed.collect::<Vec<_>>());
        }
        if let Some(row) = ranks.all_gather(&unplaceable).first() {
            let what = format!("new point {row} is too far from the map for its distances");
            return Err(Error::input(what, "check the columns' units, or leave the point out"));
        }
        Ok(ranks.all_gather(&places))
    }
}

/// Bits of a point's features, with −0 as 0.
fn key(x: &[f64]) -> Vec<u64> {
    x.iter().map(|x| (x + 0.0).to_bits()).collect()
}

#[cfg(test)]
mod tests {
    use burn_ndarray::NdArray;
    use firebox_core::random::Random;

    use super::*;
    use crate::{config::SammonConfig, model::sammon::Sammon, types::Metric};

    /// The embedding of `points`, and the positions of `new` ones.
    fn placed<B: SammonOps>(config: SammonConfig, points: &[f64], new: &[f64], d: usize) -> (Vec<f64>, Vec<f64>)
    where
        B::Device: Default,
    {
        let context = Context::<B>::new(Default::default());
        let sammon = config.with_tolerance(1e-12).init().unwrap();
        let map = sammon.fit_with(Points::new(points.to_vec(), d).unwrap(), &context).unwrap();
        let new = Points::new(new.to_vec(), d).unwrap();
        let places = map.transform_with(&new, &context).unwrap();
        assert_eq!(places, map.transform_with(&new, &context).unwrap());
        (map.coordinates, places)
    }

    /// Asserts that all distances between new and fixed points are reproduced to a relative `tolerance`.
    fn exact<B: SammonOps>(points: &[f64], new: &[f64], d: usize, m: usize, tolerance: f64)
    where
        B::Device: Default,
    {
        let (map, places) = placed::<B>(SammonConfig::new(m), points, new, d);
        for (x, y) in new.chunks(d).zip(places.chunks(m)) {
            for (point, at) in points.chunks(d).zip(map.chunks(m)) {
                let (delta, got) = (distance(x, point, Metric::Euclidean), distance(y, at, Metric::Euclidean));
                assert!((delta - got).abs() <= tolerance * delta, "{x:?} at {y:?}: {delta} {got}, map {map:?}");
            }
        }
    }

    fn both(points: &[f64], new: &[f64], d: usize, m: usize) {
        exact::<NdArray<f64>>(points, new, d, m, 1e-6);
        exact::<NdArray<f32>>(points, new, d, m, 1e-4);
    }

    #[test]
    fn new_points_among_one_or_two_points_are_exact() {
        both(&[7.0, 1.0], &[10.0, 5.0, 7.0, 1.0], 2, 2);
        both(&[7.0, 1.0], &[10.0, 5.0], 2, 1);
        both(&[7.0, 0.0, 7.0, 5.0], &[7.0, 10.0, 7.0, -3.0, 8.0, 2.0, 7.0, 2.0], 2, 2);
        both(&[7.0, 0.0, 7.0, 5.0], &[7.0, 10.0], 2, 1);
        both(&[1.0, 0.0, 2.0, 0.0, 4.0, 3.0], &[7.0, 7.0, 2.0], 3, 3);
        both(&[0.0, 5.0], &[10.0, 2.0, -1.0], 1, 3);
    }

    #[test]
    fn new_points_off_a_line_are_exact() {
        let line = [0.0, 0.0, 1.0, 0.0, 2.0, 0.0, 3.0, 0.0];
        both(&line, &[10.0, 0.0, 1.5, 2.0, 1.5, 0.0, -4.0, 3.0, 1.0, 1e-3], 2, 2);
        both(&[0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 3.0, 3.0, 3.0], &[5.0, 0.0, 1.0], 3, 3);
    }

    #[test]
    fn new_points_in_one_dimension_are_exact() {
        let new = [0.0, 100.0, 3.0, 6.5, 1.5];
        both(&[1.0, 2.0, 4.0, 8.0], &new, 1, 1);
        let (map, places) = placed::<NdArray<f64>>(SammonConfig::new(1), &[1.0, 2.0, 4.0, 8.0], &new[..1], 1);
        assert!((places[0].abs() - 3.75).abs() < 1e-9 && (places[0] - map[0]).abs() < 1.0 + 1e-9, "{places:?}");
    }

    #[test]
    fn distant_points_are_placed() {
        let square = [0.0, 0.0, 1.0, 0.0, 1.0, 1.0, 0.0, 1.0, 0.4, 0.6];
        let new = [10.0, 10.0, -300.0, 20.0, 0.5, 0.5];
        exact::<NdArray<f64>>(&square, &new, 2, 2, 1e-6);
        let (map, places) = placed::<NdArray<f32>>(SammonConfig::new(2), &square, &[10.0, 10.0], 2);
        // In f32 the direction is known to the precision of differences of distances.
        let expected = [10.0f64.hypot(10.0), 9.0f64.hypot(10.0), 9.0f64.hypot(9.0)];
        for (at, expected) in map.chunks(2).zip(expected) {
            assert!((distance(&places, at, Metric::Euclidean) - expected).abs() < 1e-3, "{places:?} {map:?}");
        }
    }

    #[test]
    fn overflowing_distances_are_refused() {
        let context = Context::<NdArray<f64>>::new(Default::default());
        let square = Points::new(vec![0.0, 0.0, 1.0, 0.0, 1.0, 1.0, 0.0, 1.0], 2).unwrap();
        let map = Sammon::new(2).fit_with(square, &context).unwrap();
        let far = Points::new(vec![1e250, 1.0], 2).unwrap();
        assert!(map.transform_with(&far, &context).unwrap_err().to_string().contains("new point 1 is too far"));
    }

    /// Stress e of a position by its definition.
    fn stress(x: &[f64], y: &[f64], points: &[f64], map: &[f64]) -> f64 {
        let of = points.chunks(x.len()).zip(map.chunks(y.len())).map(|(point, at)| {
            let delta = distance(x, point, Metric::Euclidean);
            (delta - distance(y, at, Metric::Euclidean)).powi(2) / delta
        });
        of.sum()
    }

    #[test]
    fn no_grid_point_has_lower_stress() {
        let mut random = Random::new(3, 3);
        let points: Vec<f64> = (0..40 * 5).map(|_| random.normal()).collect();
        let new: Vec<f64> = (0..20 * 5).map(|at| random.normal() * if at < 50 { 1.0 } else { 6.0 }).collect();
        for m in [1, 2] {
            let (map, places) = placed::<NdArray<f64>>(SammonConfig::new(m), &points, &new, 5);
            for (x, y) in new.chunks(5).zip(places.chunks(m)) {
                let found = stress(x, y, &points, &map);
                for at in 0..if m == 1 { 4001 } else { 161 * 161 } {
                    let grid = |at: usize| (at as f64 - 80.0) * 0.25;
                    let other =
                        if m == 1 { vec![at as f64 * 0.01 - 20.0] } else { vec![grid(at / 161), grid(at % 161)] };
                    let there = stress(x, &other, &points, &map);
                    assert!(found <= there * (1.0 + 1e-9), "{m}: {y:?} {found}, {other:?} {there}");
                }
            }
        }
    }
}
