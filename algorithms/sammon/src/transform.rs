//! New points into a fixed embedding, each by itself.

use std::collections::HashMap;

use burn::tensor::Tensor;
use firebox_backends::limits::{Buffer, admit};
use firebox_core::{
    Context, Error, Result,
    data::Points,
    tensor::{floats, primitive, read_floats, tensor},
    watch::Watch,
};
use rayon::prelude::*;

use crate::{
    Embedding, Metric, Sammon, SammonConfig, SammonOps,
    input::{Frame, Host, Prepared, distance},
    place::{Map, STARTS},
    plan::columns,
};

/// Numbers of a block of 1/δ between new points and fixed ones.
const BLOCK: usize = 1 << 24;
/// Steps on the device from each start: enough to know which minimum is the best; the host goes to its bottom.
const STEPS: usize = 50;

/// What new points are placed by.
#[derive(Debug, Clone)]
pub(crate) struct Model {
    values: Vec<f64>,
    d: usize,
    metric: Metric,
    frame: Frame,
    counts: Vec<u32>,
    unit: f64,
    /// `[m, n]`
    fixed: Vec<f64>,
    dims: usize,
    power: f64,
}

impl Model {
    /// `None` of distances, which no new point has.
    pub(crate) fn new(prepared: Prepared, fixed: Vec<f64>, config: &SammonConfig) -> Option<Self> {
        match prepared.host {
            Host::Features { values, d, metric, frame } => Some(Self {
                values,
                d,
                metric,
                frame,
                counts: prepared.counts,
                unit: prepared.unit,
                fixed,
                dims: config.dims,
                power: config.power,
            }),
            Host::Distances(_) => None,
        }
    }

    /// δ `[q, n]` of new points from 1/δ. Where the device's float has none, be it too small or too large, it is found
    /// from the features in f64: 0 then means 0.
    fn deltas(&self, mut inverse: Vec<f64>, rows: &[f64]) -> Vec<f64> {
        let n = self.counts.len();
        inverse.par_chunks_mut(n).zip(rows.par_chunks(self.d)).for_each(|(row, x)| {
            for (value, point) in row.iter_mut().zip(self.values.chunks(self.d)) {
                let there = *value > 0.0 && value.is_finite();
                *value = if there { value.recip() } else { distance(x, point, self.metric) };
            }
        });
        inverse
    }

    /// The fixed points by the bits of their features.
    fn known(&self) -> HashMap<Vec<u64>, usize> {
        self.values.chunks(self.d).enumerate().map(|(i, x)| (key(x), i)).collect()
    }
}

fn key(x: &[f64]) -> Vec<u64> {
    x.iter().map(|x| (x + 0.0).to_bits()).collect()
}

impl Sammon {
    /// Places new points `[Q, d]` among those of `embedding`, which stay where they are; each new point by itself,
    /// where its own stress is least: on a line for certain, else the least of what is found from several starts. One
    /// at no distance from a fixed point gets its place. Gives `[Q, m]` in the source's unit.
    ///
    /// Fails if the embedding was made from distances, if d differs, or if a number is not finite.
    pub fn transform<B: SammonOps>(&self, embedding: &Embedding<B>, points: Tensor<B, 2>) -> Result<Tensor<B, 2>> {
        let context = Context::new(points.device());
        let [rows, d] = points.dims();
        let points = Points::new(read_floats(points, "reading")?, d)?;
        let places = self.place(embedding, &points, &context)?;
        Ok(floats(places, [rows, self.config().dims], &context.device))
    }

