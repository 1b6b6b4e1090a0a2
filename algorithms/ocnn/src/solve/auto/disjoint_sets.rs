//! Disjoint sets of neurons that accumulate points, tree edges and their agreement.

use std::ops::Range;

/// End of a member list, and the number of a set that has none yet.
const NONE: u32 = u32::MAX;

/// Disjoint sets with their members, and per root the number of points and tree edges and the sum of agreement.
pub(crate) struct DisjointSets {
    parents: Vec<u32>,
    points: Vec<u64>,
    edges: Vec<u32>,
    agreement: Vec<f64>,
    /// Linked lists of members from the root on: each member's successor, and each root's last member.
    next: Vec<u32>,
    last: Vec<u32>,
}

impl DisjointSets {
    /// Singletons of `counts[i]` points each.
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

    /// The set of each neuron, numbered from 0 by first appearance.
    pub(crate) fn numbers(&mut self) -> Vec<u32> {
        let n = self.parents.len();
        let mut numbers = vec![NONE; n];
        let mut next = 0;
        let number = |i| {
            let number = &mut numbers[self.root(i) as usize];
            if *number == NONE {
                *number = next;
                next += 1;
            }
            *number
        };
        (0..n as u32).map(number).collect()
    }

    /// Roots of the sets of i and j: the set of more points first, the smaller root among equals.
    pub(crate) fn ordered_roots(&mut self, i: u32, j: u32) -> (u32, u32) {
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

    /// Number of neurons of a set that edges of a tree have joined.
    pub(crate) fn neurons(&self, root: u32) -> u32 {
        self.edges[root as usize] + 1
    }

    /// An order of the members in which every set that existed is contiguous.
    pub(crate) fn into_order(self) -> MemberOrder {
        let roots = (0..self.parents.len() as u32).filter(|&i| self.parents[i as usize] == i);
        let members: Vec<u32> = roots.flat_map(|root| self.members(root)).collect();
        let mut places = vec![0; members.len()];
        members.iter().zip(0..).for_each(|(&member, place)| places[member as usize] = place);
        MemberOrder { members, places }
    }

    /// Mean agreement of the tree edges within a set; 1 for a single neuron.
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

/// An order of neurons in which each of a sequence of growing sets is a block that its root begins: a join appends the
/// members of one set to those of the other.
pub(crate) struct MemberOrder {
    members: Vec<u32>,
    /// Place of each neuron in the order.
    places: Vec<u32>,
}

impl MemberOrder {
    /// The places of a set of `neurons` neurons.
    pub(crate) fn block(&self, root: u32, neurons: u32) -> Range<u32> {
        let first = self.places[root as usize];
        first..first + neurons
    }

    /// The members of a block.
    pub(crate) fn members(&self, block: &Range<u32>) -> &[u32] {
        &self.members[block.start as usize..block.end as usize]
    }

    /// True if a neuron is in a block.
    pub(crate) fn contains(&self, block: &Range<u32>, neuron: u32) -> bool {
        block.contains(&self.places[neuron as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use firebox_core::random::Random;

    #[test]
    fn every_set_that_existed_is_a_block_of_the_order() {
        for (n, joins) in [(1, 0), (2, 1), (30, 20), (200, 199)] {
            let mut random = Random::new(n as u64, 9);
            let mut sets = DisjointSets::new(&vec![1; n]);
            let mut seen = Vec::new();
            while seen.len() < joins {
                let (a, b) = sets.ordered_roots(random.below(n) as u32, random.below(n) as u32);
                if a != b {
                    sets.join(a, b, 0.5);
                    seen.push((a, sets.members(a).collect::<Vec<_>>(), sets.neurons(a)));
                }
            }
            let order = sets.into_order();
            for (root, members, neurons) in seen {
                let block = order.block(root, neurons);
                assert_eq!(order.members(&block), members);
                assert!((0..n as u32).all(|i| order.contains(&block, i) == members.contains(&i)));
            }
        }
    }
}
