//! The maximum spanning tree over the agreement of edges: it holds the clusters of every threshold at once.

use rayon::prelude::*;

use super::graph::Edges;

/// No neuron.
const NONE: u32 = u32::MAX;

/// Disjoint sets with their members, the number of points, and of tree edges and their agreement.
pub(crate) struct Sets {
    parents: Vec<u32>,
    points: Vec<u64>,
    edges: Vec<u32>,
    agreement: Vec<f64>,
    /// Members as a list from the root on: who comes after each, and where that of a root ends.
    next: Vec<u32>,
    last: Vec<u32>,
}

impl Sets {
    /// Neurons by themselves, `counts[i]` points each.
    pub(crate) fn new(counts: &[u32]) -> Self {
        let n = counts.len();
        Self {
            parents: (0..n as u32).collect(),
            points: counts.iter().map(|&count| u64::from(count)).collect(),
            edges: vec![0; n],
            agreement: vec![0.0; n],
            next: vec![NONE; n],
            last: (0..n as u32).collect(),
        }
    }

    pub(crate) fn root(&mut self, i: u32) -> u32 {
        let mut i = i as usize;
        while self.parents[i] as usize != i {
            self.parents[i] = self.parents[self.parents[i] as usize];
            i = self.parents[i] as usize;
        }
        i as u32
    }

    /// Roots of both ends' sets: the one of more points first, if as many the smaller root.
    pub(crate) fn sides(&mut self, i: u32, j: u32) -> (u32, u32) {
        let (a, b) = (self.root(i), self.root(j));
        let larger = (self.points(b), a) > (self.points(a), b);
        if larger { (b, a) } else { (a, b) }
    }

    pub(crate) fn points(&self, root: u32) -> u64 {
        self.points[root as usize]
    }

    /// The members of a set, its root first.
    pub(crate) fn members(&self, root: u32) -> impl Iterator<Item = u32> + '_ {
        std::iter::successors(Some(root), |&member| Some(self.next[member as usize]).filter(|&next| next != NONE))
    }

    /// Mean agreement of the tree's edges within a set; 1 where there are none, between equal points.
    pub(crate) fn mean(&self, root: u32) -> f64 {
        match self.edges[root as usize] {
            0 => 1.0,
            edges => self.agreement[root as usize] / f64::from(edges),
        }
    }

    /// Joins the set of root `b` to that of root `a` by an edge.
    pub(crate) fn join(&mut self, a: u32, b: u32, agreement: f64) {
        let (a, b) = (a as usize, b as usize);
        self.parents[b] = a as u32;
        self.points[a] += self.points[b];
        self.edges[a] += self.edges[b] + 1;
        self.agreement[a] += self.agreement[b] + agreement;
        self.next[self.last[a] as usize] = b as u32;
        self.last[a] = self.last[b];
    }
}

/// A spanning tree of n neurons: n − 1 edges, the strongest first.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tree {
    /// How many points each neuron stands for.
    pub(crate) counts: Vec<u32>,
    pub(crate) ends: Vec<(u32, u32)>,
    /// From 0 to 1.
    pub(crate) agreement: Vec<f64>,
    /// Parts of the graph that no edge joins.
    pub(crate) parts: usize,
}

impl Tree {
    /// Kruskal's: the strongest edge that joins two trees, again and again, the first in order among equals. What the
    /// graph leaves apart is joined to the largest part at the end, without agreement, larger parts first.
    pub(crate) fn new(edges: &Edges, agreement: &[f64], counts: &[u32]) -> Self {
        // In steps of 2⁻³², which is less than counts can tell.
        let key =
            |(e, &value): (usize, &f64)| u64::from(u32::MAX - (value * f64::from(u32::MAX)) as u32) << 32 | e as u64;
        let mut order: Vec<u64> = agreement.par_iter().enumerate().map(key).collect();
        order.par_sort_unstable();
        let n = counts.len();
        let mut sets = Sets::new(counts);
        let mut tree = Self { counts: counts.to_vec(), ends: Vec::new(), agreement: Vec::new(), parts: 1 };
        for e in order.into_iter().map(|key| key as u32 as usize) {
            let (a, b) = sets.sides(edges.heads[e], edges.tails[e]);
            if a != b {
                sets.join(a, b, agreement[e]);
                tree.ends.push((edges.heads[e], edges.tails[e]));
                tree.agreement.push(agreement[e]);
                if tree.ends.len() + 1 == n {
                    return tree;
                }
            }
        }
        let mut parts: Vec<u32> = (0..n as u32).filter(|&i| sets.root(i) == i).collect();
        parts.sort_by_key(|&root| (std::cmp::Reverse(sets.points(root)), root));
        tree.parts = parts.len().max(1);
        tree.ends.extend(parts.iter().skip(1).map(|&part| (parts[0], part)));
        tree.agreement.resize(tree.ends.len(), 0.0);
        tree
    }

    /// How many points.
    pub(crate) fn points(&self) -> usize {
        self.counts.iter().map(|&count| count as usize).sum()
    }

    /// For each neuron the number of its piece, from 0 by first appearance, once the edges `cut` are gone.
    pub(crate) fn pieces(&self, cut: &[usize]) -> Vec<u32> {
        let mut gone = vec![false; self.ends.len()];
        cut.iter().for_each(|&e| gone[e] = true);
        let mut sets = Sets::new(&self.counts);
        for (&(i, j), _) in self.ends.iter().zip(gone).filter(|(_, gone)| !gone) {
            let (a, b) = sets.sides(i, j);
            sets.join(a, b, 0.0);
        }
        let mut numbers = vec![u32::MAX; self.counts.len()];
        let mut next = 0;
        (0..self.counts.len() as u32)
            .map(|i| {
                let number = &mut numbers[sets.root(i) as usize];
                if *number == u32::MAX {
                    *number = next;
                    next += 1;
                }
                *number
            })
            .collect()
    }

    /// SciPy's linkage matrix of all points, row-major [points − 1, 4]: who is joined, at which distance 1 − J, how many
    /// points that makes. The k-th join makes number points + k. `of_point[p]` is the neuron that stands for point p.
    pub(crate) fn linkage(&self, of_point: &[u32]) -> Vec<f64> {
        let points = of_point.len();
        let mut rows = Vec::with_capacity(4 * points.saturating_sub(1));
        let mut sets = Sets::new(&vec![0; self.counts.len()]);
        // The number, and the size, of what each root stands for by now.
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
            let (a, b) = sets.sides(i, j);
            // Sorted to 2⁻³² only.
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

    /// Pieces of the whole graph, edges above a threshold only, by flood fill.
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
    fn it_holds_the_pieces_of_every_threshold() {
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
    fn the_linkage_is_one_that_scipy_takes() {
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
