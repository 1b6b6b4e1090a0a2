//! Disjoint sets of neurons that accumulate points, tree edges and their agreement.

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
