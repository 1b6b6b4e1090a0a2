//! The graph of near neighbours: who is coupled with whom, and how strongly.

use rayon::prelude::*;

/// For each neuron others that are near it, nearest first: those of neuron i are `starts[i]..starts[i + 1]`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Near {
    pub(crate) starts: Vec<usize>,
    pub(crate) indices: Vec<u32>,
    pub(crate) distances: Vec<f64>,
}

impl Near {
    pub(crate) fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// The k nearest of neuron i, or as many as there are.
    fn first(&self, i: usize, k: usize) -> std::ops::Range<usize> {
        let (start, end) = (self.starts[i], self.starts[i + 1]);
        start..end.min(start + k)
    }

    /// Mean distance to the k nearest, over all neurons and neighbours.
    pub(crate) fn mean(&self, k: usize) -> f64 {
        let rows = (0..self.len()).map(|i| &self.distances[self.first(i, k)]);
        let (sum, count) = rows.fold((0.0, 0), |(sum, count), row| (sum + row.iter().sum::<f64>(), count + row.len()));
        sum / count.max(1) as f64
    }
}

/// Neighbours that tell the intrinsic dimension.
const RING: usize = 12;

impl Near {
    /// The intrinsic dimension of the points: 1/mean ln(d_12/d_q), q below 12, of distances to the nearest others (Levina
    /// and Bickel, NIPS 2004). 1 where there are no two neighbours.
    pub(crate) fn dimension(&self) -> f64 {
        let (mut sum, mut count) = (0.0, 0);
        for i in 0..self.len() {
            let ring = &self.distances[self.first(i, RING)];
            if let Some((last, inner)) = ring.split_last() {
                sum += inner.iter().map(|d| (last.max(1e-30) / d.max(1e-30)).ln()).sum::<f64>();
                count += inner.len();
            }
        }
        if count == 0 { 1.0 } else { (sum / count as f64).max(1e-30).recip() }
    }
}

/// Undirected edges between the neurons 0..n, each once, `heads` below `tails`, in order of both.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Edges {
    pub(crate) n: usize,
    pub(crate) heads: Vec<u32>,
    pub(crate) tails: Vec<u32>,
    pub(crate) lengths: Vec<f64>,
}

impl Edges {
    /// There is one between i and j if either is among the other's k nearest.
    pub(crate) fn new(near: &Near, k: usize) -> Self {
        let n = near.len();
        let rows: Vec<Vec<(u32, u32, f64)>> = (0..n)
            .into_par_iter()
            .map(|i| {
                let mut edges = Vec::new();
                for e in near.first(i, k) {
                    let (own, other) = (i as u32, near.indices[e]);
                    // One that both ends have is its smaller end's.
                    if own < other || !near.indices[near.first(other as usize, k)].contains(&own) {
                        edges.push((own.min(other), own.max(other), near.distances[e]));
                    }
                }
                edges
            })
            .collect();
        let mut edges: Vec<(u32, u32, f64)> = rows.into_iter().flatten().collect();
        edges.par_sort_unstable_by_key(|&(i, j, _)| (i, j));
        let mut all = Self { n, heads: Vec::new(), tails: Vec::new(), lengths: Vec::new() };
        for (i, j, length) in edges {
            all.heads.push(i);
            all.tails.push(j);
            all.lengths.push(length);
        }
        all
    }

    pub(crate) fn len(&self) -> usize {
        self.heads.len()
    }
}

/// A weighted graph in compressed rows: the neighbours of neuron i are `neighbours[starts[i]..starts[i + 1]]`.
#[derive(Debug, Clone)]
pub(crate) struct Rows {
    pub(crate) starts: Vec<u32>,
    pub(crate) neighbours: Vec<u32>,
    pub(crate) weights: Vec<f64>,
}

impl Rows {
    /// Both directions of each edge, with the weights m_j·exp(−d²/2a²), and (i, i) with m_i − 1 for the m_i equal points
    /// that neuron i stands for; neighbours in ascending order; each row divided by its sum. A row whose sum is below
    /// the smallest normal f32, which is 0 on some devices, has no entries.
    pub(crate) fn new(edges: &Edges, counts: &[u32], a: f64) -> Self {
        let n = edges.n;
        let own = |i: usize| usize::from(counts[i] > 1);
        let mut places = vec![0usize; n + 1];
        for &i in edges.heads.iter().chain(&edges.tails) {
            places[i as usize + 1] += 1;
        }
        for i in 0..n {
            places[i + 1] += places[i] + own(i);
        }
        let mut next = places.clone();
        let (mut neighbours, mut weights) = (vec![0; places[n]], vec![0.0; places[n]]);
        let mut put = |i: u32, j: u32, weight: f64| {
            let at = next[i as usize];
            (neighbours[at], weights[at]) = (j, weight);
            next[i as usize] += 1;
        };
        let weight = |e: usize| (-0.5 * (edges.lengths[e] / a).powi(2)).exp();
        // Smaller neighbours, the neuron itself, larger neighbours: edges come in order of their heads.
        for e in 0..edges.len() {
            put(edges.tails[e], edges.heads[e], weight(e) * f64::from(counts[edges.heads[e] as usize]));
        }
        for (i, &count) in counts.iter().enumerate().filter(|(_, count)| **count > 1) {
            put(i as u32, i as u32, f64::from(count - 1));
        }
        for e in 0..edges.len() {
            put(edges.heads[e], edges.tails[e], weight(e) * f64::from(counts[edges.tails[e] as usize]));
        }
        let mut rows = Self { starts: vec![0], neighbours: Vec::new(), weights: Vec::new() };
        for row in places.windows(2) {
            let row = row[0]..row[1];
            let sum: f64 = weights[row.clone()].iter().sum();
            if sum >= f64::from(f32::MIN_POSITIVE) {
                rows.neighbours.extend(&neighbours[row.clone()]);
                rows.weights.extend(weights[row].iter().map(|weight| weight / sum));
            }
            rows.starts.push(rows.neighbours.len() as u32);
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use firebox_core::random::Random;

    /// Points on a line, and for each the k nearest others.
    fn line(n: usize, k: usize) -> (Vec<f64>, Near) {
        let mut random = Random::new(n as u64, 0);
        let points: Vec<f64> = (0..n).map(|_| random.unit()).collect();
        let mut near = Near { starts: vec![0], indices: Vec::new(), distances: Vec::new() };
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
    fn an_edge_is_there_once_whoever_has_it() {
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
    fn rows_sum_to_one_and_hold_both_directions() {
        let (points, near) = line(40, 5);
        let edges = Edges::new(&near, 5);
        let counts: Vec<u32> = (0..40).map(|i| 1 + (i % 3)).collect();
        let a = near.mean(3);
        let rows = Rows::new(&edges, &counts, a);
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
    fn whom_nothing_reaches_has_no_row() {
        let near = Near { starts: vec![0, 1, 2, 3], indices: vec![1, 0, 1], distances: vec![1.0, 1.0, 50.0] };
        let rows = Rows::new(&Edges::new(&near, 1), &[1, 1, 1], 1.0);
        assert_eq!(rows.starts, [0, 1, 3, 3]);
    }
}
