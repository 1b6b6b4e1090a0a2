//! Reference results in f64, and forward error bounds of a correct implementation, pair by pair.
//!
//! u is the unit roundoff. First-order terms in u are summed; a tenth is added for higher orders ([`SECOND_ORDER`]).
//!
//! - Sums and products: k roundings have relative error k·u without cancellation. n terms in any order, atomics
//!   included, add n·u of the terms' absolute sum.
//! - Functions: division, square root and its reciprocal within 5 units in the last place of 2u each
//!   ([`APPROXIMATE`]). Vulkan allows 2.5 for a division, 2 for 1/√x, and for √x the two of them together; CUDA less.
//! - A squared distance from d differences, squares and sums: (d + 4)u. From dot products: |a|², |b|² and 2·a·b are
//!   sums of d products each, with errors of at most d·u·|a|², d·u·|b|² and d·u·(|a|² + |b|²), and adding them is 3
//!   roundings of at most 2(|a|² + |b|²); 2u more if norms are taken as 1. That is (2d + 8)u of |a|² + |b|², at most
//!   1/CLOSE times as much of the squared distance, since closer pairs are recomputed.
//! - A power: 2^(p·log₂ x), with log₂ within 3 units in the last place or 8u (Vulkan: 2⁻²¹), 2^x within 3 + 2|x| units.
//!
//! Steps propagate earlier errors: point i of an embedding is known up to a displacement of length D_i. With û the
//! direction from j to i, y_i + rate·F_i = (1 − rate·Σw)·y_i + rate·Σ w·(y_j + δ·û), and û of points at distance d,
//! with a total displacement D = D_i + D_j, changes by at most D/(d − D), and never by more than 2.

use super::reference::{self, inverse};
use crate::types::{CLOSE, MEASURES, Metric};

/// Factor for second-order terms: all first-order terms are below 0.01.
const SECOND_ORDER: f64 = 1.1;
/// Error of a division, root or reciprocal root, in u.
const APPROXIMATE: f64 = 10.0;

/// Reference values and their absolute error bounds.
#[derive(Debug, Clone, Default)]
pub(super) struct Expected {
    pub values: Vec<f64>,
    pub errors: Vec<f64>,
}

/// Pairs of r row points and n column points, with the error bounds of their distances in an implementation.
#[derive(Debug, Clone)]
pub(super) struct BoundedPairs {
    /// δ `[r, n]`, 0 where no pair exists.
    delta: Vec<f64>,
    /// Multiplicities μ of the columns `[n]`.
    multiplicity: Vec<f64>,
    /// Exponent p of the weights.
    power: f64,
    /// Relative error bounds of δ and of 1/δ `[r, n]`.
    relative: Vec<f64>,
    u: f64,
}

/// Embedding `[m, n]`, and bounds of the displacement of each point in an implementation `[n]`.
#[derive(Debug, Clone)]
pub(super) struct Places {
    pub y: Vec<f64>,
    pub displacement: Vec<f64>,
}

impl Places {
    /// An exactly known embedding.
    pub fn exact(y: &[f64], n: usize) -> Self {
        Self { y: y.to_vec(), displacement: vec![0.0; n] }
    }

    /// As reference values: the displacement bounds each coordinate.
    pub fn expected(&self) -> Expected {
        let n = self.displacement.len();
        Expected { values: self.y.clone(), errors: (0..self.y.len()).map(|k| self.displacement[k % n]).collect() }
    }

    /// The points `which`.
    pub fn of(&self, which: &[usize]) -> Self {
        let n = self.displacement.len();
        Self {
            y: reference::gather(&self.y, n, which),
            displacement: which.iter().map(|&i| self.displacement[i]).collect(),
        }
    }
}

/// Sums over the pairs of one point.
#[derive(Debug, Default)]
struct Sums {
    /// F, and the sums of its terms' error bounds and absolute values, by coordinate.
    force: Vec<f64>,
    force_error: Vec<f64>,
    force_size: Vec<f64>,
    stress: f64,
    stress_error: f64,
    /// Propagated displacement Σ w·(D_j + δ·turn), with μ in w.
    carried: f64,
    weight: f64,
    weight_error: f64,
}

