//! The graph of near neighbours: who is coupled with whom, and how strongly.

use rayon::prelude::*;

use super::select::{FEW, THREAD};

/// Points of less than this dimension, as 24 neighbours show it, lie along lines; with few points of less than that.
const THIN: f64 = 1.45;
const THIN_OF_FEW: f64 = 1.25;
/// Of less than this there are fewer than 24 to a cluster.
const CROWDED: f64 = 0.8;

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

/// Neighbours that tell the intrinsic dimension close by, and farther round.
const RINGS: [usize; 2] = [12, 24];

/// What tells the intrinsic dimension of points: 1/mean ln(d_r/d_q), q below r, of distances to the nearest others (Levina
/// and Bickel, NIPS 2004; the mean over points is MacKay's and Ghahramani's).
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Spread {
    sum: f64,
    count: f64,
}

impl Spread {
    /// A surface where nothing is known.
    pub(crate) fn dimension(self) -> f64 {
        if self.count == 0.0 { 2.0 } else { (self.sum / self.count).max(1e-30).recip() }
    }
}

#[cfg(test)]
impl Spread {
    pub(crate) fn of(dimension: f64) -> Self {
        Self { sum: 1.0 / dimension, count: 1.0 }
    }
}

impl std::ops::Add for Spread {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { sum: self.sum + other.sum, count: self.count + other.count }
    }
}

/// The intrinsic dimensions of some points.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Dimensions {
    /// As 12 neighbours show it.
    pub(crate) near: f64,
    /// As 24 do, to whom a narrow band is a line.
    pub(crate) wide: f64,
}

impl Dimensions {
    /// Whether points lie along lines. Much below 1 there are not so many near ones: the clusters are small.
    pub(crate) fn thin(self, points: usize) -> bool {
        let most = if points >= FEW { THIN } else { THIN_OF_FEW };
        (CROWDED..THREAD).contains(&self.near) || (CROWDED..most).contains(&self.wide)
    }
}

impl Near {
    pub(crate) fn dimensions(&self, power: f64) -> Dimensions {
        let [near, wide] = RINGS.map(|ring| {
            // Added up one after the other: threads would each time do it in another order.
            let all: Vec<Spread> = (0..self.len()).into_par_iter().map(|i| self.spread(i, ring, power)).collect();
            all.into_iter().fold(Spread::default(), |a, b| a + b).dimension()
        });
        Dimensions { near, wide }
    }

    /// Of each neuron, as 24 neighbours show it; distances are the `power`-th power of those in the space.
    pub(crate) fn spreads(&self, power: f64) -> Vec<Spread> {
        (0..self.len()).into_par_iter().map(|i| self.spread(i, RINGS[1], power)).collect()
    }

    fn spread(&self, i: usize, ring: usize, power: f64) -> Spread {
        let ring = &self.distances[self.first(i, ring)];
        // Too few neighbours tell nothing.
        let Some((last, inner)) = ring.split_last().filter(|(last, inner)| **last > 0.0 && inner.len() + 1 >= RINGS[0])
        else {
            return Spread::default();
        };
        // One that is nearer by more is near enough.
        let sum = inner.iter().map(|d| (last / d.max(last * 1e-9)).ln()).sum::<f64>();
        Spread { sum: sum / power, count: inner.len() as f64 }
    }

    /// The largest distance to the k-th neighbour, or to the last that is known.
    pub(crate) fn reach(&self, k: usize) -> f64 {
        let last = |i: usize| self.distances[self.first(i, k)].last().copied().unwrap_or(0.0);
        (0..self.len()).map(last).fold(0.0, f64::max)
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
        // One that both ends have is its smaller end's.
        let owned = |i: u32, j: u32| i < j || !near.indices[near.first(j as usize, k)].contains(&i);
        let of = |i: usize| {
            let edges = near.first(i, k).map(|e| (near.indices[e], near.distances[e]));
            let owned = edges.filter(move |&(j, _)| owned(i as u32, j));
            owned.map(move |(j, length)| (j.min(i as u32), j.max(i as u32), length))
        };
        let mut edges: Vec<(u32, u32, f64)> = (0..near.len()).into_par_iter().flat_map_iter(of).collect();
        edges.par_sort_unstable_by_key(|&(i, j, _)| (i, j));
        Self {
            n: near.len(),
            heads: edges.par_iter().map(|edge| edge.0).collect(),
            tails: edges.par_iter().map(|edge| edge.1).collect(),
            lengths: edges.par_iter().map(|edge| edge.2).collect(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.heads.len()
    }
}

/// Both directions of each edge: those of neuron i are `starts[i]..starts[i + 1]`, by neighbour in ascending order.
#[derive(Debug, Clone)]
pub(crate) struct Adjacency {
    starts: Vec<usize>,
    neighbours: Vec<u32>,
    /// Which edge leads to each.
    edges: Vec<u32>,
}

impl Adjacency {
    pub(crate) fn new(edges: &Edges) -> Self {
        let mut starts = vec![0; edges.n + 1];
        for &i in edges.heads.iter().chain(&edges.tails) {
            starts[i as usize + 1] += 1;
        }
        for i in 0..edges.n {
            starts[i + 1] += starts[i];
        }
        let mut next = starts.clone();
        let mut all = Self { starts, neighbours: vec![0; 2 * edges.len()], edges: vec![0; 2 * edges.len()] };
        // Smaller neighbours first: edges come in order of their heads.
        for (from, to) in [(&edges.tails, &edges.heads), (&edges.heads, &edges.tails)] {
            for (e, (&i, &j)) in from.iter().zip(to).enumerate() {
                let at = next[i as usize];
                (all.neighbours[at], all.edges[at]) = (j, e as u32);
                next[i as usize] += 1;
            }
        }
        all
    }

    /// The neighbours of neuron i, and which edges lead to them.
    pub(crate) fn row(&self, i: u32) -> impl Iterator<Item = (u32, usize)> + '_ {
        let row = self.starts[i as usize]..self.starts[i as usize + 1];
        self.neighbours[row.clone()].iter().copied().zip(self.edges[row].iter().map(|&e| e as usize))
    }
}

/// Neurons of a task.
const PART: usize = 4096;

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
        let adjacency = Adjacency::new(edges);
        let part = |first: usize| {
            let mut rows = Self { starts: Vec::new(), neighbours: Vec::new(), weights: Vec::new() };
            for i in first..edges.n.min(first + PART) {
                rows.push(i as u32, adjacency.row(i as u32), &edges.lengths, counts, a);
            }
            rows
        };
        let parts: Vec<Self> = (0..edges.n.div_ceil(PART)).into_par_iter().map(|p| part(p * PART)).collect();
        let mut all = Self { starts: vec![0], neighbours: Vec::new(), weights: Vec::new() };
        for part in parts {
            let before = all.neighbours.len() as u32;
            all.starts.extend(part.starts.iter().map(|end| before + end));
            all.neighbours.extend(part.neighbours);
            all.weights.extend(part.weights);
        }
        all
    }

    /// Adds the row of neuron i, and where it ends.
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
