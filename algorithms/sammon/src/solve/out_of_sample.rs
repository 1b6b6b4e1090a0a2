//! Placement of a new point among fixed ones, on the host in f64: initial guesses, exact minimum in one dimension, and
//! Newton refinement.
//!
//! The stress of a new point has several minima, and an iterate in the affine span of the fixed points never leaves it.
//! So several initial guesses, on both sides of that span, are refined, and the best result is kept.

use faer::{Mat, Side};
use firebox_core::{Error, Result};

/// Number of initial guesses.
pub(crate) const STARTS: usize = 5;
/// Maximum number of refined guesses.
const REFINED: usize = 3;
/// Fraction of the smallest δ below which two positions count as equal.
const SAME: f64 = 1e-2;
/// Fraction of the largest variance below which an axis counts as having no extent.
const FLAT: f64 = 1e-9;
/// Maximum evaluations of a refinement.
const EVALUATIONS: usize = 80;
/// Length of a step, relative to the extent of map and position, at which a refinement ends.
const SETTLED: f64 = 1e-11;

/// The fixed points.
pub(crate) struct FixedPoints {
    n: usize,
    m: usize,
    /// Row-major n × m.
    points: Vec<f64>,
    counts: Vec<f64>,
    mean: Vec<f64>,
    /// Mean squared distance from the mean.
    spread: f64,
    /// Variances and principal axes, largest variance first.
    axes: Vec<(f64, Vec<f64>)>,
    /// Indices sorted by the first coordinate.
    order: Vec<usize>,
}

/// Distances δ > 0 from a new point to the fixed ones, and weights μ·δ^(−p).
pub(crate) struct Pairs<'a> {
    delta: &'a [f64],
    weight: Vec<f64>,
}

/// Stress e at a position, half its gradient, and half the lower triangle of its Hessian, row-major m × m.
struct Derivatives {
    stress: f64,
    gradient: Vec<f64>,
    hessian: Vec<f64>,
}

impl FixedPoints {
    /// From an embedding `[k, n]`, k ≤ m; coordinates from k on are 0.
    pub(crate) fn new(fixed: &[f64], counts: &[f64], m: usize) -> Result<Self> {
        let n = counts.len();
        let points: Vec<f64> =
            (0..n * m).map(|at| fixed.get(at % m * n + at / m).copied().unwrap_or_default()).collect();
        let total: f64 = counts.iter().sum();
        let mut mean = vec![0.0; m];
        for (y, count) in points.chunks(m).zip(counts) {
            mean.iter_mut().zip(y).for_each(|(mean, y)| *mean += y * count / total);
        }
        let mut covariance = Mat::<f64>::zeros(m, m);
        for (y, count) in points.chunks(m).zip(counts) {
            for a in 0..m {
                for b in 0..=a {
                    covariance[(a, b)] += (y[a] - mean[a]) * (y[b] - mean[b]) * count / total;
                }
            }
        }
        let eigen = covariance.self_adjoint_eigen(Side::Lower).map_err(|what| Error::Run {
            device: "the host".into(),
            phase: "placing".into(),
            what: format!("no principal axes of the map: {what:?}"),
        })?;
        let axis = |k: usize| (eigen.S().column_vector()[k], (0..m).map(|a| eigen.U()[(a, k)]).collect());
        let axes: Vec<(f64, Vec<f64>)> = (0..m).rev().map(axis).collect();
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by(|&a, &b| points[a * m].total_cmp(&points[b * m]).then(a.cmp(&b)));
        let spread = (0..m).map(|a| covariance[(a, a)]).sum();
        Ok(Self { n, m, points, counts: counts.to_vec(), mean, spread, axes, order })
    }

    /// Position of fixed point j.
    pub(crate) fn at(&self, j: usize) -> &[f64] {
        &self.points[j * self.m..(j + 1) * self.m]
    }