    /// The same on the host: row-major Q × m.
    pub fn place<B: SammonOps>(
        &self,
        embedding: &Embedding<B>,
        points: &Points,
        context: &Context<B>,
    ) -> Result<Vec<f64>> {
        let Some(model) = &embedding.model else {
            let help = "give the points' features instead of their distances";
            return Err(Error::input("an embedding of precomputed distances cannot take new points", help));
        };
        if points.columns != model.d {
            let what = format!("the new points have {} coordinates; those of the map have {}", points.columns, model.d);
            return Err(Error::input(what, "give the same columns in the same order"));
        }
        // Each rank its rows, in as many rounds as the first, who has the most.
        let ranks = &*context.communicator;
        let parts = ranks.share().all(points.rows, 1);
        let (own, most) = (parts[ranks.rank()].clone(), parts[0].len());
        let values = model.frame.apply(&points.values, |i| i)?;
        let values = &values[own.start * model.d..own.end * model.d];
        let known = model.known();
        let n = model.counts.len();
        // Two points lie on a line, but a new one may be beside it.
        let m = model.dims.min(model.d);
        let map = Map::new(&model.fixed, &model.counts, m)?;
        let width = size_of::<B::FloatElem>();
        let height = (BLOCK / n).clamp(1, most.max(1));
        let plan = [
            Buffer::new("points", (n as u128 + height as u128) * model.d as u128, width),
            Buffer::new("1/δ of new points", height as u128 * n as u128, width),
        ];
        admit(context, &plan, "take fewer points, or a device with more memory")?;
        let counts = model.counts.iter().map(|&count| f64::from(count)).collect();
        let multiplicity = primitive::<B, 1>(counts, [n], &context.device);
        let fixed: Vec<f64> = (0..m * n).map(|at| map.at(at % n)[at / n]).collect();
        let fixed = primitive::<B, 2>(fixed, [m, n], &context.device);
        let all = columns::<B>(&model.values, model.d, &context.device);

        let mut places = vec![0.0; own.len() * model.dims];
        let mut far = Vec::new();
        let watch = Watch::current();
        for first in (0..most).step_by(height) {
            context.checkpoint("placing", first as u64, most as u64)?;
            let rows = &values[(first * model.d).min(values.len())..((first + height) * model.d).min(values.len())];
            if rows.is_empty() {
                continue;
            }
            let q = rows.len() / model.d;
            let new = columns::<B>(rows, model.d, &context.device);
            let inverse = B::sammon_inverse(new, all.clone(), None, model.metric);
            let deltas = model.deltas(read_floats(tensor::<B, 2>(inverse.clone()), "placing")?, rows);
            // q × STARTS × m
            let mut begin: Vec<f64> = Vec::new();
            if m > 1 {
                begin = deltas
                    .par_chunks(n)
                    .flat_map_iter(|delta| if watch.stopped() { vec![0.0; STARTS * m] } else { map.starts(delta) })
                    .collect();
                for start in 0..STARTS {
                    let at = |k: usize, i: usize| (i * STARTS + start) * m + k;
                    let y = (0..m * q).map(|x| begin[at(x / q, x % q)]).collect();
                    let y = primitive::<B, 2>(y, [m, q], &context.device);
                    let (inverse, fixed) = (inverse.clone(), fixed.clone());
                    let moved = B::sammon_place(inverse, multiplicity.clone(), model.power, fixed, y, STEPS);
                    B::finish(&context.device, "placing")?;
                    for (x, y) in read_floats(tensor::<B, 2>(moved.force), "placing")?.into_iter().enumerate() {
                        // What is beyond the backend's float stays where it began.
                        if y.is_finite() {
                            begin[at(x / q, x % q)] = y;
                        }
                    }
                }
            }
            let found = places[first * model.dims..].par_chunks_mut(model.dims).zip(deltas.par_chunks(n));
            let beyond = found.zip(rows.par_chunks(model.d)).enumerate().filter_map(|(i, ((place, delta), x))| {
                let same = known.get(&key(x)).copied().or_else(|| delta.iter().position(|&delta| delta == 0.0));
                let y = match same {
                    _ if watch.stopped() => vec![0.0; m],
                    Some(j) => map.at(j).to_vec(),
                    None if m == 1 => vec![map.on_a_line(&map.pairs(delta, model.power))],
                    None => map.best(&map.pairs(delta, model.power), &begin[i * STARTS * m..(i + 1) * STARTS * m]),
                };
                place.iter_mut().zip(&y).for_each(|(place, y)| *place = y * model.unit);
                (!place.iter().all(|x| x.is_finite())).then_some((own.start + first + i + 1) as u64)
            });
            far.extend(beyond.collect::<Vec<_>>());
        }
        if let Some(row) = ranks.all_gather(&far).first() {
            let what = format!("new point {row} is too far from the map for its distances");
            return Err(Error::input(what, "check the columns' units, or leave the point out"));
        }
        Ok(ranks.all_gather(&places))
    }
}

#[cfg(test)]
mod tests {
    use burn_ndarray::NdArray;
    use firebox_core::{Algorithm, random::Random};

    use super::*;

    /// The map of `points`, and the places of `new` ones.
    fn placed<B: SammonOps>(config: SammonConfig, points: &[f64], new: &[f64], d: usize) -> (Vec<f64>, Vec<f64>)
    where
        B::Device: Default,
    {
        let context = Context::<B>::new(Default::default());
        let sammon = config.with_tolerance(1e-12).init().unwrap();
        let map = sammon.run(Points::new(points.to_vec(), d).unwrap().into(), &context).unwrap();
        let new = Points::new(new.to_vec(), d).unwrap();
        let places = sammon.place(&map, &new, &context).unwrap();
        assert_eq!(places, sammon.place(&map, &new, &context).unwrap());
        (map.coordinates, places)
    }

