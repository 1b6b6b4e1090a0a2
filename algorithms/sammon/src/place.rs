//! One new point among fixed ones, on the host in f64: where to begin, the best place on a line, and the last digits.
//!
//! A new point's stress has several minima, and whoever begins within the span of some fixed points never leaves it.
//! So there are several places to begin, on both sides of what the fixed points lie in, and the best of what is found
//! from them is kept.

use faer::{Mat, Side};
use firebox_core::{Error, Result};

/// Places to begin at.
pub(crate) const STARTS: usize = 5;
/// The most of them that are polished.
const POLISHED: usize = 3;
/// Places closer than this share of the nearest δ are taken for the same.
const SAME: f64 = 1e-2;
/// The fixed points do not reach into an axis whose variance is below this share of the largest.
const FLAT: f64 = 1e-9;
/// Evaluations of a polish.
const EVALUATIONS: usize = 80;
/// A polish ends with a step of this share of the place's size.
const SETTLED: f64 = 1e-11;

/// The fixed points.
pub(crate) struct Map {
    n: usize,
    m: usize,
    /// Row-major n × m.
    points: Vec<f64>,
    counts: Vec<f64>,
    mean: Vec<f64>,
    /// Their mean square distance from the mean.
    spread: f64,
    /// Principal axes and the variances along them, largest first.
    axes: Vec<(f64, Vec<f64>)>,
    /// Along the first coordinate.
    order: Vec<usize>,
}

/// δ from a new point to the fixed ones, all above 0, and the weights μ·δ^(−p).
pub(crate) struct Pairs<'a> {
    delta: &'a [f64],
    weight: Vec<f64>,
}

/// e at a place, half its gradient, and half its second derivatives, row-major m × m.
struct Shape {
    stress: f64,
    gradient: Vec<f64>,
    curvature: Vec<f64>,
}

impl Map {
    /// `fixed` is `[k, n]`, k ≤ m; the coordinates from k on are 0.
    pub(crate) fn new(fixed: &[f64], counts: &[u32], m: usize) -> Result<Self> {
        let n = counts.len();
        let points: Vec<f64> =
            (0..n * m).map(|at| fixed.get(at % m * n + at / m).copied().unwrap_or_default()).collect();
        let counts: Vec<f64> = counts.iter().map(|&count| f64::from(count)).collect();
        let total: f64 = counts.iter().sum();
        let mut mean = vec![0.0; m];
        for (y, count) in points.chunks(m).zip(&counts) {
            mean.iter_mut().zip(y).for_each(|(mean, y)| *mean += y * count / total);
        }
        let mut covariance = Mat::<f64>::zeros(m, m);
        for (y, count) in points.chunks(m).zip(&counts) {
            for a in 0..m {
                for b in 0..=a {
                    covariance[(a, b)] += (y[a] - mean[a]) * (y[b] - mean[b]) * count / total;
                }
            }
        }
        let eigen = covariance.self_adjoint_eigen(Side::Lower).map_err(|what| Error::Run {
            device: "the host".into(),
            phase: "placing".into(),
            what: format!("no axes of the map: {what:?}"),
        })?;
        let axis = |k: usize| (eigen.S().column_vector()[k], (0..m).map(|a| eigen.U()[(a, k)]).collect());
        let axes: Vec<(f64, Vec<f64>)> = (0..m).rev().map(axis).collect();
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by(|&a, &b| points[a * m].total_cmp(&points[b * m]).then(a.cmp(&b)));
        let spread = (0..m).map(|a| covariance[(a, a)]).sum();
        Ok(Self { n, m, points, counts, mean, spread, axes, order })
    }

    /// The place of a fixed point.
    pub(crate) fn at(&self, j: usize) -> &[f64] {
        &self.points[j * self.m..(j + 1) * self.m]
    }

