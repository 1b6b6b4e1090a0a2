//! The share of each cluster in each point.

use firebox_core::{Result, memory};
use rayon::prelude::*;

use super::agreement::EdgeMatrix;

/// Neurons per task.
const PART: usize = 4096;

/// The share p_ik of each cluster k in each of N points i, in [0, 1]; the shares of a point sum to 1.
///
/// p_ik ∝ c_i·\[label_i = k\] + Σ_j c_j·J_ij·\[label_j = k\]
///
/// over the neighbours j of i among the candidate edges of the tree, J_ij the agreement of the edge and c the
/// multiplicities: the c_i points equal to i, itself among them, agree by 1. The label of noise is no k. A point for which
/// all of this is 0 belongs wholly to the cluster that surrounds it in the tree, or to all clusters alike if there is no
/// such cluster, as for an isolated point below a threshold.
///
/// A point may have a larger share of another cluster than of its own, by which it is attached to the tree. Unlike
/// [`memberships`](crate::Clustering::memberships), which are in bits, shares compare clusters.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Shares {
    clusters: usize,
    /// The row of each point: its neuron.
    of_point: Vec<u32>,
    /// Shares above 0 in compressed sparse rows; an empty row stands for equal shares.
    rows: Rows,
}

/// Compressed sparse rows with ascending columns.
#[derive(Debug, Clone, Default, PartialEq)]
struct Rows {
    starts: Vec<usize>,
    clusters: Vec<u32>,
    values: Vec<f64>,
}

impl Shares {
    /// Shares in neurons with these multiplicities and labels from 0, of which −1 is noise; `around` is the cluster of the
    /// component of each neuron, −1 without one.
    pub(crate) fn new(
        agreement: EdgeMatrix,
        counts: &[u32],
        labels: &[i64],
        around: &[i64],
        of_point: Vec<u32>,
    ) -> Self {
        let n = labels.len();
        let part = |first: usize| {
            let mut rows = Rows { starts: Vec::new(), clusters: Vec::new(), values: Vec::new() };
            let mut sums: Vec<(u32, f64)> = Vec::new();
            for i in first..n.min(first + PART) {
                sums.clear();
                let own = (labels[i], f64::from(counts[i]));
                let others = agreement.row(i as u32).map(|(j, value)| (j as usize, value));
                let others = others.map(|(j, value)| (labels[j], f64::from(counts[j]) * value));
                for (label, value) in
                    std::iter::once(own).chain(others).filter(|&(label, value)| label >= 0 && value > 0.0)
                {
                    match sums.iter_mut().find(|(cluster, _)| i64::from(*cluster) == label) {
                        Some((_, sum)) => *sum += value,
                        None => sums.push((label as u32, value)),
                    }
                }
                if let ([], Ok(cluster)) = (&sums[..], u32::try_from(around[i])) {
                    sums.push((cluster, 1.0));
                }
                rows.push(&mut sums);
            }
            rows
        };
        let parts: Vec<Rows> = (0..n.div_ceil(PART)).into_par_iter().map(|p| part(p * PART)).collect();
        let mut rows = Rows { starts: vec![0], clusters: Vec::new(), values: Vec::new() };
        for part in parts {
            let before = rows.clusters.len();
            rows.starts.extend(part.starts.iter().map(|end| before + end));
            rows.clusters.extend(part.clusters);
            rows.values.extend(part.values);
        }
        let clusters = labels.iter().max().map_or(0, |&last| (last + 1) as usize);
        Self { clusters, of_point, rows }
    }

    /// N, the number of points.
    pub fn points(&self) -> usize {
        self.of_point.len()
    }

    /// K, the number of clusters.
    pub fn clusters(&self) -> usize {
        self.clusters
    }

    /// The shares of all clusters in a point `[K]`; all 0 beyond the last point.
    pub fn of_point(&self, point: usize) -> Vec<f64> {
        let mut row = vec![0.0; self.clusters];
        if let Some(&neuron) = self.of_point.get(point) {
            self.rows.write(neuron as usize, &mut row);
        }
        row
    }

    /// The shares of all clusters in all points, row-major `[N, K]`.
    ///
    /// # Errors
    /// If memory does not suffice.
    pub fn matrix(&self) -> Result<Vec<f64>> {
        let cells = self.points().saturating_mul(self.clusters);
        let mut matrix = memory::with_capacity(cells, "the memberships in each cluster")?;
        matrix.resize(cells, 0.0);
        for (row, &neuron) in matrix.chunks_mut(self.clusters.max(1)).zip(&self.of_point) {
            self.rows.write(neuron as usize, row);
        }
        Ok(matrix)
    }
}

impl Rows {
    /// Appends a row in proportion to `sums`.
    fn push(&mut self, sums: &mut [(u32, f64)]) {
        sums.sort_unstable_by_key(|(cluster, _)| *cluster);
        let total: f64 = sums.iter().map(|(_, sum)| sum).sum();
        self.clusters.extend(sums.iter().map(|(cluster, _)| cluster));
        self.values.extend(sums.iter().map(|(_, sum)| sum / total));
        self.starts.push(self.clusters.len());
    }

