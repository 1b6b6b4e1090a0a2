//! The maximum spanning tree by agreement, which contains the clusters of every threshold.

use firebox_backends::cpu::UnionFind;
use rayon::prelude::*;

use super::{disjoint_sets::DisjointSets, edges::Edges, forest::minimum_forest};

/// A spanning tree of n neurons: n − 1 edges in descending order of agreement.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tree {
    /// Multiplicity of each neuron.
    pub(crate) counts: Vec<u32>,
    pub(crate) ends: Vec<(u32, u32)>,
    /// Agreement of each edge, in [0, 1].
    pub(crate) agreement: Vec<f64>,
    /// Number of connected components of the graph.
    pub(crate) parts: usize,
}

impl Tree {
    /// The tree of largest agreement, edges in their order among equals. Further components of the graph are joined to the
    /// largest by edges of agreement 0, larger ones first.
    pub(crate) fn new(edges: &Edges, agreement: &[f64], counts: &[u32]) -> Self {
        // Keys in steps of 2⁻³², below the resolution of the counts.
        let key = |e: usize| u64::from(u32::MAX - (agreement[e] * f64::from(u32::MAX)) as u32) << 32 | e as u64;
        let mut forest = minimum_forest(edges, key);
        forest.par_sort_unstable();
        let chosen = || forest.par_iter().map(|&key| key as u32 as usize);
        let mut tree = Self {
            counts: counts.to_vec(),
            ends: chosen().map(|e| (edges.heads[e], edges.tails[e])).collect(),
            agreement: chosen().map(|e| agreement[e]).collect(),
            parts: 1,
        };
        if tree.ends.len() + 1 < counts.len() {
            tree.join_parts();
        }
        tree
    }

    /// Joins all components to the largest.
    fn join_parts(&mut self) {
        let mut sets = DisjointSets::new(&self.counts);
        for (&(i, j), &agreement) in self.ends.iter().zip(&self.agreement) {
            let (a, b) = sets.ordered_roots(i, j);
            sets.join(a, b, agreement);
        }
        let mut parts: Vec<u32> = (0..self.counts.len() as u32).filter(|&i| sets.root(i) == i).collect();
        parts.sort_by_key(|&root| (std::cmp::Reverse(sets.points(root)), root));
        self.parts = parts.len();
        self.ends.extend(parts.iter().skip(1).map(|&part| (parts[0], part)));
        self.agreement.resize(self.ends.len(), 0.0);
    }

    /// Number of points.
    pub(crate) fn points(&self) -> usize {
        self.counts.iter().map(|&count| count as usize).sum()
    }

    /// The ends and the agreement of all edges but `cut`.
    pub(crate) fn edges_except(&self, cut: &[usize]) -> impl Iterator<Item = ((u32, u32), f64)> {
        let mut kept = vec![true; self.ends.len()];
        cut.iter().for_each(|&edge| kept[edge] = false);
        let edges = self.ends.iter().zip(&self.agreement).zip(kept);
        edges.filter(|(_, kept)| *kept).map(|((&ends, &agreement), _)| (ends, agreement))
    }

    /// The component of each neuron after the edges `cut` are removed, numbered from 0 by first appearance.
    pub(crate) fn pieces(&self, cut: &[usize]) -> Vec<u32> {
        let sets = UnionFind::new(self.counts.len());
        self.edges_except(cut).for_each(|((i, j), _)| {
            sets.join(i, j);
        });
        let (mut pieces, mut next) = (sets.into_roots(), 0);
        for i in 0..pieces.len() {
            // Roots are the smallest members.
            pieces[i] = if pieces[i] as usize == i {
                next += 1;
                next - 1
            } else {
                pieces[pieces[i] as usize]
            };
        }
        pieces
    }