    pub(crate) fn pairs<'a>(&self, delta: &'a [f64], power: f64) -> Pairs<'a> {
        let weigh = |(delta, count): (&f64, &f64)| {
            let weight = if power == 1.0 { delta.recip() } else { delta.powf(-power) };
            count * weight
        };
        Pairs { delta, weight: delta.iter().zip(&self.counts).map(weigh).collect() }
    }

    /// The best place of m = 1: between two fixed points the stress is a parabola, so that all of its minima are known.
    pub(crate) fn on_a_line(&self, pairs: &Pairs<'_>) -> f64 {
        // A fixed point on the right asks for its place − δ, one on the left for its place + δ.
        let asks = |j: usize, side: f64| self.points[j] + side * pairs.delta[j];
        let total: f64 = pairs.weight.iter().sum();
        let mut sum: f64 = (0..self.n).map(|j| pairs.weight[j] * asks(j, -1.0)).sum();
        let (mut best, mut least) = (0.0, f64::INFINITY);
        // By how much a parabola lies above the first, without what all have.
        let mut above = 0.0;
        let start = sum / total;
        for k in 0..=self.n {
            if k > 0 {
                let j = self.order[k - 1];
                let (left, right) = (asks(j, 1.0) - start, asks(j, -1.0) - start);
                sum += 2.0 * pairs.weight[j] * pairs.delta[j];
                above += pairs.weight[j] * (left - right) * (left + right);
            }
            let low = if k > 0 { self.points[self.order[k - 1]] } else { f64::NEG_INFINITY };
            let high = self.order.get(k).map_or(f64::INFINITY, |&j| self.points[j]);
            let y = (sum / total).clamp(low, high);
            let moved = y - start;
            let stress = above + total * moved * (moved - 2.0 * (sum / total - start));
            if stress < least {
                (best, least) = (y, stress);
            }
        }
        best
    }

    /// Where a point begins, [`STARTS`] × m.
    pub(crate) fn starts(&self, delta: &[f64]) -> Vec<f64> {
        let m = self.m;
        let total: f64 = self.counts.iter().sum();
        let square = delta.iter().zip(&self.counts).map(|(delta, count)| delta * delta * count / total).sum::<f64>();
        // Squared distances are met best, in the least squares of the linear equations that their differences are.
        let mut right = vec![0.0; m];
        for (j, y) in self.points.chunks(m).enumerate() {
            let z2: f64 = y.iter().zip(&self.mean).map(|(y, mean)| (y - mean).powi(2)).sum();
            let by = -0.5 * (delta[j] * delta[j] - square - z2 + self.spread) * self.counts[j] / total;
            right.iter_mut().zip(y.iter().zip(&self.mean)).for_each(|(sum, (y, mean))| *sum += by * (y - mean));
        }
        let most = self.axes[0].0;
        let along = |(variance, axis): &(f64, Vec<f64>)| {
            let flat = *variance <= FLAT * most || *variance <= 0.0;
            (!flat).then(|| axis.iter().zip(&right).map(|(axis, x)| axis * x).sum::<f64>() / variance)
        };
        let along: Vec<Option<f64>> = self.axes.iter().map(along).collect();
        // What the distances leave for the axis that the map reaches least into, which has two sides.
        let reached: f64 = along[..m - 1].iter().flatten().map(|x| x * x).sum();
        let height = (square - self.spread - reached).max(0.0).sqrt();
        let place = |last: f64| {
            let mut place = self.mean.clone();
            let along = along[..m - 1].iter().map(|x| x.unwrap_or(0.0)).chain([last]);
            for (x, (_, axis)) in along.zip(&self.axes) {
                place.iter_mut().zip(axis).for_each(|(place, axis)| *place += x * axis);
            }
            place
        };
        let linear = place(along[m - 1].unwrap_or(height));

        let mut nearest: Vec<usize> = (0..self.n).collect();
        let count = (m + 2).min(self.n);
        let by = |a: &usize, b: &usize| delta[*a].total_cmp(&delta[*b]).then(a.cmp(b));
        if count < self.n {
            nearest.select_nth_unstable_by(count, by);
            nearest.truncate(count);
        }
        nearest.sort_by(by);
        let (first, weights) = (nearest[0], nearest.iter().map(|&j| delta[j].recip()).sum::<f64>());
        let reflected = self.at(first).iter().zip(&linear).map(|(near, x)| 2.0 * near - x);
        // The mean of neighbours lies in what they span: half of the nearest's δ leads out of it.
        let aside = &self.axes[m - 1].1;
        let mean = (0..m).map(|k| {
            let mean = nearest.iter().map(|&j| self.at(j)[k] / delta[j]).sum::<f64>() / weights;
            mean + 0.5 * delta[first] * aside[k]
        });
        let mut starts: Vec<f64> = mean.collect();
        starts.extend(reflected);
        starts.extend(place(height));
        starts.extend(place(-height));
        starts.extend(linear);
        starts
    }

    /// The best place that is found from `begin`, s × m.
    pub(crate) fn best(&self, pairs: &Pairs<'_>, begin: &[f64]) -> Vec<f64> {
        let mut begin: Vec<(f64, &[f64])> = begin.chunks(self.m).map(|y| (self.stress(pairs, y), y)).collect();
        begin.sort_by(|a, b| a.0.total_cmp(&b.0));
        let close = SAME * pairs.delta.iter().copied().fold(f64::INFINITY, f64::min);
        let mut found: Vec<(f64, Vec<f64>)> = Vec::new();
        for (_, y) in begin {
            if found.len() < POLISHED && found.iter().all(|(_, other)| apart(other, y) > close) {
                found.push(self.polish(pairs, y));
            }
        }
        found.into_iter().min_by(|a, b| a.0.total_cmp(&b.0)).map_or_else(|| self.mean.clone(), |(_, y)| y)
    }

    fn stress(&self, pairs: &Pairs<'_>, y: &[f64]) -> f64 {
        let of = pairs.delta.iter().zip(&pairs.weight).zip(self.points.chunks(self.m));
        of.map(|((delta, weight), other)| weight * (delta - apart(y, other)).powi(2)).sum()
    }

    fn shape(&self, pairs: &Pairs<'_>, y: &[f64]) -> Shape {
        let m = self.m;
        let mut shape = Shape { stress: 0.0, gradient: vec![0.0; m], curvature: vec![0.0; m * m] };
        let (mut isotropic, mut by) = (0.0, vec![0.0; m]);
        for ((&delta, &weight), other) in pairs.delta.iter().zip(&pairs.weight).zip(self.points.chunks(m)) {
            let mut square = 0.0;
            for k in 0..m {
                by[k] = y[k] - other[k];
                square += by[k] * by[k];
            }
            let d = square.sqrt();
            shape.stress += weight * (delta - d) * (delta - d);
            if d == 0.0 {
                // Coincident points push nowhere.
                isotropic += weight;
                continue;
            }
            let pull = weight * (d - delta) / d;
            isotropic += pull;
            let radial = weight * delta / (d * square);
            for a in 0..m {
                shape.gradient[a] += pull * by[a];
                for b in 0..=a {
                    shape.curvature[a * m + b] += radial * by[a] * by[b];
                }
            }
        }
        (0..m).for_each(|a| shape.curvature[a * m + a] += isotropic);
        shape
    }

    /// Damped Newton steps, none of which makes the stress larger.
    fn polish(&self, pairs: &Pairs<'_>, begin: &[f64]) -> (f64, Vec<f64>) {
        let mut y = begin.to_vec();
        let mut shape = self.shape(pairs, &y);
        let size = apart(&y, &self.mean) + self.spread.sqrt();
        // With the sum of the weights for curvature a step is to the minimum of a parabola above the stress.
        let total: f64 = pairs.weight.iter().sum();
        let mut damping = 0.0;
        for _ in 0..EVALUATIONS {
            let Some(step) = newton(&shape, damping * total) else {
                damping = (4.0 * damping).max(1e-3);
                continue;
            };
            let next: Vec<f64> = y.iter().zip(&step).map(|(y, step)| y - step).collect();
            let there = self.shape(pairs, &next);
            let better = there.stress < shape.stress;
            if better {
                (y, shape) = (next, there);
                damping = if damping > 1e-6 { damping / 8.0 } else { 0.0 };
            }
            if step.iter().map(|x| x * x).sum::<f64>().sqrt() <= SETTLED * size || damping > 1e9 {
                break;
            }
            if !better {
                damping = (4.0 * damping).max(1e-3);
            }
        }
        (shape.stress, y)
    }
}

fn apart(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
}

/// The solution of (curvature + damping)·x = gradient by Cholesky; `None` where that is not positive.
fn newton(shape: &Shape, damping: f64) -> Option<Vec<f64>> {
    let (m, mut l) = (shape.gradient.len(), shape.curvature.clone());
    let mut x = shape.gradient.clone();
    for a in 0..m {
        let whole = l[a * m + a] + damping;
        for b in 0..a {
            let inner: f64 = (0..b).map(|k| l[a * m + k] * l[b * m + k]).sum();
            l[a * m + b] = (l[a * m + b] - inner) / l[b * m + b];
        }
        let pivot = whole - (0..a).map(|k| l[a * m + k].powi(2)).sum::<f64>();
        if pivot.is_nan() || pivot <= 1e-14 * whole.abs() {
            return None;
        }
        l[a * m + a] = pivot.sqrt();
        x[a] = (x[a] - (0..a).map(|k| l[a * m + k] * x[k]).sum::<f64>()) / l[a * m + a];
    }
    for a in (0..m).rev() {
        x[a] = (x[a] - (a + 1..m).map(|k| l[k * m + a] * x[k]).sum::<f64>()) / l[a * m + a];
    }
    Some(x)
}
