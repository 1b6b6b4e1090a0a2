//! The agreement J of two neurons: the cosine of their rows of mutual information.

use rayon::prelude::*;

use super::edges::{Adjacency, Edges};

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

    /// Dot product of rows i and j, whose diagonal entries are 1.
    fn product(&self, i: u32, j: u32) -> f64 {
        let mut sum = 0.0;
        let mut others = self.row(j).peekable();
        for (k, value) in self.row(i) {
            if k == j {
                // The two terms with a diagonal entry: a_ij·a_jj and a_ii·a_ji.
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

/// J of each edge, in [0, 1]: the cosine of its ends' rows of `information`, whose diagonal is 1.
///
/// Neurons that are linked by chance share few neighbours, hence have a small cosine.
pub(crate) fn agreement(edges: &Edges, adjacency: &Adjacency, information: &[f64]) -> Vec<f64> {
    let matrix = EdgeMatrix { adjacency, values: information };
    let norm = |i: u32| (1.0 + matrix.row(i).map(|(_, value)| value * value).sum::<f64>()).sqrt();
    let norms: Vec<f64> = (0..edges.n as u32).into_par_iter().map(norm).collect();
    let ends = edges.heads.par_iter().zip(&edges.tails);
    let cosine = |(&i, &j): (&u32, &u32)| matrix.product(i, j) / (norms[i as usize] * norms[j as usize]);
    ends.map(|ends| cosine(ends).clamp(0.0, 1.0)).collect()
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
