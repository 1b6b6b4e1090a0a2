//! Stress of an embedding, estimated from random pairs of points in f64 on the host.

use std::ops::{Add, Range};

use firebox_core::{Result, Session, random::Random};
use rayon::prelude::*;

use super::nondimensional::{Prepared, PreparedSource};

/// The stream of [`Random`] that pairs are drawn from.
const STREAM: u64 = u64::from_be_bytes(*b"sam-pair");
/// Relative standard error of E at which no more pairs are drawn.
const RELATIVE_ERROR: f64 = 5e-4;
/// Maximum number of pairs. If there are fewer, all are taken instead of a sample.
pub(crate) const MAX_PAIRS: usize = 1 << 24;
/// Pairs between two looks at the error, a multiple of [`PART`].
const ROUND: usize = 1 << 20;
/// Pairs of a task.
const PART: usize = 1 << 14;

/// Stress of an embedding from a sample of pairs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct EstimatedStress {
    /// E, eq. (1).
    pub(crate) total: f64,
    /// Standard error of E.
    pub(crate) error: f64,
    /// Kruskal's stress-1.
    pub(crate) stress_1: f64,
    /// Number of pairs drawn.
    pub(crate) pairs: usize,
}

/// Sums over pairs, with a = μ_i·μ_j·w·(δ − d)² and b = μ_i·μ_j·w·δ².
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    a: f64,
    b: f64,
    aa: f64,
    ab: f64,
    bb: f64,
    /// Σ μ_i·μ_j·(δ − d)².
    residual: f64,
    /// Σ μ_i·μ_j·d².
    target: f64,
}

impl Add for Sums {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            a: self.a + other.a,
            b: self.b + other.b,
            aa: self.aa + other.aa,
            ab: self.ab + other.ab,
            bb: self.bb + other.bb,
            residual: self.residual + other.residual,
            target: self.target + other.target,
        }
    }
}

impl Sums {
    /// Standard error of the ratio of sums a/b (Cochran 1977, eq. 6.12): √Σ(a − E·b)²/Σb, since the mean of a − E·b is 0.
    fn error(&self) -> f64 {
        let ratio = self.a / self.b;
        (self.aa - 2.0 * ratio * self.ab + ratio * ratio * self.bb).max(0.0).sqrt() / self.b
    }
}

/// Estimates the stress of the embedding `x` `[m, n]`, n ≥ 2, with weights δ^(−power). Pairs are drawn with replacement,
/// each with the same probability, until the standard error of E is 0.05 % of E or 2²⁴ are drawn; the same ones in every
/// run and on any number of threads.
pub(crate) fn estimated_stress(
    prepared: &Prepared,
    x: &[f64],
    power: f64,
    session: &Session,
) -> Result<EstimatedStress> {
    let n = prepared.len();
    let m = x.len() / n;
    let rows: Vec<f64> = (0..n * m).into_par_iter().map(|at| x[at % m * n + at / m]).collect();
    let sums_of = |pairs: Range<usize>| {
        let mut random = Random::new(0, STREAM);
        random.skip(2 * pairs.start as u64);
        let mut sums = Sums::default();
        for _ in pairs {
            let (i, j) = (random.below(n), random.below(n - 1));
            let j = if j < i { j } else { j + 1 };
            let delta = prepared.delta(i, j);
            if delta > 0.0 {
                let squares = rows[i * m..][..m].iter().zip(&rows[j * m..][..m]).map(|(a, b)| (a - b).powi(2)).sum();
                sums = sums + pair(delta, squares, prepared.counts[i] * prepared.counts[j], power);
            }
        }
        sums
    };
    let (mut sums, mut pairs) = (Sums::default(), 0);
    while pairs == 0 || pairs < MAX_PAIRS && sums.error() > RELATIVE_ERROR * sums.a / sums.b {
        session.checkpoint("measuring", pairs as u64, MAX_PAIRS as u64)?;
        let part = |part: usize| sums_of(pairs + part * PART..pairs + (part + 1) * PART);
        // Added in a fixed order, for the same bits on any number of threads.
        let parts: Vec<Sums> = (0..ROUND / PART).into_par_iter().map(part).collect();
        sums = parts.into_iter().fold(sums, Sums::add);
        pairs += ROUND;
    }
    let (total, stress_1) = (sums.a / sums.b, (sums.residual / sums.target).sqrt());
    Ok(EstimatedStress { total, error: sums.error(), stress_1, pairs })
}