impl BoundedPairs {
    /// Bounds for distances computed from features, `[d, r]` against `[d, n]`.
    pub fn features(
        rows: &[f64],
        columns: &[f64],
        first: Option<usize>,
        (metric, gram): (Metric, bool),
        multiplicity: &[f64],
        power: f64,
        u: f64,
    ) -> Self {
        let n = multiplicity.len();
        let d = columns.len().checked_div(n).unwrap_or(0);
        let r = rows.len().checked_div(d).unwrap_or(0);
        let delta = reference::distances(rows, r, columns, n, first, metric);
        let square = |matrix: &[f64], n: usize, i: usize| matrix.iter().skip(i).step_by(n).map(|a| a * a).sum::<f64>();
        let row_squares: Vec<f64> = (0..r).map(|i| square(rows, r, i)).collect();
        let column_squares: Vec<f64> = (0..n).map(|j| square(columns, n, j)).collect();
        let relative = (0..r * n)
            .map(|at| {
                let differences = (d + 4) as f64 * u;
                let s = match metric {
                    Metric::Euclidean => delta[at] * delta[at],
                    Metric::Manhattan => return differences + APPROXIMATE * u,
                    Metric::Cosine | Metric::Correlation => 2.0 * delta[at],
                };
                let both = row_squares[at / n] + column_squares[at % n];
                // Rounding may move a value across the threshold.
                let in_square = if gram && s > 0.99 * f64::from(CLOSE) * both {
                    ((2 * d + 8) as f64 * u * both / s).max(differences)
                } else {
                    differences
                };
                APPROXIMATE * u + if metric == Metric::Euclidean { in_square / 2.0 } else { in_square + u }
            })
            .collect();
        Self { delta, multiplicity: multiplicity.to_vec(), power, relative, u }
    }

    /// Bounds for distances from stored reciprocals `[r, n]`.
    pub fn stored(inverses: &[f64], multiplicity: &[f64], power: f64, u: f64) -> Self {
        let delta = inverses.iter().map(|&x| inverse(x)).collect();
        let relative = vec![APPROXIMATE * u; inverses.len()];
        Self { delta, multiplicity: multiplicity.to_vec(), power, relative, u }
    }

    /// Weight w_ij.
    fn weight(&self, i: usize, j: usize) -> f64 {
        let delta = self.delta[i * self.multiplicity.len() + j];
        if delta == 0.0 { 0.0 } else { delta.powf(-self.power) }
    }

    /// Σ_j μ_j·w_ij.
    pub fn total_weight(&self, i: usize) -> f64 {
        self.multiplicity.iter().enumerate().map(|(j, mu)| mu * self.weight(i, j)).sum()
    }

    /// 1/δ.
    pub fn inverse(&self) -> Expected {
        let values: Vec<f64> = self.delta.iter().map(|&delta| inverse(delta)).collect();
        let errors = values.iter().zip(&self.relative).map(|(value, e)| SECOND_ORDER * value * e).collect();
        Expected { values, errors }
    }

    /// Relative error bound of μ·w.
    fn weight_error(&self, at: usize) -> f64 {
        let (p, u, delta) = (self.power, self.u, self.delta[at]);
        let own = if [0.0, 1.0, 2.0].contains(&p) {
            p * u
        } else {
            let log = delta.log2().abs();
            let in_log = (6.0 * u * log).max(8.0 * u);
            std::f64::consts::LN_2 * p * (in_log + log * u) + (3.0 + 2.0 * p * log) * 2.0 * u
        };
        p * self.relative[at] + own + u
    }

    /// Relative error bound of d from m differences, squares and sums.
    fn target_error(&self, m: usize) -> f64 {
        ((m + 4) as f64 / 2.0 + APPROXIMATE) * self.u
    }

    /// Error bound of δ − d, computed directly or as d·(δ/d − 1).
    fn residual_error(&self, at: usize, d: f64, m: usize) -> f64 {
        let delta = self.delta[at];
        delta * self.relative[at] + (delta + d) * (self.target_error(m) + 2.0 * self.u)
    }

