//! New points into a fixed embedding, each by itself.

use std::collections::HashMap;

use burn::tensor::Tensor;
use firebox_backends::limits::{Buffer, admit};
use firebox_core::{Context, Error, Result, data::Points, observe, tensor::floats};

use crate::{
    Embedding, Metric, Sammon, SammonConfig, SammonOps,
    input::{Frame, Host, Prepared},
    plan::{columns, float, tensor},
};

/// Numbers of a block of 1/δ between new points and fixed ones.
const BLOCK: usize = 1 << 24;
/// Steps of a call, and the most calls.
const STEPS: usize = 50;
const CALLS: usize = 20;
/// A point is placed when a call lowers no stress by more than this share.
const SETTLED: f64 = 1e-5;

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
    /// where its own stress is least near the places of its nearest neighbours. One equal to a fixed point gets its
    /// place. Gives `[Q, m]` in the source's unit.
    ///
    /// Fails if the embedding was made from distances, if d differs, or if a number is not finite.
    pub fn transform<B: SammonOps>(&self, embedding: &Embedding<B>, points: Tensor<B, 2>) -> Result<Tensor<B, 2>> {
        let context = Context::new(points.device());
        let [rows, d] = points.dims();
        let points = Points::new(points.into_data().iter::<f64>().collect(), d)?;
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
        let values = model.frame.apply(&points.values, |i| i)?;
        let known = model.known();
        let n = model.counts.len();
        let m = model.fixed.len() / n;
        let width = size_of::<B::FloatElem>();
        let height = (BLOCK / n).clamp(1, points.rows);
        let plan = [
            Buffer::new("points", (n as u128 + height as u128) * model.d as u128, width),
            Buffer::new("1/δ of new points", height as u128 * n as u128, width),
        ];
        admit(context, &plan, "take fewer points, or a device with more memory")?;
        let counts = model.counts.iter().map(|&count| f64::from(count)).collect();
        let multiplicity = float::<B, 1>(counts, [n], &context.device);
        let fixed = float::<B, 2>(model.fixed.clone(), [m, n], &context.device);
        let all = columns::<B>(&model.values, model.d, &context.device);

        let mut places = vec![0.0; points.rows * model.dims];
        for (block, rows) in values.chunks(height * model.d).enumerate() {
            let first = block * height;
            observe::checkpoint(&*context.observer, "placing", first as u64, points.rows as u64)?;
            let q = rows.len() / model.d;
            let new = columns::<B>(rows, model.d, &context.device);
            let inverse = B::sammon_inverse(new, all.clone(), None, model.metric);
            let near: Vec<f64> = tensor::<B, 2>(inverse.clone()).into_data().iter::<f64>().collect();
            let mut y = float::<B, 2>(beginnings(&near, &model.fixed, q, n, m), [m, q], &context.device);
            for _ in 0..CALLS {
                let moved =
                    B::sammon_place(inverse.clone(), multiplicity.clone(), model.power, fixed.clone(), y, STEPS);
                B::finish(&context.device, "placing")?;
                y = moved.force;
                let stress: Vec<f64> = tensor::<B, 2>(moved.stress).into_data().iter::<f64>().collect();
                let (before, after) = (&stress[..q], &stress[stress.len() - q..]);
                if before.iter().zip(after).all(|(before, after)| before - after <= SETTLED * before) {
                    break;
                }
            }
            let y: Vec<f64> = tensor::<B, 2>(y).into_data().iter::<f64>().collect();
            for (i, x) in rows.chunks(model.d).enumerate() {
                let place = &mut places[(first + i) * model.dims..];
                let same = known.get(&key(x));
                for k in 0..m {
                    place[k] = same.map_or(y[k * q + i], |&j| model.fixed[k * n + j]) * model.unit;
                }
            }
        }
        Ok(places)
    }
}

/// Where new points begin, `[m, q]`: the mean place of their nearest fixed points, weighted by 1/δ `[q, n]`.
fn beginnings(inverse: &[f64], fixed: &[f64], q: usize, n: usize, m: usize) -> Vec<f64> {
    let mut begin = vec![0.0; m * q];
    for (i, row) in inverse.chunks(n).enumerate() {
        let mut nearest: Vec<(f64, usize)> = row.iter().copied().zip(0..).collect();
        let count = (m + 2).min(n);
        if count < n {
            nearest.select_nth_unstable_by(count, |a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            nearest.truncate(count);
        }
        nearest.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let total: f64 = nearest.iter().map(|(w, _)| w).sum();
        for k in 0..m {
            let mean = nearest.iter().map(|&(w, j)| w * fixed[k * n + j]).sum::<f64>() / total;
            begin[k * q + i] = if mean.is_finite() { mean } else { 0.0 };
        }
    }
    begin
}