/// The terms of a pair at source distance δ with d² = `squares`; `count` is μ_i·μ_j.
fn pair(delta: f64, squares: f64, count: f64, power: f64) -> Sums {
    let residual = count * (delta - squares.sqrt()).powi(2);
    let weight = if power == 1.0 { delta.recip() } else { delta.powf(-power) };
    let (a, b) = (weight * residual, count * weight * delta * delta);
    Sums { a, b, aa: a * a, ab: a * b, bb: b * b, residual, target: count * squares }
}

/// True if the stress of n points is measured by a sample of pairs: pairs of features, whose number exceeds the largest
/// sample.
pub(crate) fn is_sampled(prepared: &Prepared) -> bool {
    let n = prepared.len();
    matches!(prepared.source, PreparedSource::Features { .. }) && n * (n - 1) / 2 > MAX_PAIRS
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        solve::exact_stress::exact_stress,
        types::{Data, Metric},
    };
    use firebox_core::data::Points;

    /// Points of three dimensions, some of them equal, and an embedding of about the right size.
    fn case(n: usize, seed: u64) -> (Prepared, Vec<f64>) {
        let mut random = Random::new(seed, 1);
        let mut values: Vec<f64> = (0..3 * n).map(|_| random.normal()).collect();
        values.copy_within(..3 * (n / 4), 3 * (n / 2));
        let points = Points::new(values, 3).unwrap();
        let prepared = Prepared::new(Data::Features(points), Metric::Euclidean, false).unwrap();
        let x = (0..2 * prepared.len()).map(|_| random.normal()).collect();
        (prepared, x)
    }

    #[test]
    fn estimates_are_within_their_errors() {
        let session = Session::default();
        let mut squares = 0.0;
        for (n, seed, power) in [(2, 1, 1.0), (40, 2, 1.0), (40, 3, 0.0), (300, 4, 1.0), (300, 5, 1.0), (900, 6, 0.5)] {
            let (prepared, x) = case(n, seed);
            let exact = exact_stress(&prepared, &x, power, &session).unwrap().unwrap();
            let found = estimated_stress(&prepared, &x, power, &session).unwrap();
            assert!(found.pairs.is_multiple_of(ROUND) && found.pairs <= MAX_PAIRS);
            let deviation = (found.total - exact.total).abs();
            // Six standard errors are exceeded once in 10⁹ cases.
            assert!(deviation <= 6.0 * found.error + 1e-12, "{n}, {power}: {found:?}, exact {}", exact.total);
            assert!(found.error <= RELATIVE_ERROR * found.total || found.pairs == MAX_PAIRS);
            assert!((found.stress_1 / exact.stress_1 - 1.0).abs() < 0.01, "{found:?}, exact {}", exact.stress_1);
            squares += if found.error > 0.0 { (deviation / found.error).powi(2) } else { 0.0 };
        }
        // Of five with an error. Far fewer than 1 per case would mean that errors are overstated.
        assert!((0.05..25.0).contains(&squares), "{squares}");
    }

    #[test]
    fn estimates_do_not_depend_on_the_number_of_threads() {
        let (prepared, x) = case(200, 9);
        let estimate = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| estimated_stress(&prepared, &x, 1.0, &Session::default())).unwrap()
        };
        assert_eq!(estimate(1), estimate(3));
    }
}
