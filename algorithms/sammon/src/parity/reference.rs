//! Reference implementation of the operations for parity tests: scalar loops in f64 that follow the equations.
//!
//! Matrices are row-major: features `[d, n]`, embeddings `[m, n]`, distances `[r, n]` with 0 where no pair exists.

use crate::types::{Epoch, MEASURES, Metric, partner};

/// Column `i` of a matrix with `n` columns.
fn column(matrix: &[f64], n: usize, i: usize) -> impl Iterator<Item = f64> {
    matrix.iter().skip(i).step_by(n.max(1)).copied()
}

/// √Σ(y_i − z_j)² for column `i` of `[m, r]` and column `j` of `[m, n]`.
fn euclidean(rows: &[f64], r: usize, i: usize, columns: &[f64], n: usize, j: usize) -> f64 {
    column(rows, r, i).zip(column(columns, n, j)).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
}

/// δ between columns of `rows` `[d, r]` and of `points` `[d, n]`, `[r, n]`. With `first`, row i is point
/// `first` + i, and its distance to itself is 0.
pub fn distances(rows: &[f64], r: usize, points: &[f64], n: usize, first: Option<usize>, metric: Metric) -> Vec<f64> {
    let mut delta = vec![0.0; r * n];
    for i in 0..r {
        for j in (0..n).filter(|&j| first.is_none_or(|first| first + i != j)) {
            delta[i * n + j] = match metric {
                Metric::Euclidean => euclidean(rows, r, i, points, n, j),
                Metric::Manhattan => column(rows, r, i).zip(column(points, n, j)).map(|(a, b)| (a - b).abs()).sum(),
                Metric::Cosine => euclidean(rows, r, i, points, n, j).powi(2) / 2.0,
            };
        }
    }
    delta
}

/// 1/x, and 0 for x = 0.
pub fn inverse(x: f64) -> f64 {
    if x == 0.0 { 0.0 } else { 1.0 / x }
}

/// Pairs of r row points and n column points, without their embedding.
#[derive(Debug, Clone)]
pub struct Pairs {
    /// δ `[r, n]`, 0 where no pair exists.
    pub delta: Vec<f64>,
    /// Multiplicities μ of the columns `[n]`.
    pub multiplicity: Vec<f64>,
    /// Exponent p of the weights.
    pub power: f64,
}

impl Pairs {
    /// Number of columns n.
    pub fn columns(&self) -> usize {
        self.multiplicity.len()
    }

    /// Number of rows r.
    pub fn rows(&self) -> usize {
        self.delta.len().checked_div(self.columns()).unwrap_or(0)
    }

    /// Weight w_ij.
    pub fn weight(&self, i: usize, j: usize) -> f64 {
        let delta = self.delta[i * self.columns() + j];
        if delta == 0.0 { 0.0 } else { delta.powf(-self.power) }
    }

    /// Σ_j μ_j·w_ij.
    pub fn weight_of(&self, i: usize) -> f64 {
        (0..self.columns()).map(|j| self.multiplicity[j] * self.weight(i, j)).sum()
    }

    /// c = Σ_{i<j} μ_i·μ_j·w_ij·δ_ij², of all pairs of n points.
    pub fn constant(&self) -> f64 {
        let n = self.columns();
        let mut sum = 0.0;
        for i in 0..n {
            for j in i + 1..n {
                let delta = self.delta[i * n + j];
                sum += self.multiplicity[i] * self.multiplicity[j] * self.weight(i, j) * delta * delta;
            }
        }
        sum
    }
}

/// F `[m, r]` and e `[r]` of `rows` `[m, r]` among `columns` `[m, n]`.
pub fn forces(pairs: &Pairs, rows: &[f64], columns: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let (r, n) = (pairs.rows(), pairs.columns());
    let (mut force, mut stress) = (vec![0.0; rows.len()], vec![0.0; r]);
    for i in 0..r {
        for j in 0..n {
            let weight = pairs.multiplicity[j] * pairs.weight(i, j);
            let (delta, d) = (pairs.delta[i * n + j], euclidean(rows, r, i, columns, n, j));
            stress[i] += weight * (delta - d) * (delta - d);
            if d > 0.0 {
                for k in 0..rows.len() / r {
                    force[k * r + i] += weight * (delta - d) / d * (rows[k * r + i] - columns[k * n + j]);
                }
            }
        }
    }
    (force, stress)
}

