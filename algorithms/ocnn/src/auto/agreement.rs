//! How far two neurons share information with the same others: the cosine between their rows of mutual information.

use rayon::prelude::*;

use super::graph::{Adjacency, Edges};

/// Rows of the symmetric matrix that has `values` at the edges and nothing elsewhere.
#[derive(Clone, Copy)]
pub(crate) struct Profiles<'a> {
    pub(crate) adjacency: &'a Adjacency,
    pub(crate) values: &'a [f64],
}

impl Profiles<'_> {
    /// The neighbours of neuron i in ascending order, and their values.
    pub(crate) fn row(&self, i: u32) -> impl Iterator<Item = (u32, f64)> + '_ {
        self.adjacency.row(i).map(|(j, e)| (j, self.values[e]))
    }

    /// Row i times row j, where each neuron has 1 with itself.
    fn product(&self, i: u32, j: u32) -> f64 {
        let mut sum = 0.0;
        let mut others = self.row(j).peekable();
        for (k, value) in self.row(i) {
            if k == j {
                // i's value for j times j's own, and j's value for i times i's own.
                sum += 2.0 * value;
            }
            while others.next_if(|(other, _)| *other < k).is_some() {}
            if let Some((_, other)) = others.next_if(|(other, _)| *other == k) {
                sum += value * other;
            }
        }
        sum
    }
}

/// For each edge the cosine between its ends' rows of `information`, in which each has 1 with itself: from 0 to 1. Two
/// neurons that hang together by chance do not share the same others.
pub(crate) fn agreement(edges: &Edges, adjacency: &Adjacency, information: &[f64]) -> Vec<f64> {
    let profiles = Profiles { adjacency, values: information };
    let norm = |i: u32| (1.0 + profiles.row(i).map(|(_, value)| value * value).sum::<f64>()).sqrt();
    let norms: Vec<f64> = (0..edges.n as u32).into_par_iter().map(norm).collect();
    let ends = edges.heads.par_iter().zip(&edges.tails);
    let cosine = |(&i, &j): (&u32, &u32)| profiles.product(i, j) / (norms[i as usize] * norms[j as usize]);
    ends.map(|ends| cosine(ends).clamp(0.0, 1.0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use firebox_core::random::Random;

    #[test]
    fn it_is_the_cosine_of_full_rows() {
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
