//! Stress of an embedding, estimated from random pairs of points in f64 on the host.

use std::ops::{Add, Range};

use firebox_core::{Result, Session, random::Random, watch::Watch};
use rayon::prelude::*;

use super::nondimensional::{Prepared, PreparedSource};

/// The stream of [`Random`] that pairs are drawn from.
const STREAM: u64 = u64::from_be_bytes(*b"sam-pair");
/// Relative standard error of E at which no more pairs are drawn.
const RELATIVE_ERROR: f64 = 5e-4;
/// Maximum number of pairs. If there are fewer, all are taken instead of a sample.
pub(crate) const MAX_PAIRS: usize = 1 << 24;
/// Pairs drawn between tests of the error, a multiple of [`PART`].
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

/// Sums over pairs, with a = w·(δ − d)² and b = w·δ².
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    a: f64,
    b: f64,
    aa: f64,
    ab: f64,
    bb: f64,
    /// Σ (δ − d)².
    residual: f64,
    /// Σ d².
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

/// Estimates the stress of the embedding `x` `[m, n]`, n ≥ 2, with weights δ^(−power). Pairs of points of the input, of
/// which several may be one distinct point, are drawn with replacement, each with the same probability, until the standard
/// error of E is 0.05 % of E or 2²⁴ are drawn; the same ones in every run and on any number of threads.
///
/// For powers above 1 the closest pairs may dominate E, and a sample may miss them: its standard error is then too small.
pub(crate) fn estimated_stress(
    prepared: &Prepared,
    x: &[f64],
    power: f64,
    session: &Session,
) -> Result<EstimatedStress> {
    let (n, points) = (prepared.len(), prepared.index.len());
    let (m, watch) = (x.len() / n, Watch::current());
    let rows: Vec<f64> = (0..n * m).into_par_iter().map(|at| x[at % m * n + at / m]).collect();
    let sums_of = |pairs: Range<usize>| {
        let mut random = Random::new(0, STREAM);
        random.skip(2 * pairs.start as u64);
        let mut sums = Sums::default();
        for _ in pairs {
            if watch.stopped() {
                break;
            }
            let (i, j) = (random.below(points), random.below(points - 1));
            let [i, j] = [i, if j < i { j } else { j + 1 }].map(|point| prepared.index[point] as usize);
            let delta = prepared.delta(i, j);
            if delta > 0.0 {
                let squares = rows[i * m..][..m].iter().zip(&rows[j * m..][..m]).map(|(a, b)| (a - b).powi(2)).sum();
                sums = sums + pair(delta, squares, power);
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
        watch.go_on()?;
        sums = parts.into_iter().fold(sums, Sums::add);
        pairs += ROUND;
    }
    let (total, stress_1) = (sums.a / sums.b, (sums.residual / sums.target).sqrt());
    Ok(EstimatedStress { total, error: sums.error(), stress_1, pairs })
}

/// The terms of a pair at source distance δ with d² = `squares`.
fn pair(delta: f64, squares: f64, power: f64) -> Sums {
    let residual = (delta - squares.sqrt()).powi(2);
    let weight = if power == 1.0 { delta.recip() } else { delta.powf(-power) };
    let (a, b) = (weight * residual, weight * delta * delta);
    Sums { a, b, aa: a * a, ab: a * b, bb: b * b, residual, target: squares }
}

/// True if the stress is estimated from a sample: of features with more pairs than the largest sample.
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

    /// Points of three dimensions, of which two are equal to about a third of the others, and an embedding of about the
    /// right size.
    fn case(n: usize, seed: u64) -> (Prepared, Vec<f64>) {
        let mut random = Random::new(seed, 1);
        let mut values: Vec<f64> = (0..3 * n).map(|_| random.normal()).collect();
        for i in 2..n {
            match random.below(3) {
                0 => values.copy_within(..3, 3 * i),
                1 => values.copy_within(3..6, 3 * i),
                _ => {}
            }
        }
        let points = Points::new(values, 3).unwrap();
        let prepared = Prepared::new(Data::Features(points), Metric::Euclidean, false).unwrap();
        let x = (0..2 * prepared.len()).map(|_| random.normal()).collect();
        (prepared, x)
    }

    #[test]
    fn estimates_deviate_by_their_errors() {
        let session = Session::default();
        let (mut squares, mut cases) = (0.0, 0.0);
        for seed in 0..30 {
            let n = [40, 300, 900][seed as usize % 3];
            let power = [1.0, 0.0, 0.5][seed as usize / 3 % 3];
            let (prepared, x) = case(n, seed);
            let exact = exact_stress(&prepared, &x, power, &session).unwrap().unwrap();
            let found = estimated_stress(&prepared, &x, power, &session).unwrap();
            let deviation = (found.total - exact.total) / found.error;
            // Six standard errors are exceeded once in 10⁹ cases.
            assert!(deviation.abs() <= 6.0, "seed {seed}: {found:?}, exact {}", exact.total);
            assert!((found.stress_1 / exact.stress_1 - 1.0).abs() < 0.01, "{found:?}, exact {}", exact.stress_1);
            (squares, cases) = (squares + deviation * deviation, cases + 1.0);
        }
        // The mean of 30 squares of normal numbers is within these bounds but for 2 % of all seeds.
        assert!((0.45..1.75).contains(&(squares / cases)), "{}", squares / cases);
    }

    #[test]
    fn two_points_have_no_error() {
        let points = Points::new(vec![0.0, 3.0, 3.0], 1).unwrap();
        let prepared = Prepared::new(Data::Features(points), Metric::Euclidean, false).unwrap();
        let found = estimated_stress(&prepared, &[0.0, 0.5], 1.0, &Session::default()).unwrap();
        let exact = exact_stress(&prepared, &[0.0, 0.5], 1.0, &Session::default()).unwrap().unwrap();
        assert!((found.total - exact.total).abs() < 1e-12 && found.error < 1e-9, "{found:?}");
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
