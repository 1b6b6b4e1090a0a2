//! The network on a sparse graph, sign bits, and nearest neighbours, in plain loops.

use super::network::map;
use crate::types::{Metric, REPLICAS};

/// One step x_i ← Σ_j w_ij·f(x_j), clamped to [−1, 1], of [`REPLICAS`] states `x`, n × r, on a graph in compressed
/// sparse rows. A neuron without neighbours follows its own map.
pub fn graph_step(starts: &[u32], neighbours: &[u32], weights: &[f64], x: &[f64]) -> Vec<f64> {
    let mut next = vec![0.0; x.len()];
    for i in 0..x.len() / REPLICAS {
        let row = starts[i] as usize..starts[i + 1] as usize;
        for r in 0..REPLICAS {
            let own = i * REPLICAS + r;
            if row.is_empty() {
                next[own] = map(x[own]);
            }
            for edge in row.clone() {
                next[own] += weights[edge] * map(x[neighbours[edge] as usize * REPLICAS + r]);
            }
            next[own] = next[own].clamp(-1.0, 1.0);
        }
    }
    next
}

/// The number of bits set in `mask` and in both rows of n × `width` words at the ends of each edge (from, to).
pub fn common_ones(words: &[u32], width: usize, from: &[u32], to: &[u32], mask: u32) -> Vec<u32> {
    let mut counts = vec![0; from.len()];
    for (count, (&i, &j)) in counts.iter_mut().zip(from.iter().zip(to)) {
        for w in 0..width {
            *count += (words[i as usize * width + w] & words[j as usize * width + w] & mask).count_ones();
        }
    }
    counts
}

/// Distance of point j of `points`, d × n, and query i of `queries`, d × q: Σ_k (a_k − b_k)² or Σ_k |a_k − b_k|.
pub fn distance(points: &[f64], n: usize, j: usize, queries: &[f64], q: usize, i: usize, metric: Metric) -> f64 {
    let mut sum = 0.0;
    for (a, b) in points.chunks(n).zip(queries.chunks(q)) {
        sum += match metric {
            Metric::Euclidean => (a[j] - b[i]) * (a[j] - b[i]),
            Metric::Manhattan => (a[j] - b[i]).abs(),
        };
    }
    sum
}

/// Indices, q × k, of the k nearest of `points`, d × n, to each of `queries`, d × q: nearest first, the smaller index
/// first among equals. With `own`, query i is point `own` + i, which is excluded.
pub fn nearest(
    points: &[f64],
    n: usize,
    queries: &[f64],
    q: usize,
    k: usize,
    metric: Metric,
    own: Option<usize>,
) -> Vec<u32> {
    let mut indices = Vec::with_capacity(q * k);
    for i in 0..q {
        let mut others: Vec<(f64, u32)> = Vec::with_capacity(n);
        for j in 0..n {
            if own.is_none_or(|own| own + i != j) {
                others.push((distance(points, n, j, queries, q, i, metric), j as u32));
            }
        }
        others.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        indices.extend(others.iter().take(k).map(|other| other.1));
    }
    indices
}