    /// All distances between new points and fixed ones are met, but for a share.
    fn exact<B: SammonOps>(points: &[f64], new: &[f64], d: usize, m: usize, share: f64)
    where
        B::Device: Default,
    {
        let (map, places) = placed::<B>(SammonConfig::new(m), points, new, d);
        for (x, y) in new.chunks(d).zip(places.chunks(m)) {
            for (point, at) in points.chunks(d).zip(map.chunks(m)) {
                let (delta, got) = (distance(x, point, Metric::Euclidean), distance(y, at, Metric::Euclidean));
                assert!((delta - got).abs() <= share * delta, "{x:?} at {y:?}: {delta} {got}, map {map:?}");
            }
        }
    }

    fn both(points: &[f64], new: &[f64], d: usize, m: usize) {
        exact::<NdArray<f64>>(points, new, d, m, 1e-6);
        exact::<NdArray<f32>>(points, new, d, m, 1e-4);
    }

    #[test]
    fn beside_one_or_two_points() {
        both(&[7.0, 1.0], &[10.0, 5.0, 7.0, 1.0], 2, 2);
        both(&[7.0, 1.0], &[10.0, 5.0], 2, 1);
        both(&[7.0, 0.0, 7.0, 5.0], &[7.0, 10.0, 7.0, -3.0, 8.0, 2.0, 7.0, 2.0], 2, 2);
        both(&[7.0, 0.0, 7.0, 5.0], &[7.0, 10.0], 2, 1);
        both(&[1.0, 0.0, 2.0, 0.0, 4.0, 3.0], &[7.0, 7.0, 2.0], 3, 3);
        both(&[0.0, 5.0], &[10.0, 2.0, -1.0], 1, 3);
    }

    #[test]
    fn beside_points_of_a_line() {
        let line = [0.0, 0.0, 1.0, 0.0, 2.0, 0.0, 3.0, 0.0];
        both(&line, &[10.0, 0.0, 1.5, 2.0, 1.5, 0.0, -4.0, 3.0, 1.0, 1e-3], 2, 2);
        both(&[0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 3.0, 3.0, 3.0], &[5.0, 0.0, 1.0], 3, 3);
    }

    #[test]
    fn in_one_dimension() {
        let new = [0.0, 100.0, 3.0, 6.5, 1.5];
        both(&[1.0, 2.0, 4.0, 8.0], &new, 1, 1);
        let (map, places) = placed::<NdArray<f64>>(SammonConfig::new(1), &[1.0, 2.0, 4.0, 8.0], &new[..1], 1);
        assert!((places[0].abs() - 3.75).abs() < 1e-9 && (places[0] - map[0]).abs() < 1.0 + 1e-9, "{places:?}");
    }

    #[test]
    fn far_from_the_map() {
        let square = [0.0, 0.0, 1.0, 0.0, 1.0, 1.0, 0.0, 1.0, 0.4, 0.6];
        let new = [10.0, 10.0, -300.0, 20.0, 0.5, 0.5];
        exact::<NdArray<f64>>(&square, &new, 2, 2, 1e-6);
        let (map, places) = placed::<NdArray<f32>>(SammonConfig::new(2), &square, &[10.0, 10.0], 2);
        // In f32 the direction is known to the digits of the distances' differences.
        let wanted = [10.0f64.hypot(10.0), 9.0f64.hypot(10.0), 9.0f64.hypot(9.0)];
        for (at, wanted) in map.chunks(2).zip(wanted) {
            assert!((distance(&places, at, Metric::Euclidean) - wanted).abs() < 1e-3, "{places:?} {map:?}");
        }
    }

    #[test]
    fn too_far_for_any_number() {
        let context = Context::<NdArray<f64>>::new(Default::default());
        let sammon = SammonConfig::new(2).init().unwrap();
        let square = Points::new(vec![0.0, 0.0, 1.0, 0.0, 1.0, 1.0, 0.0, 1.0], 2).unwrap();
        let map = sammon.run(square.into(), &context).unwrap();
        let far = Points::new(vec![1e250, 1.0], 2).unwrap();
        assert!(sammon.place(&map, &far, &context).unwrap_err().to_string().contains("new point 1 is too far"));
    }

    /// e of a place by its definition.
    fn stress(x: &[f64], y: &[f64], points: &[f64], map: &[f64]) -> f64 {
        let of = points.chunks(x.len()).zip(map.chunks(y.len())).map(|(point, at)| {
            let delta = distance(x, point, Metric::Euclidean);
            (delta - distance(y, at, Metric::Euclidean)).powi(2) / delta
        });
        of.sum()
    }

    #[test]
    fn no_place_of_a_grid_is_better() {
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
