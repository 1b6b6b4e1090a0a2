//! The maximum spanning tree over the information of edges: it holds the clusters of every threshold at once.

use firebox_backends::cpu::UnionFind;
use rayon::prelude::*;

use super::graph::Edges;

/// A spanning tree of all neurons: n − 1 edges, the strongest first.
#[derive(Debug, Clone)]
pub(crate) struct Tree {
    pub(crate) n: usize,
    pub(crate) edges: Vec<(u32, u32)>,
    /// Bits, from 0 to 1. `[n − 1]`
    pub(crate) information: Vec<f64>,
    /// Components of the graph. All but the first of them were joined by edges without information.
    pub(crate) components: usize,
}

impl Tree {
    /// Kruskal's: the strongest edge that joins two trees, again and again; the first in order among equals. What
    /// the graph leaves apart is joined at the end, without information, each part with the largest.
    pub(crate) fn new(edges: &Edges, information: &[f64]) -> Self {
        let n = edges.n;
        // Information is not negative, so that its bits are in its order; 2⁻³² of a bit is less than counts can tell.
        let mut order: Vec<u64> = information
            .par_iter()
            .enumerate()
            .map(|(e, &i)| u64::from(u32::MAX - (i * f64::from(u32::MAX)) as u32) << 32 | e as u64)
            .collect();
        order.par_sort_unstable();
        let mut sets = Sets::new(n);
        let mut tree = Self { n, edges: Vec::new(), information: Vec::new(), components: 1 };
        for key in order {
            let e = (key & u64::from(u32::MAX)) as usize;
            let (i, j) = (edges.heads[e], edges.tails[e]);
            if sets.join(i, j).is_some() {
                tree.push(i, j, information[e]);
                if tree.edges.len() + 1 == n {
                    return tree;
                }
            }
        }
        let mut parts: Vec<u32> = (0..n as u32).filter(|&i| sets.root(i) == i).collect();
        parts.sort_by_key(|&root| std::cmp::Reverse(sets.size(root)));
        tree.components = parts.len().max(1);
        for part in parts.iter().skip(1) {
            tree.push(parts[0], *part, 0.0);
        }
        tree
    }

    fn push(&mut self, i: u32, j: u32, information: f64) {
        self.edges.push((i, j));
        self.information.push(information);
    }
}
