//! Clusters: neurons i and j are linked if S_ij > limit, and clusters are the components of that graph. Phase and
//! fragmentary links are found without storing S.

use firebox_backends::cpu::{BLOCK, Block, Isa, Level, Loop, Real, UnionFind, tile_pairs};
use firebox_core::Share;
use rayon::prelude::*;

use super::measure::{Fragmentary, Measure, Phase, count};

/// For each neuron the smallest index in its component, where i and j are linked if they both increase or both do not
/// at more than `limit` of `steps` steps. `words` is ⌈steps/32⌉ × n. Of links only a share's are looked for.
///
/// # Panics
/// If a length does not fit.
pub fn link_phase(level: Level, words: &[u32], steps: u32, n: usize, limit: u32, share: Share) -> Vec<u32> {
    union_find(&Measured { level, measure: Phase::new(words, n, steps), limit }, share)
}

/// For each neuron the smallest index in its component, where i and j are linked if |x_i − x_j| < ε at more than
/// `limit` steps. `outputs` is P × n, one row a step. Of links only a share's are looked for.
///
/// # Panics
/// If a length does not fit.
pub fn link_fragmentary<E: Real>(level: Level, outputs: &[E], n: usize, eps: E, limit: u32, share: Share) -> Vec<u32> {
    union_find(&Measured { level, measure: Fragmentary::new(outputs, n, eps), limit }, share)
}

/// The bits for which `holds`, of 0..64.
#[inline(always)]
fn bits(holds: impl Fn(usize) -> bool) -> u64 {
    (0..BLOCK).fold(0, |bits, l| bits | u64::from(holds(l)) << l)
}

/// The numbers of the bits that are set.
fn ones(mut bits: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lane = bits.trailing_zeros() as usize;
        bits &= bits.wrapping_sub(1);
        (lane < BLOCK).then_some(lane)
    })
}

fn union_find<M: Measure>(links: &Measured<M>, share: Share) -> Vec<u32> {
    let n = links.neurons();
    let sets = UnionFind::new(n);
    let all: Vec<u32> = (0..n as u32).collect();
    let blocks: Vec<&[u32]> = all.chunks(BLOCK).collect();
    let own = |&(b, c): &(usize, usize)| (b + c) % share.size == share.rank;
    tile_pairs(blocks.len()).filter(own).for_each(|(b, c)| {
        // Roots are looked up once a tile and kept up to date with its own joins only. A root that another thread has
        // made stale costs a comparison that was not needed, no more.
        let mut roots = [u32::MAX; BLOCK];
        for (root, &j) in roots.iter_mut().zip(blocks[c]) {
            *root = sets.find(j);
        }
        let present = u64::MAX >> (BLOCK - blocks[c].len());
        for &i in blocks[b] {
            let mut root = sets.find(i);
            if roots[..blocks[c].len()].iter().all(|&other| other == root) {
                continue;
            }
            let wanted = present & bits(|l| roots[l] != root);
            for l in ones(links.links(i, c, wanted)) {
                let old = (root, roots[l]);
                if old.0 != old.1 {
                    root = sets.join(i, blocks[c][l]);
                    for other in &mut roots {
                        *other = if *other == old.0 || *other == old.1 { root } else { *other };
                    }
                }
            }
        }
    });
    sets.smallest()
}

/// Links by a measure: more than `limit` of its steps in step.
pub(super) struct Measured<M> {
    pub(super) level: Level,
    pub(super) measure: M,
    pub(super) limit: u32,
}

impl<M: Measure> Measured<M> {
    pub(super) fn neurons(&self) -> usize {
        self.measure.values().columns()
    }

    /// Bit l says whether neuron `i` is linked with the l-th neuron of block `b`, for the bits that are `wanted`.
    pub(super) fn links(&self, i: u32, b: usize, wanted: u64) -> u64 {
        // matches > limit is misses < steps − limit, and never so if the limit is all steps.
        let enough = self.measure.steps().saturating_sub(self.limit);
        let (measure, i) = (&self.measure, i as usize);
        self.level.run(Links { measure, i, others: measure.values().block(b), enough, wanted })
    }
}

struct Links<'a, M: Measure> {
    measure: &'a M,
    i: usize,
    others: &'a [Block<M::Item>],
    enough: u32,
    wanted: u64,
}

impl<M: Measure> Loop for Links<'_, M> {
    type Output = u64;

    #[inline(always)]
    fn run<I: Isa>(self) -> u64 {
        let Self { measure, i, others, enough, wanted } = self;
        // Lanes that nobody asks for start with enough misses, so that they keep no count going.
        let mut misses = Block([0; BLOCK]);
        for l in 0..BLOCK {
            misses[l] = if wanted >> l & 1 == 1 { 0 } else { enough };
        }
        count(measure, measure.values().of(i), i % BLOCK, others, Some(enough), &mut misses);
        if misses.iter().all(|&misses| misses >= enough) {
            return 0;
        }
        bits(|l| misses[l] < enough)
    }
}
