//! Synchronisation counts S_ij: the number of steps at which neurons i and j are in step.

use firebox_backends::cpu::{BLOCK, Block, Isa, Loop, Real, SimdLevel, Tile, for_each_tile, transpose};
use rayon::prelude::*;

use super::measure::{Measure, count};

/// Packs signs of increase. `trajectory` is (P+1) × n, a row per step; `words_out` is ⌈P/32⌉ × n: bit t % 32 of word t
/// / 32 is x_i(t+1) > x_i(t). Unused bits are 0.
///
/// # Panics
/// If a length does not fit.
pub fn pack_increase<E: Real>(level: SimdLevel, trajectory: &[E], n: usize, words_out: &mut [u32]) {
    if n == 0 {
        return;
    }
    let states = trajectory.len() / n;
    let steps = states.saturating_sub(1);
    assert_eq!(trajectory.len(), states * n, "whole states");
    assert_eq!(words_out.len(), steps.div_ceil(32) * n, "a word for each 32 steps of each neuron");
    words_out.par_chunks_mut(n).enumerate().for_each(|(w, words)| {
        // The state before these steps, and up to 32 after.
        let states = &trajectory[w * 32 * n..trajectory.len().min((w * 32 + 33) * n)];
        let parts = words.par_chunks_mut(PART).enumerate();
        parts.for_each(|(part, words)| level.run(Increase { states, n, first: part * PART, words }));
    });
}

/// Neurons per task, whose 33 states fit the L2 cache.
const PART: usize = 2048;

struct Increase<'a, E> {
    states: &'a [E],
    n: usize,
    first: usize,
    words: &'a mut [u32],
}

impl<E: Real> Loop for Increase<'_, E> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let Self { states, n, first, words } = self;
        words.fill(0);
        let span = first..first + words.len();
        for (t, pair) in states.windows(2 * n).step_by(n).enumerate() {
            let (before, after) = (&pair[span.clone()], &pair[n..][span.clone()]);
            for ((word, before), after) in words.iter_mut().zip(before).zip(after) {
                *word |= u32::from(after > before) << t;
            }
        }
    }
}

/// Adds to S, n × n, the number of a measure's steps at which i and j are in step.
///
/// # Panics
/// If the length does not fit.
pub(super) fn accumulate<M: Measure>(level: SimdLevel, measure: &M, s_matrix: &mut [u32]) {
    for_each_tile(s_matrix, measure.values().columns(), |i, j, tile, mirror| {
        level.run(Counts { measure, i, j, tile, mirror });
    });
}

/// Adds the counts of blocks i and j to a tile and its mirror.
struct Counts<'a, M> {
    measure: &'a M,
    i: usize,
    j: usize,
    tile: Tile<'a, u32>,
    mirror: Option<Tile<'a, u32>>,
}

impl<M: Measure> Loop for Counts<'_, M> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let Self { measure, i, j, mut tile, mut mirror } = self;
        let (own, others, steps) = (measure.values().block(i), measure.values().block(j), measure.steps());
        let mut counts = [Block::default(); BLOCK];
        for (r, counts) in counts.iter_mut().enumerate().take(tile.rows().len()) {
            // Rows of S are pages apart, beyond the reach of hardware prefetching.
            tile.prefetch(r + 2);
            if let Some(mirror) = &mirror {
                mirror.prefetch(r);
            }
            count(measure, own, r, others, None, counts);
            for l in 0..BLOCK {
                counts[l] = steps - counts[l];
            }
            add(tile.row(r), counts);
        }
        if let Some(mirror) = &mut mirror {
            transpose(&mut counts);
            for (r, counts) in counts.iter().enumerate().take(mirror.rows().len()) {
                add(mirror.row(r), counts);
            }
        }
    }
}

#[inline(always)]
fn add(row: &mut [u32], counts: &Block<u32>) {
    for (s, &c) in row.iter_mut().zip(&counts.0) {
        *s += c;
    }
}
