//! Sums over all pairs of points or a share of them, each pair computed once, in parallel.

use std::ops::Range;

use firebox_backends::cpu::{BLOCK, Block, Isa, Loop, Real, SimdLevel};
use firebox_core::{Share, watch::Watch};
use rayon::prelude::*;

use super::{
    source_distances::{SliceSource, Tile},
    terms::{Lanes, PackedEmbedding, Terms},
};

/// Maximum number of tasks; each holds its own sums. The number depends on n alone, so that the bits do not depend on
/// the number of threads.
const MAX_TASKS: usize = 64;

/// Base number of tasks, plus one per 1024 points: with few points, more tasks would spend their time on adding sums.
const FEW_TASKS: usize = 16;

/// Column blocks whose sums are kept in E before they are added to f64: 2048 points, or 32 numbers per lane.
const PANEL: usize = 32;

/// Sums over the pairs of each point, and their scratch memory.
///
/// A block row is all pairs of 64 points with those after them or, for a share, with half of the others. Each task has
/// several block rows and adds each pair to both of its points: in E within [`PANEL`] blocks of a block row, in f64
/// across.
pub struct PairSweep<E> {
    /// Block rows of the share.
    own: Range<usize>,
    tasks: usize,
    /// Per task: a tile, then columns.
    memory: Vec<Block<E>>,
    /// Per task: by point, then by sum.
    rows: Vec<Lanes<E>>,
    /// Per task: by block, then by sum.
    parts: Vec<Block<f64>>,
    totals: Vec<Block<f64>>,
    sums: usize,
    watch: Watch,
}

/// Scratch memory of one task.
struct Task<'a, E> {
    tile: &'a mut Tile<E>,
    /// By point, then by sum.
    rows: &'a mut [Lanes<E>],
    /// By block: coordinates and multiplicities, then sums.
    columns: &'a mut [Block<E>],
    /// By block, then by sum.
    sums: &'a mut [Block<f64>],
}

impl<E: Real> PairSweep<E> {
    /// Allocates the sums of all points of `places` over a share of their pairs. `watch`, that of the thread outside
    /// the pool, stops the loops, which leaves the sums incomplete.
    pub(super) fn new<T: Terms<E>>(places: &PackedEmbedding<E>, terms: &T, share: Share, watch: &Watch) -> Self {
        let (blocks, rows, sums) = (places.0.count(), places.0.rows(), terms.sums());
        let own = share.of(blocks);
        let tasks = own.len().div_ceil(2).min(FEW_TASKS + own.len() / 16).min(MAX_TASKS);
        let memory = BLOCK + blocks.min(PANEL) * (rows + sums);
        Self {
            own,
            tasks,
            memory: vec![Block::default(); tasks * memory],
            rows: vec![Lanes::default(); tasks * BLOCK * sums],
            parts: vec![Block::default(); tasks * blocks * sums],
            totals: vec![Block::default(); blocks * sums],
            sums,
            watch: watch.clone(),
        }
    }

    /// Sums `terms` over the pairs of the share.
    pub(super) fn run<T: Terms<E>>(
        &mut self,
        level: SimdLevel,
        source: &SliceSource<'_, E>,
        places: &PackedEmbedding<E>,
        terms: &T,
    ) {
        let (count, sums) = (self.tasks, self.sums);
        assert_eq!((source.points(), terms.sums()), (places.points(), sums), "one problem");
        if count == 0 {
            return;
        }
        let (memory, part) = (self.memory.len() / count, self.parts.len() / count);
        let memory = self.memory.par_chunks_exact_mut(memory).with_max_len(1);
        let (rows, watch) = (self.rows.par_chunks_exact_mut(BLOCK * sums), &self.watch);
        memory.zip(rows).zip(self.parts.par_chunks_exact_mut(part)).enumerate().for_each(
            |(index, ((memory, rows), part))| {
                let Some((tile, columns)) = memory.split_first_chunk_mut() else { return };
                part.fill(Block::default());
                level.run(BlockRows {
                    source,
                    places,
                    terms,
                    own: self.own.clone(),
                    index,
                    count,
                    task: Task { tile, rows, columns, sums: part },
                    watch,
                });
            },
        );
    }

    /// Total sums by block of 64 points, in parallel.
    pub(super) fn sums(&mut self) -> impl IndexedParallelIterator<Item = &mut [Block<f64>]> {
        let Self { own, tasks, parts, totals, sums, .. } = self;
        let (part, sums) = (parts.len().checked_div(*tasks).unwrap_or(1), *sums);
        let parts = &*parts;
        let whole = own.len() * sums == totals.len();
        totals.par_chunks_exact_mut(sums).enumerate().map(move |(b, totals)| {
            totals.fill(Block::default());
            // In the whole matrix, later tasks have neither this block row nor an earlier one.
            for part in parts.chunks_exact(part).take(if whole { b + 1 } else { usize::MAX }) {
                for (total, sum) in totals.iter_mut().zip(&part[b * sums..]) {
                    for l in 0..BLOCK {
                        total[l] += sum[l];
                    }
                }
            }
            totals
        })
    }

