//! Synchronisation, links and components against the reference.

use burn::tensor::ops::{FloatTensor, IntTensor};
use firebox_core::Share;

use super::{
    compare::{check_equal, links, some_rows, sum},
    problem::{Problem, RANKS, Shape},
    reference,
};
use crate::ops::{OcnnOps, union_find::union};

impl<B: OcnnOps> Problem<B> {
    /// Signs of increase of the trajectory, and the number of words per neuron.
    fn words(&self) -> (Vec<u32>, usize) {
        (reference::increase_bits(&self.trajectory, self.shape.n), self.shape.steps.div_ceil(32))
    }

    fn bits(&self) -> IntTensor<B> {
        let (words, height) = self.words();
        self.int2(&words, [height, self.shape.n])
    }

    fn outputs(&self) -> FloatTensor<B> {
        self.float2(&self.trajectory[self.shape.n..], [self.shape.steps, self.shape.n])
    }

    fn phase_counts(&self) -> Vec<u32> {
        reference::phase_counts(&self.trajectory, self.shape.n)
    }

    fn fragmentary_counts(&self) -> Vec<u32> {
        reference::fragmentary_counts(&self.trajectory[self.shape.n..], self.shape.n, self.epsilon)
    }

    pub(super) fn check_bits(&self) -> Result<(), String> {
        let Shape { n, steps, .. } = self.shape;
        self.poison();
        let trajectory = self.float2(&self.trajectory, [steps + 1, n]);
        let (wanted, height) = self.words();
        check_equal(&self.ints((self.suite.increase_bits)(trajectory), [height, n])?, &wanted)
    }

    pub(super) fn check_phase_sync(&self) -> Result<(), String> {
        self.check_sync(&self.phase_counts(), |counts| (self.suite.phase_sync)(self.bits(), self.shape.steps, counts))
    }

    pub(super) fn check_fragmentary_sync(&self) -> Result<(), String> {
        self.check_sync(&self.fragmentary_counts(), |counts| {
            (self.suite.fragmentary_sync)(self.outputs(), self.epsilon, counts)
        })
    }

    /// S without an old one, added to one, and added to one that has a second reference.
    fn check_sync(&self, more: &[u32], add: impl Fn(Option<IntTensor<B>>) -> IntTensor<B>) -> Result<(), String> {
        let size = [self.shape.n; 2];
        let wanted = sum(&self.counts, more);
        let before = || self.int2(&self.counts, size);
        self.poison();
        check_equal(&self.ints(add(None), size)?, more).map_err(|what| format!("without an old S: {what}"))?;
        check_equal(&self.ints(add(Some(before())), size)?, &wanted)?;
        let held = before();
        let after = add(Some(held.clone()));
        check_equal(&self.ints(after, size)?, &wanted).map_err(|what| format!("with a shared old S: {what}"))?;
        check_equal(&self.ints(held, size)?, &self.counts).map_err(|what| format!("the old S: {what}"))
    }

    pub(super) fn check_phase_components(&self) -> Result<(), String> {
        self.check_components(&self.phase_counts(), |limit, share| {
            (self.suite.phase_components)(self.bits(), self.shape.steps, limit, share)
        })
    }

    pub(super) fn check_fragmentary_components(&self) -> Result<(), String> {
        self.check_components(&self.fragmentary_counts(), |limit, share| {
            (self.suite.fragmentary_components)(self.outputs(), self.epsilon, limit, share)
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
            let found = if size == 1 { found.remove(0) } else { union(n, found.concat()) };
            check_equal(&found, &wanted).map_err(|what| format!("limit {limit}, {size} ranks: {what}"))?;
        }
        Ok(())
    }

    pub(super) fn check_phase_links(&self) -> Result<(), String> {
        self.check_links(&self.phase_counts(), |limit, rows| {
            (self.suite.phase_links)(self.bits(), self.shape.steps, limit, rows)
        })
    }

    pub(super) fn check_fragmentary_links(&self) -> Result<(), String> {
        self.check_links(&self.fragmentary_counts(), |limit, rows| {
            (self.suite.fragmentary_links)(self.outputs(), self.epsilon, limit, rows)
        })
    }

    /// Bit rows of links above each limit.
    fn check_links(&self, counts: &[u32], found: impl Fn(usize, &[u32]) -> IntTensor<B>) -> Result<(), String> {
        let n = self.shape.n;
        let rows = some_rows(n);
        for limit in self.limits {
            self.poison();
            let found = self.ints(found(limit, &rows), [rows.len(), n.div_ceil(32)])?;
            check_equal(&found, &links(counts, n, limit, &rows)).map_err(|what| format!("limit {limit}: {what}"))?;
        }
        Ok(())
    }
}
