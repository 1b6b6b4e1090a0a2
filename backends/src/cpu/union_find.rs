//! Connected components, found by many threads at once without a lock.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Disjoint sets of 0..n (Anderson and Woll 1991: union by index, path halving, compare-and-swap).
///
/// A parent is never larger than its child, so the root of a set is its smallest member, whichever thread came first.
/// Relaxed ordering is enough: the parents are all the data there is, each written value is an ancestor for good,
/// and a root changes by compare-and-swap only.
#[derive(Debug)]
pub struct UnionFind(Vec<AtomicU32>);

impl UnionFind {
    /// `n` sets of one member each.
    ///
    /// # Panics
    /// If `n` is above 2³².
    pub fn new(n: usize) -> Self {
        assert!(n as u64 <= 1 << 32, "indices are 32 bits");
        Self((0..n).map(|i| AtomicU32::new(i as u32)).collect())
    }

    /// The smallest member known so far of the set that holds `member`.
    pub fn find(&self, mut member: u32) -> u32 {
        loop {
            let parent = self.0[member as usize].load(Relaxed);
            let grandparent = self.0[parent as usize].load(Relaxed);
            if parent == grandparent {
                return parent;
            }
            // `member` is no root, and never will be again: any ancestor may stand here.
            self.0[member as usize].store(grandparent, Relaxed);
            member = grandparent;
        }
    }

    /// Joins the sets of `a` and `b`, and returns the smallest member of the union.
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

    /// The smallest member of the set of each of 0..n, once no thread joins any more.
    pub fn smallest(self) -> Vec<u32> {
        let mut parents: Vec<u32> = self.0.into_iter().map(AtomicU32::into_inner).collect();
        for i in 0..parents.len() {
            // The parent is smaller, so it has its root already.
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
    fn threads_agree_with_a_flood_fill() {
        for seed in 0..50 {
            let mut random = Random::new(seed, 0);
            let n = 1 + random.below(2000);
            let edges: Vec<(u32, u32)> =
                (0..random.below(2 * n)).map(|_| (random.below(n) as u32, random.below(n) as u32)).collect();
            let sets = UnionFind::new(n);
            edges.par_iter().with_max_len(1).for_each(|&(a, b)| {
                sets.join(a, b);
            });
            let mut wanted: Vec<u32> = (0..n as u32).collect();
            while edges.iter().any(|&(a, b)| wanted[a as usize] != wanted[b as usize]) {
                for &(a, b) in &edges {
                    let least = wanted[a as usize].min(wanted[b as usize]);
                    (wanted[a as usize], wanted[b as usize]) = (least, least);
                }
            }
            assert_eq!(sets.smallest(), wanted, "seed {seed}, n = {n}");
        }
    }
}