/// E = Σ_i μ_i·e_i / (2c).
pub fn error(pairs: &Pairs, stress: &[f64]) -> f64 {
    let sum: f64 = pairs.multiplicity.iter().zip(stress).map(|(mu, e)| mu * e).sum();
    sum * inverse(2.0 * pairs.constant())
}

/// Embedding after steps y_i ← y_i + rate_i·F_i of all n points, and e before each step, `[steps, n]`.
pub fn steps(pairs: &Pairs, embedding: &[f64], rates: &[f64], steps: usize) -> (Vec<f64>, Vec<f64>) {
    let (mut y, mut history) = (embedding.to_vec(), Vec::new());
    for _ in 0..steps {
        let (force, stress) = forces(pairs, &y, &y);
        y = moved(&y, &force, rates);
        history.extend(stress);
    }
    (y, history)
}

/// y + rate·F.
pub fn moved(y: &[f64], force: &[f64], rates: &[f64]) -> Vec<f64> {
    y.iter().zip(force).enumerate().map(|(k, (y, f))| y + rates[k % rates.len()] * f).collect()
}

/// Sums over the pairs of each point, `[6, n]`, like [`SammonOps::sammon_measure`](crate::SammonOps::sammon_measure).
pub fn measure(pairs: &Pairs, embedding: &[f64]) -> Vec<f64> {
    let n = pairs.columns();
    let mut sums = vec![0.0; MEASURES * n];
    for i in 0..n {
        for j in (0..n).filter(|&j| pairs.delta[i * n + j] != 0.0) {
            let (mu, w) = (pairs.multiplicity[j], pairs.weight(i, j));
            let (delta, d) = (pairs.delta[i * n + j], euclidean(embedding, n, i, embedding, n, j));
            let terms = [w, w * delta * delta, w * delta * d, w * d * d, (delta - d) * (delta - d), d * d];
            for (row, term) in terms.into_iter().enumerate() {
                sums[row * n + i] += mu * term;
            }
        }
    }
    sums
}

/// Embedding after steps y_q ← y_q + F_q/Σ_j μ_j·w_qj of `embedding` `[m, q]` among `fixed` `[m, n]`, and e before each
/// step.
pub fn place(pairs: &Pairs, fixed: &[f64], embedding: &[f64], steps: usize) -> (Vec<f64>, Vec<f64>) {
    let rates: Vec<f64> = (0..pairs.rows()).map(|i| inverse(pairs.weight_of(i))).collect();
    let (mut y, mut history) = (embedding.to_vec(), Vec::new());
    for _ in 0..steps {
        let (force, stress) = forces(pairs, &y, fixed);
        y = moved(&y, &force, &rates);
        history.extend(stress);
    }
    (y, history)
}

/// Points of each block of an epoch over `n` points, and those of its partner; a single block has none.
pub fn block_pairs(epoch: &Epoch, n: usize, block: usize) -> Vec<(Vec<usize>, Vec<usize>)> {
    let blocks: Vec<Vec<usize>> =
        epoch.order[..n].chunks(block).map(|points| points.iter().map(|&i| i as usize).collect()).collect();
    let partners = |k: usize| match partner(k, blocks.len()) {
        other if other == k => Vec::new(),
        other => blocks[other].clone(),
    };
    (0..blocks.len()).map(|k| (blocks[k].clone(), partners(k))).collect()
}

/// Columns `which` of a matrix with `n` columns.
pub fn gather(matrix: &[f64], n: usize, which: &[usize]) -> Vec<f64> {
    matrix.chunks(n.max(1)).flat_map(|row| which.iter().map(|&i| row[i])).collect()
}

/// Pairs between the points `own` and the points `partners`.
pub fn between(
    points: &[f64],
    metric: Metric,
    multiplicity: &[f64],
    power: f64,
    own: &[usize],
    partners: &[usize],
) -> Pairs {
    let n = multiplicity.len();
    let (rows, columns) = (gather(points, n, own), gather(points, n, partners));
    let delta = distances(&rows, own.len(), &columns, partners.len(), None, metric);
    Pairs { delta, multiplicity: partners.iter().map(|&j| multiplicity[j]).collect(), power }
}

