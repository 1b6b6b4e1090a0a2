//! The undirected graph of nearest neighbours.

use rayon::prelude::*;

use super::neighbour_lists::NeighbourLists;

/// Neighbours per neuron that are candidates for edges of the tree.
pub(crate) const CANDIDATES: usize = 24;

/// Undirected edges between the neurons 0..n, each once with `heads[e] < tails[e]`, in lexicographic order.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Edges {
    pub(crate) n: usize,
    pub(crate) heads: Vec<u32>,
    pub(crate) tails: Vec<u32>,
    pub(crate) lengths: Vec<f64>,
}

impl Edges {
    /// An edge for every i and j of which either is among the other's k nearest.
    pub(crate) fn new(near: &NeighbourLists, k: usize) -> Self {
        // An edge in both lists is taken from its smaller end.
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

/// Adjacency lists: the neighbours of neuron i, in ascending order, are at `starts[i]..starts[i + 1]`.
#[derive(Debug, Clone)]
pub(crate) struct Adjacency {
    starts: Vec<usize>,
    neighbours: Vec<u32>,
    /// Index of the edge to each neighbour.
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
        // Edges are in order of their heads, so filling smaller neighbours first gives ascending lists.
        for (from, to) in [(&edges.tails, &edges.heads), (&edges.heads, &edges.tails)] {
            for (e, (&i, &j)) in from.iter().zip(to).enumerate() {
                let at = next[i as usize];
                (all.neighbours[at], all.edges[at]) = (j, e as u32);
                next[i as usize] += 1;
            }
        }
        all
    }

    /// Neighbours of neuron i and the indices of the edges to them.
    pub(crate) fn row(&self, i: u32) -> impl Iterator<Item = (u32, usize)> + '_ {
        let row = self.starts[i as usize]..self.starts[i as usize + 1];
        self.neighbours[row.clone()].iter().copied().zip(self.edges[row].iter().map(|&e| e as usize))
    }
}
