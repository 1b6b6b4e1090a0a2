//! The undirected graph of nearest neighbours.

use std::ops::Range;

use rayon::prelude::*;

use super::{
    neighbour_lists::NeighbourLists,
    parallel::{fill_parts, ranges},
};

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
        let n = near.len();
        let list = |i: usize| near.first(i, k).map(|e| (near.indices[e] as usize, near.distances[e]));
        // The edges of some heads. An edge in both lists is taken from its head's.
        let of = |heads: Range<usize>| {
            let mut edges = Vec::new();
            for i in heads.clone() {
                edges.extend(list(i).filter(|&(j, _)| i < j).map(|(j, length)| (i as u32, j as u32, length)));
            }
            for j in heads.start + 1..n {
                for (i, length) in list(j).filter(|(i, _)| heads.contains(i) && *i < j) {
                    if !near.indices[near.first(i, k)].contains(&(j as u32)) {
                        edges.push((i as u32, j as u32, length));
                    }
                }
            }
            edges.sort_unstable_by_key(|&(i, j, _)| (i, j));
            edges
        };
        let parts: Vec<Vec<(u32, u32, f64)>> = ranges(n).into_par_iter().map(of).collect();
        let lengths: Vec<usize> = parts.iter().map(Vec::len).collect();
        fn fill<T: Copy>(all: &mut [T], part: &[(u32, u32, f64)], value: impl Fn(&(u32, u32, f64)) -> T) {
            all.iter_mut().zip(part).for_each(|(all, edge)| *all = value(edge));
        }
        Self {
            n,
            heads: fill_parts(&lengths, |part, all| fill(all, &parts[part], |edge| edge.0)),
            tails: fill_parts(&lengths, |part, all| fill(all, &parts[part], |edge| edge.1)),
            lengths: fill_parts(&lengths, |part, all| fill(all, &parts[part], |edge| edge.2)),
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
        let tasks = ranges(edges.n);
        // Edges are in order of their heads.
        let of_heads = |rows: &Range<usize>| {
            let first = |i: usize| edges.heads.partition_point(|&head| (head as usize) < i);
            first(rows.start)..first(rows.end)
        };
        let to_tails = |rows: &Range<usize>| {
            let rows = rows.clone();
            (0..edges.len()).filter(move |&e| rows.contains(&(edges.tails[e] as usize)))
        };
        let lengths: Vec<usize> = tasks.iter().map(Range::len).collect();
        let counts = fill_parts(&lengths, |task, counts: &mut [usize]| {
            let rows = &tasks[task];
            of_heads(rows).for_each(|e| counts[edges.heads[e] as usize - rows.start] += 1);
            to_tails(rows).for_each(|e| counts[edges.tails[e] as usize - rows.start] += 1);
        });
        let mut starts = Vec::with_capacity(edges.n + 1);
        starts.push(0);
        starts.extend(counts.iter().scan(0, |end, count| {
            *end += count;
            Some(*end)
        }));
        let lengths: Vec<usize> = tasks.iter().map(|rows| starts[rows.end] - starts[rows.start]).collect();
        // Filling smaller neighbours first gives ascending lists.
        let pairs = fill_parts(&lengths, |task, pairs: &mut [(u32, u32)]| {
            let rows = &tasks[task];
            let first = starts[rows.start];
            let mut next: Vec<usize> = starts[rows.clone()].iter().map(|start| start - first).collect();
            let mut push = |row: u32, pair: (u32, u32)| {
                let at = &mut next[row as usize - rows.start];
                pairs[*at] = pair;
                *at += 1;
            };
            to_tails(rows).for_each(|e| push(edges.tails[e], (edges.heads[e], e as u32)));
            of_heads(rows).for_each(|e| push(edges.heads[e], (edges.tails[e], e as u32)));
        });
        let (neighbours, edges) = pairs.into_par_iter().unzip();
        Self { starts, neighbours, edges }
    }

    /// The value of the edge to each neighbour, in the order of all lists.
    pub(crate) fn spread(&self, values: &[f64]) -> Vec<f64> {
        self.edges.par_iter().map(|&e| values[e as usize]).collect()
    }

    /// Neighbours of neuron i, and their places in the order of all lists.
    pub(crate) fn list(&self, i: u32) -> (&[u32], Range<usize>) {
        let row = self.starts[i as usize]..self.starts[i as usize + 1];
        (&self.neighbours[row.clone()], row)
    }

    /// Neighbours of neuron i and the indices of the edges to them.
    pub(crate) fn row(&self, i: u32) -> impl Iterator<Item = (u32, usize)> + '_ {
        let row = self.starts[i as usize]..self.starts[i as usize + 1];
        self.neighbours[row.clone()].iter().copied().zip(self.edges[row].iter().map(|&e| e as usize))
    }
}
