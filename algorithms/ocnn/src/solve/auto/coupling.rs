//! The coupling weights of a graph in compressed sparse rows.

use rayon::prelude::*;

use super::{
    edges::{Adjacency, Edges},
    parallel::concatenate,
};

/// Neurons per task.
const PART: usize = 4096;

/// Row-normalised coupling weights in compressed sparse rows: the neighbours of neuron i are
/// `neighbours[starts[i]..starts[i + 1]]`.
#[derive(Debug, Clone)]
pub(crate) struct CouplingRows {
    pub(crate) starts: Vec<u32>,
    pub(crate) neighbours: Vec<u32>,
    pub(crate) weights: Vec<f64>,
}

impl CouplingRows {
    /// Weights m_j·exp(−d²/2a²) in both directions of each edge and m_i − 1 on the diagonal, m_i the multiplicity of
    /// neuron i, divided by their row sum; columns in ascending order. A row whose sum is below the smallest normal
    /// f32, which some devices flush to 0, is empty.
    pub(crate) fn new(edges: &Edges, counts: &[u32], a: f64) -> Self {
        let adjacency = Adjacency::new(edges);
        let part = |first: usize| {
            let mut rows = Self { starts: Vec::new(), neighbours: Vec::new(), weights: Vec::new() };
            for i in first..edges.n.min(first + PART) {
                rows.push(i as u32, adjacency.row(i as u32), &edges.lengths, counts, a);
            }
            rows
        };
        let parts: Vec<Self> = (0..edges.n.div_ceil(PART)).into_par_iter().map(|p| part(p * PART)).collect();
        let mut before = 0;
        let mut starts = vec![0];
        for part in &parts {
            starts.extend(part.starts.iter().map(|end| before + end));
            before += part.neighbours.len() as u32;
        }
        Self {
            starts,
            neighbours: concatenate(&parts.iter().map(|part| part.neighbours.as_slice()).collect::<Vec<_>>()),
            weights: concatenate(&parts.iter().map(|part| part.weights.as_slice()).collect::<Vec<_>>()),
        }
    }

    /// Appends the row of neuron i.
    fn push(&mut self, i: u32, others: impl Iterator<Item = (u32, usize)>, lengths: &[f64], counts: &[u32], a: f64) {
        let first = self.neighbours.len();
        let mut own = (counts[i as usize] > 1).then(|| f64::from(counts[i as usize] - 1));
        for (j, e) in others {
            if j > i
                && let Some(weight) = own.take()
            {
                self.neighbours.push(i);
                self.weights.push(weight);
            }
            self.neighbours.push(j);
            self.weights.push(f64::from(counts[j as usize]) * (-0.5 * (lengths[e] / a).powi(2)).exp());
        }
        if let Some(weight) = own {
            self.neighbours.push(i);
            self.weights.push(weight);
        }
        let sum: f64 = self.weights[first..].iter().sum();
        if sum >= f64::from(f32::MIN_POSITIVE) {
            self.weights[first..].iter_mut().for_each(|weight| *weight /= sum);
        } else {
            self.neighbours.truncate(first);
            self.weights.truncate(first);
        }
        self.starts.push(self.neighbours.len() as u32);
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{edges::Edges, neighbour_lists::NeighbourLists},
        *,
    };
    use firebox_core::random::Random;

    /// Random points on a line and their k nearest neighbours.
    fn line(n: usize, k: usize) -> (Vec<f64>, NeighbourLists) {
        let mut random = Random::new(n as u64, 0);
        let points: Vec<f64> = (0..n).map(|_| random.unit()).collect();
        let mut near = NeighbourLists { starts: vec![0], indices: Vec::new(), distances: Vec::new() };
        for i in 0..n {
            let mut others: Vec<usize> = (0..n).filter(|&j| j != i).collect();
            let distance = |j: usize| (points[i] - points[j]).abs();
            others.sort_by(|&a, &b| distance(a).total_cmp(&distance(b)));
            near.indices.extend(others[..k].iter().map(|&j| j as u32));
            near.distances.extend(others[..k].iter().map(|&j| distance(j)));
            near.starts.push(near.indices.len());
        }
        (points, near)
    }

    #[test]
    fn each_edge_occurs_once() {
        for (n, k) in [(2, 1), (7, 3), (60, 8)] {
            let (points, near) = line(n, k);
            for k in 1..=k {
                let has = |i: usize, j: usize| near.indices[near.first(i, k)].contains(&(j as u32));
                let pairs = (0..n).flat_map(|i| (i + 1..n).map(move |j| (i, j)));
                let wanted: Vec<(u32, u32, f64)> = pairs
                    .filter(|&(i, j)| has(i, j) || has(j, i))
                    .map(|(i, j)| (i as u32, j as u32, (points[i] - points[j]).abs()))
                    .collect();
                let edges = Edges::new(&near, k);
                let found = (0..edges.len()).map(|e| (edges.heads[e], edges.tails[e], edges.lengths[e]));
                assert_eq!(found.collect::<Vec<_>>(), wanted, "n = {n}, k = {k}");
            }
        }
    }

    #[test]
    fn rows_sum_to_one_and_contain_both_directions() {
        let (points, near) = line(40, 5);
        let edges = Edges::new(&near, 5);
        let counts: Vec<u32> = (0..40).map(|i| 1 + (i % 3)).collect();
        let a = near.mean(3);
        let rows = CouplingRows::new(&edges, &counts, a);
        let joined = |i: usize, j: usize| {
            i == j && counts[i] > 1
                || (0..edges.len()).any(|e| {
                    let ends = (edges.heads[e] as usize, edges.tails[e] as usize);
                    ends == (i, j) || ends == (j, i)
                })
        };
        let weight = |i: usize, j: usize| {
            let count = f64::from(counts[j] - u32::from(i == j));
            count * (-((points[i] - points[j]) / a).powi(2) / 2.0).exp()
        };
        for i in 0..40 {
            let row = rows.starts[i] as usize..rows.starts[i + 1] as usize;
            let all: Vec<u32> = (0..40).filter(|&j| joined(i, j)).map(|j| j as u32).collect();
            assert_eq!(rows.neighbours[row.clone()], all);
            let sum: f64 = all.iter().map(|&j| weight(i, j as usize)).sum();
            for (found, &j) in rows.weights[row].iter().zip(&all) {
                assert!((found - weight(i, j as usize) / sum).abs() < 1e-14);
            }
        }
    }

    #[test]
    fn rows_of_vanishing_weights_are_empty() {
        let near = NeighbourLists { starts: vec![0, 1, 2, 3], indices: vec![1, 0, 1], distances: vec![1.0, 1.0, 50.0] };
        let rows = CouplingRows::new(&Edges::new(&near, 1), &[1, 1, 1], 1.0);
        assert_eq!(rows.starts, [0, 1, 3, 3]);
    }
}