    fn sums(&self, i: usize, rows: &Places, columns: &Places) -> Sums {
        let (r, n, u) = (rows.displacement.len(), columns.displacement.len(), self.u);
        let m = rows.y.len() / r;
        let mut sums =
            Sums { force: vec![0.0; m], force_error: vec![0.0; m], force_size: vec![0.0; m], ..Sums::default() };
        for j in (0..n).filter(|j| self.delta[i * n + j] != 0.0) {
            let at = i * n + j;
            let delta = self.delta[at];
            let weight = self.multiplicity[j] * self.weight(i, j);
            let weight_error = self.weight_error(at);
            let across: Vec<f64> = (0..m).map(|k| rows.y[k * r + i] - columns.y[k * n + j]).collect();
            let d = across.iter().map(|a| a * a).sum::<f64>().sqrt();
            let (residual, displaced) = ((delta - d).abs(), rows.displacement[i] + columns.displacement[j]);

            // Both terms of δ/d − 1 may be rounded separately.
            let pull_error = weight * (delta + d) * (self.relative[at] + weight_error + self.target_error(m) + 8.0 * u);
            for k in (0..m).filter(|_| d > 0.0) {
                let share = across[k] / d;
                sums.force[k] += weight * (delta - d) * share;
                sums.force_size[k] += weight * residual * share.abs();
                sums.force_error[k] += pull_error * share.abs();
            }
            let residual_error = self.residual_error(at, d, m) + displaced;
            sums.stress += weight * residual * residual;
            sums.stress_error += weight
                * (residual_error * (2.0 * residual + residual_error) + residual * residual * (weight_error + 4.0 * u));
            let turn = match displaced {
                0.0 => 0.0,
                _ if d > displaced => (displaced / (d - displaced)).min(2.0),
                _ => 2.0,
            };
            sums.carried += weight * (columns.displacement[j] + delta * turn);
            sums.weight += weight;
            sums.weight_error += weight * weight_error;
        }
        let terms = (n + 1) as f64 * u;
        sums.stress_error = SECOND_ORDER * (sums.stress_error + terms * sums.stress);
        sums.weight_error += terms * sums.weight;
        for k in 0..m {
            sums.force_error[k] = SECOND_ORDER * (sums.force_error[k] + terms * sums.force_size[k]);
        }
        sums
    }

    /// F `[m, r]` and e `[r]`.
    pub fn forces(&self, rows: &Places, columns: &Places) -> (Expected, Expected) {
        let r = rows.displacement.len();
        let empty = |count| Expected { values: vec![0.0; count], errors: vec![0.0; count] };
        let (mut force, mut stress) = (empty(rows.y.len()), empty(r));
        for i in 0..r {
            let sums = self.sums(i, rows, columns);
            for (k, (value, error)) in sums.force.iter().zip(&sums.force_error).enumerate() {
                force.values[k * r + i] = *value;
                force.errors[k * r + i] = *error;
            }
            stress.values[i] = sums.stress;
            stress.errors[i] = sums.stress_error;
        }
        (force, stress)
    }

    /// Step of `rows`: embedding after it, and e before it.
    pub fn step(&self, rows: &Places, columns: &Places, rate: Rate) -> (Places, Expected) {
        let (r, u) = (rows.displacement.len(), self.u);
        let (mut to, mut stress) = (rows.clone(), Expected::default());
        for i in 0..r {
            let sums = self.sums(i, rows, columns);
            stress.values.push(sums.stress);
            stress.errors.push(sums.stress_error);
            let (rate, rate_error) = match rate {
                Rate::Given(rates) => (rates[i], 0.0),
                Rate::Share(alpha) => {
                    let over = inverse(sums.weight);
                    (alpha * over, sums.weight_error * over + (APPROXIMATE + 2.0) * u)
                }
            };
            let mut own = 0.0;
            for k in (0..sums.force.len()).filter(|&k| sums.force_size[k] > 0.0) {
                let y = &mut to.y[k * r + i];
                *y += rate * sums.force[k];
                let error =
                    rate * (sums.force_error[k] + sums.force[k].abs() * (rate_error + 2.0 * u)) + 2.0 * u * y.abs();
                own += error * error;
            }
            let kept = (1.0 - rate * sums.weight).abs() * rows.displacement[i];
            to.displacement[i] = SECOND_ORDER * (kept + rate * sums.carried + own.sqrt());
        }
        (to, stress)
    }

    /// Sums of a measure `[6, n]`.
    pub fn measure(&self, places: &Places) -> Expected {
        let (n, u) = (places.displacement.len(), self.u);
        let m = places.y.len().checked_div(n).unwrap_or(0);
        let (mut values, mut errors) = (vec![0.0; MEASURES * n], vec![0.0; MEASURES * n]);
        for at in (0..n * n).filter(|&at| self.delta[at] != 0.0) {
            let (i, j) = (at / n, at % n);
            let (mu, w, delta) = (self.multiplicity[j], self.weight(i, j), self.delta[at]);
            let d = (0..m).map(|k| (places.y[k * n + i] - places.y[k * n + j]).powi(2)).sum::<f64>().sqrt();
            let (in_w, in_delta, in_d) = (self.weight_error(at), self.relative[at], self.target_error(m));
            let (residual, residual_error) = ((delta - d).abs(), self.residual_error(at, d, m));
            let terms = [w, w * delta * delta, w * delta * d, w * d * d, residual * residual, d * d];
            let term_errors = [
                w * in_w,
                w * delta * delta * (in_w + 2.0 * in_delta + 2.0 * u),
                w * delta * d * (in_w + in_delta + in_d + 2.0 * u),
                w * d * d * (in_w + 2.0 * in_d + 2.0 * u),
                residual_error * (2.0 * residual + residual_error) + 4.0 * u * residual * residual,
                d * d * (2.0 * in_d + 2.0 * u),
            ];
            for row in 0..MEASURES {
                values[row * n + i] += mu * terms[row];
                errors[row * n + i] += mu * term_errors[row];
            }
        }
        let sums = (n + 1) as f64 * u;
        errors.iter_mut().zip(&values).for_each(|(error, sum)| *error = SECOND_ORDER * (*error + sums * sum));
        Expected { values, errors }
    }
}

