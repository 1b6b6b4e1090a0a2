//! The agreement J of two neurons: the cosine of their rows of mutual information.

use rayon::prelude::*;

use super::{
    edges::{Adjacency, Edges},
    parallel::ranges,
};

/// The sparse symmetric matrix with `values` at the edges.
#[derive(Clone, Copy)]
pub(crate) struct EdgeMatrix<'a> {
    pub(crate) adjacency: &'a Adjacency,
    pub(crate) values: &'a [f64],
}

impl EdgeMatrix<'_> {
    /// Row i: columns in ascending order, and their values.
    pub(crate) fn row(&self, i: u32) -> impl Iterator<Item = (u32, f64)> + '_ {
        self.adjacency.row(i).map(|(j, e)| (j, self.values[e]))
    }
}

/// J of each edge, in [0, 1]: the cosine of its ends' rows of `information`, whose diagonal is 1.
///
/// Neurons that are linked by chance share few neighbours, hence have a small cosine.
pub(crate) fn agreement(edges: &Edges, adjacency: &Adjacency, information: &[f64]) -> Vec<f64> {
    let values = adjacency.spread(information);
    let row = |i: u32| {
        let (neighbours, places) = adjacency.list(i);
        neighbours.iter().map(|&k| k as usize).zip(values[places].iter().copied())
    };
    let norm = |i: u32| (1.0 + row(i).map(|(_, value)| value * value).sum::<f64>()).sqrt();
    let norms: Vec<f64> = (0..edges.n as u32).into_par_iter().map(norm).collect();
    let mut agreement = vec![0.0; edges.len()];
    // Each task has a dense row, so tasks are few. Edges are in order of their heads.
    let per_task = edges.len().div_ceil(ranges(edges.n).len().max(1)).max(1);
    agreement.par_chunks_mut(per_task).enumerate().for_each(|(task, agreement)| {
        let first = task * per_task;
        let mut dense = vec![0.0; edges.n];
        let mut head = None;
        for ((&i, &j), agreement) in edges.heads[first..].iter().zip(&edges.tails[first..]).zip(agreement) {
            if head != Some(i) {
                if let Some(before) = head.replace(i) {
                    dense[before as usize] = 0.0;
                    row(before).for_each(|(k, _)| dense[k] = 0.0);
                }
                dense[i as usize] = 1.0;
                row(i).for_each(|(k, value)| dense[k] = value);
            }
            // The first term is that of the tail's diagonal.
            let product = dense[j as usize] + row(j).map(|(k, value)| value * dense[k]).sum::<f64>();
            *agreement = (product / (norms[i as usize] * norms[j as usize])).clamp(0.0, 1.0);
        }
    });
    agreement
}

#[cfg(test)]
mod tests {
    use super::*;
    use firebox_core::random::Random;

    #[test]
    fn agreement_is_the_cosine_of_dense_rows() {
        let mut random = Random::new(12, 0);
        for n in [2, 5, 30] {
            let mut edges = Edges { n, heads: Vec::new(), tails: Vec::new(), lengths: Vec::new() };
            let mut full = vec![0.0; n * n];
            let mut information = Vec::new();
            for i in 0..n {
                full[i * n + i] = 1.0;
                for j in i + 1..n {
                    if random.below(3) > 0 {
                        let value = random.unit();
                        edges.heads.push(i as u32);
                        edges.tails.push(j as u32);
                        edges.lengths.push(1.0);
                        information.push(value);
                        (full[i * n + j], full[j * n + i]) = (value, value);
                    }
                }
            }
            let dot = |i: usize, j: usize| (0..n).map(|k| full[i * n + k] * full[j * n + k]).sum::<f64>();
            for (e, found) in agreement(&edges, &Adjacency::new(&edges), &information).into_iter().enumerate() {
                let (i, j) = (edges.heads[e] as usize, edges.tails[e] as usize);
                assert!((found - dot(i, j) / (dot(i, i) * dot(j, j)).sqrt()).abs() < 1e-12);
            }
        }
    }
}
