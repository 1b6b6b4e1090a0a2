//! Synchronisation, links and components against the reference.

use burn::tensor::ops::{FloatTensor, IntTensor};
use firebox_core::Share;

use super::{
    compare::{check_equal, links, some_rows, sum},
    problem::{Problem, RANKS, Shape},
    reference,
};
use crate::ops::{OcnnOps, union_find::UnionFind};

/// The roots of n neurons after joining the components found by all ranks.
fn joined(n: usize, roots: Vec<u32>) -> Vec<u32> {
    let sets = UnionFind::from_roots(n, roots.into_iter().map(|root| root as usize));
    sets.roots().into_iter().map(|root| root as u32).collect()
}

impl<B: OcnnOps> Problem<B> {
    fn words(&self) -> (Vec<u32>, usize) {
        (reference::increase_bits(&self.trajectory, self.shape.n), self.shape.steps.div_ceil(32))
    }

    fn outputs(&self) -> (&[f64], FloatTensor<B>) {
        let Shape { n, steps, .. } = self.shape;
        let outputs = &self.trajectory[n..];
        (outputs, self.float2(outputs, [steps, n]))
    }

    pub(super) fn check_bits(&self) -> Result<(), String> {
        let Shape { n, steps, .. } = self.shape;
        self.poison();
        let trajectory = self.float2(&self.trajectory, [steps + 1, n]);
        let (wanted, height) = self.words();
        check_equal(&self.ints((self.suite.increase_bits)(trajectory), [height, n])?, &wanted)
    }

    pub(super) fn check_phase_sync(&self) -> Result<(), String> {
        let Shape { n, steps, .. } = self.shape;
        let (words, height) = self.words();
        let before = self.int2(&self.counts, [n, n]);
        let more = reference::phase_counts(&self.trajectory, n);
        self.poison();
        let fresh = (self.suite.phase_sync)(self.int2(&words, [height, n]), steps, None);
        check_equal(&self.ints(fresh, [n, n])?, &more).map_err(|what| format!("without an old S: {what}"))?;
        let after = (self.suite.phase_sync)(self.int2(&words, [height, n]), steps, Some(before));
        check_equal(&self.ints(after, [n, n])?, &sum(&self.counts, &more))
    }

    pub(super) fn check_fragmentary_sync(&self) -> Result<(), String> {
        let n = self.shape.n;
        let (outputs, tensor) = self.outputs();
        let before = self.int2(&self.counts, [n, n]);
        // A second reference to the old sum must not see the update.
        let held = before.clone();
        let after = (self.suite.fragmentary_sync)(tensor, self.epsilon, Some(before));
        let more = reference::fragmentary_counts(outputs, n, self.epsilon);
        check_equal(&self.ints(after, [n, n])?, &sum(&self.counts, &more))?;
        check_equal(&self.ints(held, [n, n])?, &self.counts).map_err(|what| format!("the old S: {what}"))
    }

    pub(super) fn check_phase_components(&self) -> Result<(), String> {
        let Shape { n, steps, .. } = self.shape;
        let (words, height) = self.words();
        let counts = reference::phase_counts(&self.trajectory, n);
        self.check_components(&counts, |limit, share| {
            (self.suite.phase_components)(self.int2(&words, [height, n]), steps, limit, share)
        })
    }

    pub(super) fn check_fragmentary_components(&self) -> Result<(), String> {
        let (outputs, _) = self.outputs();
        let counts = reference::fragmentary_counts(outputs, self.shape.n, self.epsilon);
        self.check_components(&counts, |limit, share| {
            (self.suite.fragmentary_components)(self.outputs().1, self.epsilon, limit, share)
        })
    }

    /// Components of links above each limit, joined over ranks.
    fn check_components(
        &self,
        counts: &[u32],
        components: impl Fn(usize, Share) -> IntTensor<B>,
    ) -> Result<(), String> {
        let n = self.shape.n;
        for (limit, size) in self.limits.into_iter().flat_map(|limit| RANKS.map(|size| (limit, size))) {
            let wanted = reference::components(counts, n, limit as u32);
            let mut found = Vec::new();
            for rank in 0..size {
                self.poison();
                let roots = self.ints(components(limit, Share { rank, size }), [n])?;
                let valid = |(i, &root): (usize, &u32)| root as usize <= i && roots[root as usize] == root;
                if !roots.iter().enumerate().all(valid) {
                    return Err(format!("limit {limit}, rank {rank} of {size}: {roots:?} are invalid roots"));
                }
                found.push(roots);
            }
            let found = if size == 1 { found.remove(0) } else { joined(n, found.concat()) };
            check_equal(&found, &wanted).map_err(|what| format!("limit {limit}, {size} ranks: {what}"))?;
        }
        Ok(())
    }

    pub(super) fn check_phase_links(&self) -> Result<(), String> {
        let Shape { n, steps, .. } = self.shape;
        let (words, height) = self.words();
        let counts = reference::phase_counts(&self.trajectory, n);
        let rows = some_rows(n);
        for limit in self.limits {
            self.poison();
            let found = (self.suite.phase_links)(self.int2(&words, [height, n]), steps, limit, &rows);
            let found = self.ints(found, [rows.len(), n.div_ceil(32)])?;
            check_equal(&found, &links(&counts, n, limit, &rows)).map_err(|what| format!("limit {limit}: {what}"))?;
        }
        Ok(())
    }

    pub(super) fn check_fragmentary_links(&self) -> Result<(), String> {
        let n = self.shape.n;
        let (outputs, tensor) = self.outputs();
        let counts = reference::fragmentary_counts(outputs, n, self.epsilon);
        let rows = some_rows(n);
        let limit = self.limits[0];
        let found = (self.suite.fragmentary_links)(tensor, self.epsilon, limit, &rows);
        check_equal(&self.ints(found, [rows.len(), n.div_ceil(32)])?, &links(&counts, n, limit, &rows))
    }
}