    /// Writes the sums to rows of one number per point.
    pub(super) fn rows<'a>(&mut self, rows: impl Iterator<Item = &'a mut [E]>) {
        self.sums().for_each(|_| {});
        for (k, row) in rows.enumerate() {
            for (row, totals) in row.chunks_mut(BLOCK).zip(self.totals.chunks_exact(self.sums)) {
                for (out, &sum) in row.iter_mut().zip(totals[k].iter()) {
                    *out = E::from_f64(sum);
                }
            }
        }
    }
}

/// Loop over the block rows of one task.
struct BlockRows<'a, E, T> {
    source: &'a SliceSource<'a, E>,
    places: &'a PackedEmbedding<E>,
    terms: &'a T,
    own: Range<usize>,
    index: usize,
    count: usize,
    task: Task<'a, E>,
    watch: &'a Watch,
}

impl<E: Real, T: Terms<E>> Loop for BlockRows<'_, E, T> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let Self { source, places, terms, own, index, count, mut task, watch } = self;
        // `panel` has a single call site, where it is inlined: otherwise it would be compiled for the baseline CPU.
        for (b, others) in of_task(own, places.0.count(), index, count) {
            for first in others.clone().step_by(PANEL) {
                if watch.stopped() {
                    return;
                }
                panel::<E, I, T>(source, places, terms, b, first..others.end.min(first + PANEL), &mut task);
            }
        }
    }
}

/// Block rows of task `index` of `count`, each with the range of blocks it is paired with.
fn of_task(own: Range<usize>, blocks: usize, index: usize, count: usize) -> Vec<(usize, Range<usize>)> {
    if own.len() == blocks {
        // Forward and backward strides balance long and short block rows.
        let forth = (index..blocks).step_by(2 * count);
        let back = (2 * count - 1 - index..blocks).step_by(2 * count);
        return forth.chain(back).map(|b| (b, b..blocks)).collect();
    }
    // On a circle, each block is paired with the half after it: equal work, and each pair occurs once.
    let circle = own.skip(index).step_by(count).flat_map(|b| {
        let opposite = blocks.is_multiple_of(2) && b < blocks / 2;
        let end = b + 1 + (blocks - 1) / 2 + usize::from(opposite);
        [(b, b..end.min(blocks)), (b, 0..end.saturating_sub(blocks))]
    });
    circle.collect()
}

/// Adds the pairs of block `b` with blocks `others` to the sums of a task.
#[inline(always)]
fn panel<E: Real, I: Isa, T: Terms<E>>(
    source: &SliceSource<'_, E>,
    places: &PackedEmbedding<E>,
    terms: &T,
    b: usize,
    others: Range<usize>,
    task: &mut Task<'_, E>,
) {
    let Task { tile, rows, columns, sums } = task;
    let (own, width) = (places.0.block(b), terms.sums());
    let stride = own.len() + width;
    let columns = &mut columns[..others.len() * stride];
    for (column, c) in columns.chunks_exact_mut(stride).zip(others.clone()) {
        column[..own.len()].copy_from_slice(places.0.block(c));
        column[own.len()..].fill(Block::default());
    }
    rows.fill(Lanes::default());
    let height = BLOCK.min(places.points() - b * BLOCK);
    for first in others.clone().step_by(source.strip()) {
        source.prepare::<I>(b, first, tile);
        let strip =
            (first - others.start) * stride..columns.len().min((first - others.start + source.strip()) * stride);
        for (r, row) in rows.chunks_exact_mut(width).take(height).enumerate() {
            let inverse = source.row(b * BLOCK + r, first, tile);
            terms.add::<I, true>(own, r, &mut columns[strip.clone()], inverse, row);
        }
    }
    for (column, c) in columns.chunks_exact(stride).zip(others) {
        // Pairs within block b are in its rows, from both sides.
        if c != b {
            for (sum, column) in sums[c * width..].iter_mut().zip(&column[own.len()..]) {
                for l in 0..BLOCK {
                    sum[l] += column[l].into();
                }
            }
        }
    }
    let sums = &mut sums[b * width..][..width];
    for (r, row) in rows.chunks_exact_mut(width).take(height).enumerate() {
        for (sum, lanes) in sums.iter_mut().zip(row) {
            sum[r] += lanes.take().into();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_pair_of_blocks_occurs_once() {
        for blocks in 1..12 {
            for size in [1, 2, 3, 5] {
                let mut count = vec![0; blocks * blocks];
                for rank in 0..size {
                    for index in 0..2 {
                        for (b, others) in of_task(Share { rank, size }.of(blocks), blocks, index, 2) {
                            others.for_each(|c| count[b.min(c) * blocks + b.max(c)] += 1);
                        }
                    }
                }
                let once = (0..blocks * blocks).all(|at| count[at] == usize::from(at / blocks <= at % blocks));
                assert!(once, "{blocks} blocks, {size} ranks: {count:?}");
            }
        }
    }
}
