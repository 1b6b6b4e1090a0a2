//! The undirected graph of nearest neighbours.

use std::ops::Range;

use rayon::prelude::*;

use super::{
    neighbour_lists::NeighbourLists,
    parallel::{by_row, fill_parts, range_of, ranges},
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

/// The tail of an edge and its length.
type Entry = (u32, f64);
/// A neighbour and the edge to it.
type Link = (u32, u32);

impl Edges {
    /// An edge for every i and j of which either is among the other's k nearest.
    pub(crate) fn new(near: &NeighbourLists, k: usize) -> Self {
        let n = near.len();
        let tasks = ranges(n);
        let list = |i: usize| near.first(i, k).map(|e| (near.indices[e] as usize, near.distances[e]));
        // Edges that only the list of their tail contains, by the range of their head.
        let of_tails = |tails: &Range<usize>| {
            let mut edges: Vec<Vec<(usize, Entry)>> = vec![Vec::new(); tasks.len()];
            for j in tails.clone() {
                for (i, length) in list(j).filter(|&(i, _)| i < j) {
                    if !near.indices[near.first(i, k)].contains(&(j as u32)) {
                        edges[range_of(&tasks, i)].push((i, (j as u32, length)));
                    }
                }
            }
            edges
        };
        let of_tails: Vec<_> = tasks.par_iter().map(of_tails).collect();
        let of_heads = |(task, heads): (usize, &Range<usize>)| {
            let own = heads.clone().flat_map(|i| list(i).map(move |(j, length)| (i, (j as u32, length))));
            let own = own.filter(|&(i, (j, _))| i < j as usize);
            let others = of_tails.iter().flat_map(|edges| edges[task].iter().copied());
            let entries = own.chain(others).map(|(i, entry)| (i - heads.start, entry));
            let (starts, mut entries) = by_row(heads.len(), entries);
            for row in starts.windows(2) {
                entries[row[0]..row[1]].sort_unstable_by_key(|&(j, _)| j);
            }
            (starts, entries)
        };
        let parts: Vec<(Vec<usize>, Vec<Entry>)> = tasks.par_iter().enumerate().map(of_heads).collect();
        drop(of_tails);
        let lengths: Vec<usize> = parts.iter().map(|(_, entries)| entries.len()).collect();
        let heads = |part: usize, heads: &mut [u32]| {
            for (i, row) in tasks[part].clone().zip(parts[part].0.windows(2)) {
                heads[row[0]..row[1]].fill(i as u32);
            }
        };
        fn fill<T>(all: &mut [T], entries: &[Entry], value: impl Fn(&Entry) -> T) {
            all.iter_mut().zip(entries).for_each(|(all, entry)| *all = value(entry));
        }
        Self {
            n,
            heads: fill_parts(&lengths, heads),
            tails: fill_parts(&lengths, |part, all| fill(all, &parts[part].1, |entry| entry.0)),
            lengths: fill_parts(&lengths, |part, all| fill(all, &parts[part].1, |entry| entry.1)),
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
        // Tails with their heads and edges, by the range of the tail.
        let of_tails = |part: Range<usize>| {
            let mut entries: Vec<Vec<(usize, Link)>> = vec![Vec::new(); tasks.len()];
            for e in part {
                let tail = edges.tails[e] as usize;
                entries[range_of(&tasks, tail)].push((tail, (edges.heads[e], e as u32)));
            }
            entries
        };
        let of_tails: Vec<_> = ranges(edges.len()).into_par_iter().map(of_tails).collect();
        let lists = |(task, rows): (usize, &Range<usize>)| {
            // Edges are in order of their heads, so smaller neighbours come first and all are in ascending order.
            let first = |i: usize| edges.heads.partition_point(|&head| (head as usize) < i);
            let own = first(rows.start)..first(rows.end);
            let own = own.map(|e| (edges.heads[e] as usize, (edges.tails[e], e as u32)));
            let smaller = of_tails.iter().flat_map(|entries| entries[task].iter().copied());
            by_row(rows.len(), smaller.chain(own).map(|(row, entry)| (row - rows.start, entry)))
        };
        let parts: Vec<(Vec<usize>, Vec<Link>)> = tasks.par_iter().enumerate().map(lists).collect();
        drop(of_tails);
        let lengths: Vec<usize> = parts.iter().map(|(_, entries)| entries.len()).collect();
        let (mut starts, mut before) = (Vec::with_capacity(edges.n + 1), 0);
        starts.push(0);
        for (ends, entries) in &parts {
            starts.extend(ends[1..].iter().map(|end| before + end));
            before += entries.len();
        }
        let fill = |part: usize, all: &mut [u32], value: fn(&Link) -> u32| {
            all.iter_mut().zip(&parts[part].1).for_each(|(all, entry)| *all = value(entry));
        };
        Self {
            starts,
            neighbours: fill_parts(&lengths, |part, all| fill(part, all, |entry| entry.0)),
            edges: fill_parts(&lengths, |part, all| fill(part, all, |entry| entry.1)),
        }
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
