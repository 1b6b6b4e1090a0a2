//! Lock-free union–find for connected components.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Disjoint sets of 0..n under concurrent unions (Anderson and Woll 1991: union by index, path halving,
/// compare-and-swap).
///
/// A parent is never larger than its child, so the root of a set is its smallest member, independently of the order of
/// unions. Relaxed ordering suffices: there is no data besides the parents, each value written remains an ancestor, and
/// roots change by compare-and-swap only.
#[derive(Debug)]
pub struct UnionFind(Vec<AtomicU32>);

impl UnionFind {
    /// Creates `n` sets of one member each.
    ///
    /// # Panics
    /// If `n` is above 2³².
    pub fn new(n: usize) -> Self {
        assert!(n as u64 <= 1 << 32, "indices are 32 bits");
        Self((0..n).map(|i| AtomicU32::new(i as u32)).collect())
    }

    /// Returns the current root of the set that contains `member`.
    ///
    /// # Panics
    /// If `member` is out of bounds.
    pub fn find(&self, mut member: u32) -> u32 {
        loop {
            let parent = self.0[member as usize].load(Relaxed);
            let grandparent = self.0[parent as usize].load(Relaxed);
            if parent == grandparent {
                return parent;
            }
            // `member` is not a root, and will not be one again, so that any ancestor may be its parent.
            self.0[member as usize].store(grandparent, Relaxed);
            member = grandparent;
        }
    }

    /// Joins the sets of `a` and `b`, and returns the smallest member of the union.
    ///
    /// # Panics
    /// If `a` or `b` is out of bounds.
    pub fn join(&self, mut a: u32, mut b: u32) -> u32 {
        loop {
            (a, b) = (self.find(a), self.find(b));
            if a == b {
                return a;
            }
            let (root, child) = (a.min(b), a.max(b));
            if self.0[child as usize].compare_exchange_weak(child, root, Relaxed, Relaxed).is_ok() {
                return root;
            }
        }
    }

    /// Returns the root of each of 0..n: the smallest member of its set.
    pub fn into_roots(self) -> Vec<u32> {
        let mut parents: Vec<u32> = self.0.into_iter().map(AtomicU32::into_inner).collect();
        for i in 0..parents.len() {
            // The parent is smaller, so its root is already known.
            parents[i] = parents[parents[i] as usize];
        }
        parents
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use firebox_core::random::Random;
    use rayon::prelude::*;

    #[test]
    fn concurrent_unions_equal_label_propagation() {
        for seed in 0..50 {
            let mut random = Random::new(seed, 0);
            let n = 1 + random.below(2000);
            let edges: Vec<(u32, u32)> =
                (0..random.below(2 * n)).map(|_| (random.below(n) as u32, random.below(n) as u32)).collect();
            let sets = UnionFind::new(n);
            edges.par_iter().with_max_len(1).for_each(|&(a, b)| {
                sets.join(a, b);
            });
            let mut expected: Vec<u32> = (0..n as u32).collect();
            while edges.iter().any(|&(a, b)| expected[a as usize] != expected[b as usize]) {
                for &(a, b) in &edges {
                    let smaller = expected[a as usize].min(expected[b as usize]);
                    (expected[a as usize], expected[b as usize]) = (smaller, smaller);
                }
            }
            assert_eq!(sets.into_roots(), expected, "seed {seed}, n = {n}");
        }
    }
}