/// Embedding after epochs of block sampling from `embedding` `[m, n]` over features `[d, n]`.
pub fn sampled(
    points: &[f64],
    metric: Metric,
    multiplicity: &[f64],
    power: f64,
    embedding: &[f64],
    epochs: &[Epoch],
    block: usize,
) -> Vec<f64> {
    let n = multiplicity.len();
    let mut y = embedding.to_vec();
    for epoch in epochs {
        let before = y.clone();
        for (own, partners) in block_pairs(epoch, n, block).into_iter().filter(|(_, partners)| !partners.is_empty()) {
            let pairs = between(points, metric, multiplicity, power, &own, &partners);
            let (rows, columns) = (gather(&before, n, &own), gather(&before, n, &partners));
            let (force, _) = forces(&pairs, &rows, &columns);
            for (at, &i) in own.iter().enumerate() {
                let rate = epoch.alpha * inverse(pairs.weight_of(at));
                for k in 0..y.len() / n {
                    y[k * n + i] += rate * force[k * own.len() + at];
                }
            }
        }
    }
    y
}

#[cfg(test)]
mod tests {
    use firebox_core::random::Random;

    use super::*;

    fn problem(n: usize, m: usize, power: f64) -> (Pairs, Vec<f64>) {
        let mut random = Random::new(n as u64, 5);
        let points: Vec<f64> = (0..4 * n).map(|_| random.uniform(-1.0, 1.0)).collect();
        let delta = distances(&points, n, &points, n, Some(0), Metric::Euclidean);
        let multiplicity = (0..n).map(|_| 1.0 + random.below(3) as f64).collect();
        (Pairs { delta, multiplicity, power }, (0..m * n).map(|_| random.uniform(-1.0, 1.0)).collect())
    }

    #[test]
    fn the_error_agrees_with_equation_1() {
        let (mut pairs, y) = problem(9, 2, 1.0);
        pairs.multiplicity.fill(1.0);
        let (mut above, mut c) = (0.0, 0.0);
        for i in 0..9 {
            for j in i + 1..9 {
                let delta = pairs.delta[i * 9 + j];
                above += (delta - euclidean(&y, 9, i, &y, 9, j)).powi(2) / delta;
                c += delta;
            }
        }
        let found = error(&pairs, &forces(&pairs, &y, &y).1);
        assert!((found - above / c).abs() < 1e-14, "{found} {}", above / c);
    }

    /// Compares ∂/∂y_i Σ_i μ_i·e_i/2 = −2·μ_i·F_i with central differences.
    #[test]
    fn the_force_is_the_negative_gradient_of_the_stress() {
        for power in [0.0, 1.0, 1.5, 2.0] {
            let (pairs, y) = problem(7, 3, power);
            let half = |y: &[f64]| {
                forces(&pairs, y, y).1.iter().zip(&pairs.multiplicity).map(|(e, mu)| mu * e / 2.0).sum::<f64>()
            };
            let force = forces(&pairs, &y, &y).0;
            for k in 0..y.len() {
                let step = 1e-6;
                let (mut up, mut down) = (y.clone(), y.clone());
                up[k] += step;
                down[k] -= step;
                let slope = (half(&up) - half(&down)) / (2.0 * step);
                let expected = -2.0 * pairs.multiplicity[k % 7] * force[k];
                assert!((slope - expected).abs() < 1e-6 * (1.0 + expected.abs()), "p {power}: {slope} {expected}");
            }
        }
    }

    #[test]
    fn placement_never_increases_the_stress() {
        let (pairs, fixed) = problem(12, 2, 1.0);
        let start: Vec<f64> = fixed.iter().map(|y| y * 3.0 + 0.1).collect();
        let (_, history) = place(&pairs, &fixed, &start, 9);
        assert!(history.windows(13).all(|pair| pair[12] <= pair[0] * (1.0 + 1e-12)));
    }

    #[test]
    fn blocks_are_paired_as_documented() {
        let epoch = Epoch { order: vec![4, 2, 0, 1, 3], alpha: 0.5 };
        let found = block_pairs(&epoch, 5, 2);
        assert_eq!(found[0], (vec![4, 2], vec![0, 1]));
        assert_eq!(found[1], (vec![0, 1], vec![4, 2]));
        assert_eq!(found[2], (vec![3], vec![4, 2]));
        assert_eq!(block_pairs(&epoch, 5, 8)[0].1, Vec::<usize>::new());
    }
}