    /// Pairs of a new point at distances `delta`.
    pub(crate) fn pairs<'a>(&self, delta: &'a [f64], power: f64) -> Pairs<'a> {
        let weigh = |(delta, count): (&f64, &f64)| {
            let weight = if power == 1.0 { delta.recip() } else { delta.powf(-power) };
            count * weight
        };
        Pairs { delta, weight: delta.iter().zip(&self.counts).map(weigh).collect() }
    }

    /// Global minimum for m = 1: between neighbouring fixed points the stress is a parabola, so all minima are known.
    pub(crate) fn minimum_on_line(&self, pairs: &Pairs<'_>) -> f64 {
        // A fixed point to the right of y has its minimum at its position − δ, one to the left at its position + δ.
        let target = |j: usize, side: f64| self.points[j] + side * pairs.delta[j];
        let total: f64 = pairs.weight.iter().sum();
        let mut sum: f64 = (0..self.n).map(|j| pairs.weight[j] * target(j, -1.0)).sum();
        let (mut best, mut least) = (0.0, f64::INFINITY);
        // Offset of the current parabola from the first.
        let mut offset = 0.0;
        let start = sum / total;
        for k in 0..=self.n {
            if k > 0 {
                let j = self.order[k - 1];
                let (left, right) = (target(j, 1.0) - start, target(j, -1.0) - start);
                sum += 2.0 * pairs.weight[j] * pairs.delta[j];
                offset += pairs.weight[j] * (left - right) * (left + right);
            }
            let low = if k > 0 { self.points[self.order[k - 1]] } else { f64::NEG_INFINITY };
            let high = self.order.get(k).map_or(f64::INFINITY, |&j| self.points[j]);
            let y = (sum / total).clamp(low, high);
            let moved = y - start;
            let stress = offset + total * moved * (moved - 2.0 * (sum / total - start));
            if stress < least {
                (best, least) = (y, stress);
            }
        }
        best
    }

    /// Initial guesses, [`STARTS`] × m, for a new point at distances `delta`.
    pub(crate) fn starts(&self, delta: &[f64]) -> Vec<f64> {
        let m = self.m;
        let total: f64 = self.counts.iter().sum();
        let square = delta.iter().zip(&self.counts).map(|(delta, count)| delta * delta * count / total).sum::<f64>();
        // Least squares of the linear equations that differences of squared distances give.
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
        // Remaining distance along the axis of least variance, on either side.
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
        // The mean of neighbours lies in their span: an offset of half the smallest δ leads out of it.
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

    /// Best refined position from initial guesses `starts`, s × m.
    pub(crate) fn best(&self, pairs: &Pairs<'_>, starts: &[f64]) -> Vec<f64> {
        let mut starts: Vec<(f64, &[f64])> = starts.chunks(self.m).map(|y| (self.stress(pairs, y), y)).collect();
        starts.sort_by(|a, b| a.0.total_cmp(&b.0));
        let close = SAME * pairs.delta.iter().copied().fold(f64::INFINITY, f64::min);
        let mut found: Vec<(f64, Vec<f64>)> = Vec::new();
        for (_, y) in starts {
            if found.len() < REFINED && found.iter().all(|(_, other)| distance(other, y) > close) {
                found.push(self.refine(pairs, y));
            }
        }
        found.into_iter().min_by(|a, b| a.0.total_cmp(&b.0)).map_or_else(|| self.mean.clone(), |(_, y)| y)
    }

    /// Stress e at `y`.
    fn stress(&self, pairs: &Pairs<'_>, y: &[f64]) -> f64 {
        let of = pairs.delta.iter().zip(&pairs.weight).zip(self.points.chunks(self.m));
        of.map(|((delta, weight), other)| weight * (delta - distance(y, other)).powi(2)).sum()
    }

    /// Stress with derivatives at `y`.
    fn derivatives(&self, pairs: &Pairs<'_>, y: &[f64]) -> Derivatives {
        let m = self.m;
        let mut current = Derivatives { stress: 0.0, gradient: vec![0.0; m], hessian: vec![0.0; m * m] };
        let (mut isotropic, mut by) = (0.0, vec![0.0; m]);
        for ((&delta, &weight), other) in pairs.delta.iter().zip(&pairs.weight).zip(self.points.chunks(m)) {
            let mut square = 0.0;
            for k in 0..m {
                by[k] = y[k] - other[k];
                square += by[k] * by[k];
            }
            let d = square.sqrt();
            current.stress += weight * (delta - d) * (delta - d);
            if d == 0.0 {
                // Coincident points exert no force.
                isotropic += weight;
                continue;
            }
            let pull = weight * (d - delta) / d;
            isotropic += pull;
            let radial = weight * delta / (d * square);
            for a in 0..m {
                current.gradient[a] += pull * by[a];
                for b in 0..=a {
                    current.hessian[a * m + b] += radial * by[a] * by[b];
                }
            }
        }
        (0..m).for_each(|a| current.hessian[a * m + a] += isotropic);
        current
    }

    /// Damped Newton iteration that never increases the stress.
    fn refine(&self, pairs: &Pairs<'_>, start: &[f64]) -> (f64, Vec<f64>) {
        let mut y = start.to_vec();
        let mut current = self.derivatives(pairs, &y);
        let size = distance(&y, &self.mean) + self.spread.sqrt();
        // With the sum of the weights as Hessian, a step goes to the minimum of a majorizing parabola.
        let total: f64 = pairs.weight.iter().sum();
        let mut damping = 0.0;
        for _ in 0..EVALUATIONS {
            let Some(step) = newton(&current, damping * total) else {
                damping = (4.0 * damping).max(1e-3);
                continue;
            };
            let next: Vec<f64> = y.iter().zip(&step).map(|(y, step)| y - step).collect();
            let trial = self.derivatives(pairs, &next);
            let better = trial.stress < current.stress;
            if better {
                (y, current) = (next, trial);
                damping = if damping > 1e-6 { damping / 8.0 } else { 0.0 };
            }
            if step.iter().map(|x| x * x).sum::<f64>().sqrt() <= SETTLED * size || damping > 1e9 {
                break;
            }
            if !better {
                damping = (4.0 * damping).max(1e-3);
            }
        }
        (current.stress, y)
    }
}

/// Euclidean distance.
fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
}

/// Solves (hessian + damping·I)·x = gradient by Cholesky; `None` if the matrix is not positive definite.
fn newton(derivatives: &Derivatives, damping: f64) -> Option<Vec<f64>> {
    let (m, mut l) = (derivatives.gradient.len(), derivatives.hessian.clone());
    let mut x = derivatives.gradient.clone();
    for a in 0..m {
        let diagonal = l[a * m + a] + damping;
        for b in 0..a {
            let inner: f64 = (0..b).map(|k| l[a * m + k] * l[b * m + k]).sum();
            l[a * m + b] = (l[a * m + b] - inner) / l[b * m + b];
        }
        let pivot = diagonal - (0..a).map(|k| l[a * m + k].powi(2)).sum::<f64>();
        if pivot.is_nan() || pivot <= 1e-14 * diagonal.abs() {
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
