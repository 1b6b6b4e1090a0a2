//! Links of chosen neurons as rows of bits.

use firebox_backends::cpu::{BLOCK, Real, SimdLevel};
use firebox_core::watch::Watch;
use rayon::prelude::*;

use super::{
    links::Measured,
    measure::{Fragmentary, Measure, Phase},
};

/// For each of `rows` a row of ⌈n/32⌉ words, whose bit j is the link with neuron j: in phase at more than `limit` of
/// `steps` steps. `words` is ⌈steps/32⌉ × n. There are no self-links.
pub fn phase_link_rows(level: SimdLevel, words: &[u32], steps: u32, n: usize, limit: u32, rows: &[u32]) -> Vec<u32> {
    link_rows(&Measured { level, measure: Phase::new(words, n, steps), limit }, rows)
}

/// As [`phase_link_rows`], with links if |x_i − x_j| < ε at more than `limit` steps of `outputs`, P × n.
pub fn fragmentary_link_rows<E: Real>(
    level: SimdLevel,
    outputs: &[E],
    n: usize,
    eps: E,
    limit: u32,
    rows: &[u32],
) -> Vec<u32> {
    link_rows(&Measured { level, measure: Fragmentary::new(outputs, n, eps), limit }, rows)
}

fn link_rows<M: Measure>(measured: &Measured<M>, rows: &[u32]) -> Vec<u32> {
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