/// Rate of a step.
#[derive(Debug, Clone, Copy)]
pub(super) enum Rate<'a> {
    /// Given rate of each point.
    Given(&'a [f64]),
    /// α/Σw.
    Share(f64),
}

#[cfg(test)]
mod tests {
    use firebox_core::random::Random;

    use super::*;

    /// Pairs of n points in 4 dimensions, and a random embedding `[m, n]`.
    fn problem(n: usize, m: usize, power: f64) -> (BoundedPairs, Places) {
        let mut random = Random::new(n as u64, 5);
        let points: Vec<f64> = (0..4 * n).map(|_| random.uniform(-1.0, 1.0)).collect();
        let mu: Vec<f64> = (0..n).map(|_| 1.0 + random.below(3) as f64).collect();
        let metric = (Metric::Euclidean, false);
        let pairs = BoundedPairs::features(&points, &points, Some(0), metric, &mu, power, f64::EPSILON);
        let y: Vec<f64> = (0..m * n).map(|_| random.uniform(-1.0, 1.0)).collect();
        (pairs, Places::exact(&y, n))
    }

    /// E = Σ_i e_i/(2·Σ_{i<j} δ_ij) for p = 1 and distinct points.
    #[test]
    fn the_stress_agrees_with_equation_1() {
        let (mut bounded, places) = problem(9, 2, 1.0);
        bounded.multiplicity.fill(1.0);
        let (mut above, mut c) = (0.0, 0.0);
        for i in 0..9 {
            for j in i + 1..9 {
                let delta = bounded.delta[i * 9 + j];
                let d = (places.y[i] - places.y[j]).hypot(places.y[9 + i] - places.y[9 + j]);
                above += (delta - d).powi(2) / delta;
                c += delta;
            }
        }
        let found = bounded.forces(&places, &places).1.values.iter().sum::<f64>() / (2.0 * c);
        assert!((found - above / c).abs() < 1e-14, "{found} {}", above / c);
    }

    /// Compares ∂/∂y_i Σ_i μ_i·e_i/2 = −2·μ_i·F_i with central differences.
    #[test]
    fn the_force_is_the_negative_gradient_of_the_stress() {
        for power in [0.0, 1.0, 1.5, 2.0] {
            let (bounded, places) = problem(7, 3, power);
            let mu = &bounded.multiplicity;
            let half = |places: &Places| {
                bounded.forces(places, places).1.values.iter().zip(mu).map(|(e, mu)| mu * e / 2.0).sum::<f64>()
            };
            let force = bounded.forces(&places, &places).0.values;
            for (k, force) in force.iter().enumerate() {
                let step = 1e-6;
                let (mut up, mut down) = (places.clone(), places.clone());
                up.y[k] += step;
                down.y[k] -= step;
                let slope = (half(&up) - half(&down)) / (2.0 * step);
                let expected = -2.0 * mu[k % 7] * force;
                assert!((slope - expected).abs() < 1e-6 * (1.0 + expected.abs()), "p {power}: {slope} {expected}");
            }
        }
    }

    #[test]
    fn placement_never_increases_the_stress() {
        let (bounded, fixed) = problem(12, 2, 1.0);
        let start: Vec<f64> = fixed.y.iter().map(|y| y * 3.0 + 0.1).collect();
        let mut places = Places::exact(&start, 12);
        let mut last = [f64::INFINITY; 12];
        for _ in 0..9 {
            let (next, stress) = bounded.step(&places, &fixed, Rate::Share(1.0));
            assert!(stress.values.iter().zip(&last).all(|(after, before)| *after <= before * (1.0 + 1e-12)));
            (places, last) = (next, stress.values.try_into().unwrap());
        }
    }
}
