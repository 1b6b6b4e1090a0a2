//! Union–find on the host, and links as rows of bits.

/// Positions of the set bits in words of 32, ascending.
pub(crate) fn set_bits(words: &[i32]) -> impl Iterator<Item = usize> + '_ {
    words.iter().enumerate().flat_map(|(w, &word)| {
        let mut rest = word as u32;
        std::iter::from_fn(move || {
            (rest != 0).then(|| {
                let bit = rest.trailing_zeros();
                rest &= rest - 1;
                w * 32 + bit as usize
            })
        })
    })
}

/// Disjoint sets; the root of a set is its smallest member.
pub(crate) struct UnionFind {
    parents: Vec<usize>,
}

impl UnionFind {
    pub(crate) fn new(n: usize) -> Self {
        Self { parents: (0..n).collect() }
    }

    /// The union of several partitions of `n` members, each given by the roots of all members, one after the other.
    pub(crate) fn from_roots(n: usize, roots: impl Iterator<Item = usize>) -> Self {
        let mut sets = Self::new(n);
        roots.enumerate().for_each(|(at, root)| sets.join(at % n, root));
        sets
    }

    fn root(&mut self, mut i: usize) -> usize {
        while self.parents[i] != i {
            self.parents[i] = self.parents[self.parents[i]];
            i = self.parents[i];
        }
        i
    }

    /// Joins the sets of i and j.
    pub(crate) fn join(&mut self, i: usize, j: usize) {
        let (a, b) = (self.root(i), self.root(j));
        self.parents[a.max(b)] = a.min(b);
    }

    /// The root of every member.
    pub(crate) fn roots(mut self) -> Vec<usize> {
        (0..self.parents.len()).map(|i| self.root(i)).collect()
    }
}
