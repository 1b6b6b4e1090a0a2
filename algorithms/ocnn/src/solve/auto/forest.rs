//! A minimum spanning forest, by Borůvka's algorithm on all threads.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use rayon::prelude::*;

use super::edges::Edges;

/// The key of no edge.
const NONE: u64 = u64::MAX;

/// Keys of the edges of the minimum spanning forest, in no particular order. The lower 32 bits of the key of edge e are
/// e, so that no keys are equal and the forest does not depend on the order of the work.
pub(super) fn minimum_forest(edges: &Edges, key: impl Fn(usize) -> u64 + Sync) -> Vec<u64> {
    let mut forest = Vec::with_capacity(edges.n.saturating_sub(1));
    // The component of each neuron, and the edges between components.
    let mut component: Vec<u32> = (0..edges.n as u32).collect();
    let mut components = edges.n;
    let mut open: Vec<u32> = (0..edges.len() as u32).into_par_iter().collect();
    while !open.is_empty() {
        let ends = |e: u32| [edges.heads[e as usize], edges.tails[e as usize]].map(|i| component[i as usize]);
        let least: Vec<AtomicU64> = (0..components).into_par_iter().map(|_| AtomicU64::new(NONE)).collect();
        // Relaxed: the minimum is read after all threads have joined.
        open.par_iter().for_each(|&e| {
            let key = key(e as usize);
            for end in ends(e) {
                let least = &least[end as usize];
                if key < least.load(Relaxed) {
                    least.fetch_min(key, Relaxed);
                }
            }
        });
        let least: Vec<u64> = least.into_par_iter().map(AtomicU64::into_inner).collect();
        // Each component is joined to that beyond its first edge. Keys differ, so that only two components can choose
        // each other, by the same edge; the first of them stays a root.
        let parent = |own: usize| {
            let key = least[own];
            if key == NONE {
                return own as u32;
            }
            let [a, b] = ends(key as u32);
            let other = if a as usize == own { b } else { a };
            if least[other as usize] == key && own < other as usize { own as u32 } else { other }
        };
        let mut parents: Vec<u32> = (0..components).into_par_iter().map(parent).collect();
        let chosen = |(own, &parent): (usize, &u32)| (own as u32 != parent).then(|| least[own]);
        forest.par_extend(parents.par_iter().enumerate().filter_map(chosen));
        loop {
            let above: Vec<u32> = parents.par_iter().map(|&parent| parents[parent as usize]).collect();
            if above == parents {
                break;
            }
            parents = above;
        }
        let (mut numbers, mut next) = (vec![0; components], 0);
        for (own, _) in parents.iter().enumerate().filter(|&(own, &parent)| own as u32 == parent) {
            numbers[own] = next;
            next += 1;
        }
        component.par_iter_mut().for_each(|of| *of = numbers[parents[*of as usize] as usize]);
        components = next as usize;
        let is_open = |e: &u32| {
            let [a, b] = [edges.heads[*e as usize], edges.tails[*e as usize]].map(|i| component[i as usize]);
            a != b
        };
        open = open.into_par_iter().filter(is_open).collect();
    }
    forest
}