    /// SciPy's linkage matrix of all points, row-major `[points − 1, 4]`: two nodes, their distance 1 − J, and the
    /// number of points joined, without weights. Row k makes node points + k. `of_point[p]` is the neuron of point p.
    pub(crate) fn linkage(&self, of_point: &[u32]) -> Vec<f64> {
        let points = of_point.len();
        let mut rows = Vec::with_capacity(4 * points.saturating_sub(1));
        let mut sets = DisjointSets::new(&vec![0; self.counts.len()]);
        // Node and size of each root's set.
        let mut names = vec![None; self.counts.len()];
        let mut join = |a: (usize, usize), b: (usize, usize), distance: f64| {
            let size = a.1 + b.1;
            let name = points + rows.len() / 4;
            rows.extend([a.0.min(b.0) as f64, a.0.max(b.0) as f64, distance, size as f64]);
            (name, size)
        };
        for (point, &neuron) in of_point.iter().enumerate() {
            let name = &mut names[neuron as usize];
            *name = Some(match *name {
                Some(equal) => join(equal, (point, 1), 0.0),
                None => (point, 1),
            });
        }
        let mut height = 0.0f64;
        for (&(i, j), agreement) in self.ends.iter().zip(&self.agreement) {
            let (a, b) = sets.ordered_roots(i, j);
            // Edges are sorted to 2⁻³² only, but heights must not decrease.
            height = height.max(1.0 - agreement);
            if let (Some(first), Some(second)) = (names[a as usize], names[b as usize]) {
                names[a as usize] = Some(join(first, second, height));
            }
            sets.join(a, b, 0.0);
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use firebox_core::random::Random;

    fn random(n: usize, links: usize, seed: u64) -> (Edges, Vec<f64>) {
        let mut random = Random::new(seed, 4);
        let mut pairs: Vec<(u32, u32)> =
            (0..links).map(|_| (random.below(n) as u32, random.below(n) as u32)).filter(|(i, j)| i < j).collect();
        pairs.sort_unstable();
        pairs.dedup();
        let information = pairs.iter().map(|_| random.below(20) as f64 / 20.0).collect();
        let (heads, tails): (Vec<u32>, Vec<u32>) = pairs.into_iter().unzip();
        let lengths = vec![1.0; heads.len()];
        (Edges { n, heads, tails, lengths }, information)
    }

    /// Components of the edges above a threshold, by flood fill.
    fn flood(edges: &Edges, information: &[f64], above: f64) -> Vec<u32> {
        let mut piece: Vec<u32> = (0..edges.n as u32).collect();
        loop {
            let before = piece.clone();
            for e in (0..edges.len()).filter(|&e| information[e] > above) {
                let (i, j) = (edges.heads[e] as usize, edges.tails[e] as usize);
                let least = piece[i].min(piece[j]);
                (piece[i], piece[j]) = (least, least);
            }
            if piece == before {
                return piece;
            }
        }
    }

    #[test]
    fn the_tree_contains_the_components_of_every_threshold() {
        for seed in 0..20 {
            let n = 5 + 7 * seed as usize;
            let (edges, information) = random(n, 4 * n, seed);
            let tree = Tree::new(&edges, &information, &vec![1; n]);
            assert_eq!(tree.ends.len(), n - 1);
            assert!(tree.agreement.windows(2).all(|pair| pair[0] >= pair[1]));
            for above in [-0.01, 0.0, 0.3, 0.5, 0.95] {
                let cut: Vec<usize> = (0..n - 1).filter(|&e| tree.agreement[e] <= above).collect();
                let cut = if above < 0.0 { (n - tree.parts..n - 1).collect() } else { cut };
                let (found, wanted) = (tree.pieces(&cut), flood(&edges, &information, above));
                for i in 0..n {
                    for j in 0..n {
                        assert_eq!(found[i] == found[j], wanted[i] == wanted[j], "seed {seed}, above {above}");
                    }
                }
            }
        }
    }

    #[test]
    fn the_tree_is_that_of_kruskal() {
        for seed in 0..20 {
            let n = 2 + 37 * seed as usize;
            let (edges, agreement) = random(n, 6 * n, 100 + seed);
            let mut order: Vec<usize> = (0..edges.len()).collect();
            order.sort_by(|&a, &b| agreement[b].total_cmp(&agreement[a]).then(a.cmp(&b)));
            let mut piece: Vec<usize> = (0..n).collect();
            let mut wanted = Vec::new();
            for e in order {
                let (i, j) = (edges.heads[e] as usize, edges.tails[e] as usize);
                if piece[i] != piece[j] {
                    let (of, other) = (piece[i], piece[j]);
                    piece.iter_mut().filter(|piece| **piece == other).for_each(|piece| *piece = of);
                    wanted.push((edges.heads[e], edges.tails[e]));
                }
            }
            let tree = Tree::new(&edges, &agreement, &vec![1; n]);
            assert_eq!(tree.ends[..wanted.len()], wanted, "seed {seed}");
            assert_eq!(tree.parts, n - wanted.len());
        }
    }

    #[test]
    fn the_linkage_matrix_is_valid_for_scipy() {
        let (edges, information) = random(30, 60, 5);
        let of_point: Vec<u32> = (0..30).chain([3, 3, 29]).collect();
        let mut counts = vec![1; 30];
        (counts[3], counts[29]) = (3, 2);
        let rows = Tree::new(&edges, &information, &counts).linkage(&of_point);
        assert_eq!(rows.len(), 4 * 32);
        let mut sizes = vec![1.0; 33];
        let mut used = [false; 65];
        let mut last = 0.0;
        for row in rows.chunks(4) {
            let (a, b) = (row[0] as usize, row[1] as usize);
            assert!(a < b && b < sizes.len() && !used[a] && !used[b]);
            (used[a], used[b]) = (true, true);
            assert!(row[2] >= last && row[2] <= 1.0);
            assert_eq!(row[3], sizes[a] + sizes[b]);
            sizes.push(row[3]);
            last = row[2];
        }
        assert_eq!(sizes[64], 33.0);
    }
}