    /// Writes row i into zeros.
    fn write(&self, i: usize, row: &mut [f64]) {
        let entries = self.starts[i]..self.starts[i + 1];
        if entries.is_empty() {
            row.fill(1.0 / row.len() as f64);
        }
        for (&cluster, &value) in self.clusters[entries.clone()].iter().zip(&self.values[entries]) {
            row[cluster as usize] = value;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::edges::{Adjacency, Edges},
        *,
    };
    use firebox_core::random::Random;

    struct Case {
        edges: Edges,
        agreement: Vec<f64>,
        counts: Vec<u32>,
        labels: Vec<i64>,
        around: Vec<i64>,
    }

    impl Case {
        fn shares(&self, of_point: Vec<u32>) -> Shares {
            let adjacency = Adjacency::new(&self.edges);
            let matrix = EdgeMatrix { adjacency: &adjacency, values: &self.agreement };
            Shares::new(matrix, &self.counts, &self.labels, &self.around, of_point)
        }
    }

    fn case(n: usize, clusters: usize, seed: u64) -> Case {
        let mut random = Random::new(seed, 3);
        let mut edges = Edges { n, heads: Vec::new(), tails: Vec::new(), lengths: Vec::new() };
        let mut agreement = Vec::new();
        for i in 0..n as u32 {
            for j in i + 1..n as u32 {
                if random.below(n) < 4 {
                    edges.heads.push(i);
                    edges.tails.push(j);
                    edges.lengths.push(1.0);
                    agreement.push(if random.below(4) == 0 { 0.0 } else { random.unit() });
                }
            }
        }
        // Every cluster has a neuron of its own.
        let label = |i: usize, drawn: usize| if i < clusters { i as i64 } else { drawn as i64 - 1 };
        let labels: Vec<i64> = (0..n).map(|i| label(i, random.below(clusters + 1))).collect();
        let around = labels.iter().map(|&label| if label < 0 { random.below(clusters + 1) as i64 - 1 } else { label });
        let around = around.collect();
        let counts = (0..n).map(|_| 1 + random.below(3) as u32 * random.below(50) as u32).collect();
        Case { edges, agreement, counts, labels, around }
    }

    /// The definition, with loops over all clusters and edges.
    fn plain(case: &Case, clusters: usize, i: usize) -> Vec<f64> {
        let mut row: Vec<f64> = (0..clusters as i64)
            .map(|k| {
                let mut sum = if case.labels[i] == k { f64::from(case.counts[i]) } else { 0.0 };
                for (e, value) in case.agreement.iter().enumerate() {
                    let ends = [case.edges.heads[e] as usize, case.edges.tails[e] as usize];
                    for (from, to) in [(ends[0], ends[1]), (ends[1], ends[0])] {
                        if from == i && case.labels[to] == k {
                            sum += f64::from(case.counts[to]) * value;
                        }
                    }
                }
                sum
            })
            .collect();
        let total: f64 = row.iter().sum();
        let alike = 1.0 / clusters as f64;
        row.iter_mut().enumerate().for_each(|(k, share)| {
            *share = match case.around[i] {
                _ if total > 0.0 => *share / total,
                -1 => alike,
                around => f64::from(u8::from(around == k as i64)),
            }
        });
        row
    }

    #[test]
    fn shares_follow_their_definition() {
        for (n, clusters) in [(1, 1), (2, 1), (7, 3), (60, 1), (60, 5), (300, 40), (9001, 2)] {
            let case = case(n, clusters, n as u64);
            let of_point: Vec<u32> = (0..n as u32).chain([0, n as u32 - 1]).collect();
            let shares = case.shares(of_point.clone());
            assert_eq!((shares.points(), shares.clusters()), (n + 2, clusters));
            let matrix = shares.matrix().unwrap();
            assert_eq!(matrix.len(), (n + 2) * clusters);
            for (point, row) in matrix.chunks(clusters).enumerate() {
                assert_eq!(shares.of_point(point), row);
                assert!((row.iter().sum::<f64>() - 1.0).abs() < 1e-12, "{row:?}");
                if n < 1000 || point % 500 == 0 {
                    let wanted = plain(&case, clusters, of_point[point] as usize);
                    let near = row.iter().zip(&wanted).all(|(a, b)| (a - b).abs() < 1e-12);
                    assert!(near, "n = {n}, point {point}: {row:?}, not {wanted:?}");
                }
            }
        }
    }

    #[test]
    fn points_without_agreement_have_the_cluster_around_them_or_all() {
        // Two clusters; noise with a neighbour in one of them, with a neighbour of agreement 0, isolated, and noise
        // beside noise.
        let edges = Edges { n: 7, heads: vec![0, 0, 1, 5], tails: vec![2, 3, 3, 6], lengths: vec![1.0; 4] };
        let case = Case {
            edges,
            agreement: vec![0.5, 0.0, 0.0, 0.9],
            counts: vec![1, 3, 1, 2, 1, 1, 1],
            labels: vec![0, 1, -1, -1, -1, -1, -1],
            around: vec![0, 1, 1, 1, -1, -1, 0],
        };
        let shares = case.shares((0..7).collect());
        let wanted = [[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.0, 1.0], [0.5, 0.5], [0.5, 0.5], [1.0, 0.0]];
        assert_eq!(shares.matrix().unwrap(), wanted.concat());
        assert_eq!(shares.of_point(7), [0.0, 0.0]);
    }

    #[test]
    fn without_clusters_there_are_no_shares() {
        let case = Case { labels: vec![-1; 7], around: vec![-1; 7], ..case(7, 2, 1) };
        let shares = case.shares((0..7).collect());
        assert_eq!((shares.clusters(), shares.matrix().unwrap(), shares.of_point(3)), (0, vec![], vec![]));
    }
}
