//! Reference results in f64 with error bounds, and random inputs.

use firebox_backends::cpu::Real;
use firebox_core::random::Random;

use crate::types::{CLOSE, MEASURES, Metric};

pub(super) fn wide<E: Real>(values: &[E]) -> Vec<f64> {
    values.iter().map(|&value| value.into()).collect()
}

/// Asserts |got − expected| ≤ bound, element by element. NaN fails.
pub(super) fn assert_close<E: Real>(got: &[E], expected: &[(f64, f64)], what: &str) {
    assert_eq!(got.len(), expected.len(), "{what}");
    for (i, (&got, &(expected, bound))) in got.iter().zip(expected).enumerate() {
        let error = (got.into() - expected).abs();
        assert!(error <= bound, "{what}: [{i}] is {got:?}, not {expected:e}: {error:e} > {bound:e}");
    }
}

/// Centred points about 1 apart, some of them equal; of length 1 for cosine distances.
pub(super) fn random_points<E: Real>(random: &mut Random, d: usize, n: usize, metric: Metric) -> Vec<E> {
    let scale = if metric == Metric::Manhattan { 1.0 / d as f64 } else { 1.0 / (d as f64).sqrt() };
    let mut points: Vec<f64> = (0..d * n).map(|_| random.uniform(-scale, scale)).collect();
    for i in 0..n {
        let twin = random.below(n);
        let length = match metric {
            Metric::Cosine => (0..d).map(|k| points[k * n + i].powi(2)).sum::<f64>().sqrt(),
            _ => 1.0,
        };
        let equal = random.below(8) == 0;
        for k in 0..d {
            points[k * n + i] = if equal && twin < i { points[k * n + twin] } else { points[k * n + i] / length };
        }
    }
    points.into_iter().map(E::from_f64).collect()
}

/// An embedding m × n in which some points coincide.
pub(super) fn random_places<E: Real>(random: &mut Random, m: usize, n: usize) -> Vec<E> {
    let mut places: Vec<E> = (0..m * n).map(|_| E::from_f64(random.uniform(-1.0, 1.0))).collect();
    for i in 0..n {
        let twin = random.below(n);
        if random.below(8) == 0 {
            for k in 0..m {
                places[k * n + i] = places[k * n + twin];
            }
        }
    }
    places
}

pub(super) fn random_multiplicity<E: Real>(random: &mut Random, n: usize) -> Vec<E> {
    (0..n).map(|_| E::from_f64(1.0 + (random.below(5) / 3 * 2) as f64)).collect()
}

/// 1/δ between columns of `rows` and `points`; 0 where δ = 0.
pub(super) fn inverses(rows: &[f64], points: &[f64], d: usize, metric: Metric) -> Vec<f64> {
    let (r, n) = (rows.len() / d, points.len() / d);
    let pair = |i: usize, j: usize| {
        let t = (0..d).map(|k| rows[k * r + i] - points[k * n + j]);
        let distance = match metric {
            Metric::Euclidean => t.map(|t| t * t).sum::<f64>().sqrt(),
            Metric::Manhattan => t.map(f64::abs).sum(),
            Metric::Cosine => t.map(|t| t * t).sum::<f64>() / 2.0,
        };
        if distance == 0.0 { 0.0 } else { 1.0 / distance }
    };
    (0..r * n).map(|at| pair(at / n, at % n)).collect()
}

/// Reference sums of row points against column points, each with its error bound.
///
/// With ε the spacing of floats at 1, the relative error of 1/δ is ρ = `rho`, and that of d in m dimensions is
/// τ = (m/2 + 4)·ε: half of (m + 4)·ε for differences, squares and their sum, and 2ε for root and product. A weight has
/// p·ρ, and powf 2ε more. So the error of w·(δ/d − 1)·t is (p·ρ + ρ + τ + 8ε)·w·(δ/d + 1)·|t|, that of δ − d is
/// Δ = (ρ + ε)·δ + (τ + ε)·d, and that of its square 2·|δ − d|·Δ + Δ². A sum of n terms adds (n + 8)·ε of their
/// magnitude. All bounds are doubled, since f64 is tested against f64.
pub(super) struct Truth {
    pub(super) force: Vec<(f64, f64)>,
    pub(super) stress: Vec<(f64, f64)>,
    pub(super) measures: Vec<(f64, f64)>,
}

/// Computes the sums from `inverse`, r × n, `rows`, m × r, and `columns`, m × n.
pub(super) fn truth(inverse: &[f64], mu: &[f64], p: f64, rows: &[f64], columns: &[f64], rho: f64, eps: f64) -> Truth {
    let n = mu.len();
    let r = inverse.len().checked_div(n).unwrap_or(0);
    let m = rows.len().checked_div(r).unwrap_or(0);
    let tau = (m as f64 / 2.0 + 4.0) * eps;
    let sum = (n as f64 + 8.0) * eps;
    let mut truth =
        Truth { force: vec![(0.0, 0.0); m * r], stress: vec![(0.0, 0.0); r], measures: vec![(0.0, 0.0); MEASURES * r] };
    let add = |(total, bound): &mut (f64, f64), term: f64, error: f64| {
        *total += term;
        *bound += 2.0 * (error + sum * term.abs());
    };
    for i in 0..r {
        for j in 0..n {
            let near = inverse[i * n + j];
            if near == 0.0 {
                continue;
            }
            let t: Vec<f64> = (0..m).map(|k| rows[k * r + i] - columns[k * n + j]).collect();
            let d = t.iter().map(|t| t * t).sum::<f64>().sqrt();
            let (delta, w) = (1.0 / near, near.powf(p));
            if d > 0.0 {
                for (k, t) in t.iter().enumerate() {
                    let magnitude = mu[j] * w * (delta / d + 1.0) * t.abs();
                    let error = (p * rho + rho + tau + 8.0 * eps + sum) * magnitude;
                    add(&mut truth.force[k * r + i], mu[j] * w * (delta / d - 1.0) * t, error);
                }
            }
            let residual = (delta - d).abs();
            let residual_error = (rho + eps) * delta + (tau + eps) * d;
            let square = 2.0 * residual * residual_error + residual_error * residual_error;
            let relative = p * rho + 6.0 * eps;
            add(
                &mut truth.stress[i],
                mu[j] * w * residual * residual,
                mu[j] * w * (square + relative * residual * residual),
            );
            let products = (p + 2.0) * rho + 2.0 * tau + 8.0 * eps;
            for (k, term) in [w, w * delta * delta, w * delta * d, w * d * d].into_iter().enumerate() {
                add(&mut truth.measures[k * r + i], mu[j] * term, mu[j] * term * products);
            }
            add(
                &mut truth.measures[4 * r + i],
                mu[j] * residual * residual,
                mu[j] * (square + 6.0 * eps * residual * residual),
            );
            add(&mut truth.measures[5 * r + i], mu[j] * d * d, mu[j] * d * d * products);
        }
    }
    truth
}

/// Bound of the relative error of 1/δ from d dimensions: (d + 4)·ε for differences, squares and their sum, ε for the
/// inverse. Dot products lose up to 1/`CLOSE` times as much before pairs are recomputed.
pub(super) fn rho<E: Real>(d: usize, gram: bool) -> f64 {
    let eps: f64 = E::EPSILON.into();
    (d as f64 + 5.0) * eps * if gram { 1.0 + 1.0 / f64::from(CLOSE) } else { 1.0 }
}
