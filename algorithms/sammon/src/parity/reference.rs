//! Distances and blocks of the reference: scalar loops in f64 that follow the definitions.
//!
//! Matrices are row-major: features `[d, n]`, embeddings `[m, n]`, distances `[r, n]` with 0 where no pair exists.

use crate::types::{Epoch, Metric, partner};

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
pub(super) fn distances(
    rows: &[f64],
    r: usize,
    points: &[f64],
    n: usize,
    first: Option<usize>,
    metric: Metric,
) -> Vec<f64> {
    let mut delta = vec![0.0; r * n];
    for i in 0..r {
        for j in (0..n).filter(|&j| first.is_none_or(|first| first + i != j)) {
            delta[i * n + j] = match metric {
                Metric::Euclidean => euclidean(rows, r, i, points, n, j),
                Metric::Manhattan => column(rows, r, i).zip(column(points, n, j)).map(|(a, b)| (a - b).abs()).sum(),
                Metric::Cosine | Metric::Correlation => euclidean(rows, r, i, points, n, j).powi(2) / 2.0,
            };
        }
    }
    delta
}

/// 1/x, and 0 for x = 0.
pub(super) fn inverse(x: f64) -> f64 {
    if x == 0.0 { 0.0 } else { 1.0 / x }
}

/// Points of each block of an epoch over `n` points, and those of its partner; a single block has none.
pub(super) fn block_pairs(epoch: &Epoch, n: usize, block: usize) -> Vec<(Vec<usize>, Vec<usize>)> {
    let blocks: Vec<Vec<usize>> =
        epoch.order[..n].chunks(block).map(|points| points.iter().map(|&i| i as usize).collect()).collect();
    let partners = |k: usize| match partner(k, blocks.len()) {
        other if other == k => Vec::new(),
        other => blocks[other].clone(),
    };
    (0..blocks.len()).map(|k| (blocks[k].clone(), partners(k))).collect()
}

/// Columns `which` of a matrix with `n` columns.
pub(super) fn gather(matrix: &[f64], n: usize, which: &[usize]) -> Vec<f64> {
    matrix.chunks(n.max(1)).flat_map(|row| which.iter().map(|&i| row[i])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

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
