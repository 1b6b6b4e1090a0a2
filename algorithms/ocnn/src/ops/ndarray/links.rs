//! Links, S_ij > limit, as rows of bits, and the components of the graph of links, without storing S.

use firebox_backends::cpu::{BLOCK, Block, Isa, Loop, SimdLevel, UnionFind, tile_pairs};
use firebox_core::{Share, watch::Watch};
use rayon::prelude::*;

use super::measure::{Measure, count};

/// The smallest index in each neuron's component; only a share's links are searched.
pub(super) fn components<M: Measure>(links: &Measured<M>, share: Share) -> Vec<u32> {
    let n = links.neurons();
    let sets = UnionFind::new(n);
    let all: Vec<u32> = (0..n as u32).collect();
    let blocks: Vec<&[u32]> = all.chunks(BLOCK).collect();
    let own = |&(b, c): &(usize, usize)| (b + c) % share.size == share.rank;
    tile_pairs(blocks.len()).filter(own).for_each(|(b, c)| {
        // Roots are looked up once per tile and updated by its own joins only. A root made stale by another thread
        // costs a superfluous comparison.
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
    sets.into_roots()
}

/// For each of `rows` a row of ⌈n/32⌉ words, whose bit j is the link with neuron j; there are no self-links.
pub(super) fn link_rows<M: Measure>(measured: &Measured<M>, rows: &[u32]) -> Vec<u32> {
    let n = measured.neurons();
    let width = n.div_ceil(32);
    let mut words = vec![0; rows.len() * width];
    if width == 0 {
        return words;
    }
    let watch = Watch::current();
    words.par_chunks_mut(width).zip(rows).filter(|_| !watch.stopped()).for_each(|(words, &i)| {
        for (b, words) in words.chunks_mut(BLOCK / 32).enumerate() {
            let present = u64::MAX >> (BLOCK - (n - b * BLOCK).min(BLOCK));
            let own = if i as usize / BLOCK == b { 1 << (i as usize % BLOCK) } else { 0 };
            let links = measured.links(i, b, present & !own);
            for (half, word) in words.iter_mut().enumerate() {
                *word = (links >> (32 * half)) as u32;
            }
        }
    });
    words
}

/// The set of l in 0..64 for which `holds(l)`, as bits.
#[inline(always)]
fn bits(holds: impl Fn(usize) -> bool) -> u64 {
    (0..BLOCK).fold(0, |bits, l| bits | u64::from(holds(l)) << l)
}

/// Positions of the set bits.
fn ones(mut bits: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lane = bits.trailing_zeros() as usize;
        bits &= bits.wrapping_sub(1);
        (lane < BLOCK).then_some(lane)
    })
}

/// Links of neurons that are in step at more than `limit` steps of a measure.
pub(super) struct Measured<M> {
    pub(super) level: SimdLevel,
    pub(super) measure: M,
    pub(super) limit: u32,
}

impl<M: Measure> Measured<M> {
    fn neurons(&self) -> usize {
        self.measure.values().columns()
    }

    /// Links of neuron `i` with the neurons of block `b`, restricted to the bits `wanted`.
    fn links(&self, i: u32, b: usize, wanted: u64) -> u64 {
        // matches > limit is equivalent to misses < steps − limit, which is never true if limit ≥ steps.
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
        // Lanes that are not wanted start with enough misses, so that they do not prolong counting.
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
