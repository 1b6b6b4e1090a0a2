//! Parallel sums over conditions: each task has partial sums, which are added in a fixed order.

use std::ops::Range;

use firebox_backends::cpu::{BLOCK, Block, Real, SimdLevel};
use firebox_core::watch::Watch;
use rayon::prelude::*;

use super::{
    columns::{add_slopes, add_transposed, powers},
    pack::{Neurons, Points, RowSlices, ShapeSlices, blocks_of},
    rows::add_normal,
    stored::add_stored,
    tasks::{pieces, shared, tasks},
};

/// Ratio of the costs of computing and reading an element.
const READ: usize = 8;

/// Adds blocks of conditions of a kind to a task's sums.
type AddBlocks<'a> = dyn Fn(usize, Range<usize>, &mut [Block<f64>]) + Sync + 'a;

/// Partial sums of tasks.
pub(super) struct Sums {
    /// Per task, a kind of conditions and its blocks.
    tasks: Vec<(usize, Range<usize>)>,
    parts: Vec<Block<f64>>,
    width: usize,
    shared: bool,
    neurons: usize,
    watch: Watch,
}

impl Sums {
    /// Allocates `width` blocks of sums per task, for kinds of `counts` conditions.
    pub fn new(counts: &[usize], m: usize, width: usize, stored: bool) -> Self {
        let of = |(kind, &n): (usize, &usize)| tasks(n, m).into_iter().map(move |blocks| (kind, blocks));
        let tasks: Vec<_> = counts.iter().enumerate().flat_map(of).collect();
        let shared = shared(counts.iter().sum::<usize>() / if stored { READ } else { 1 }, m);
        let parts = vec![Block::default(); tasks.len() * width];
        Self { parts, tasks, width, shared, neurons: m, watch: Watch::current() }
    }

    /// Runs `work` inside the thread pool if tasks are parallel; entering it costs some microseconds per call.
    pub fn scope(&mut self, work: impl FnOnce(&mut Self) + Send) {
        if self.shared { rayon::scope(|_| work(self)) } else { work(self) }
    }

    /// Returns `true` after a stop request, which leaves the sums of the last run incomplete.
    pub fn stopped(&self) -> bool {
        self.watch.stopped()
    }

    /// Runs `work` on every task's blocks, some at a time, to add to its sums.
    pub fn run(&mut self, work: &AddBlocks<'_>) {
        let one = |(part, (kind, blocks)): (&mut [Block<f64>], &(usize, Range<usize>))| {
            part.fill(Block::default());
            for piece in pieces(blocks.clone(), self.neurons) {
                if self.watch.stopped() {
                    return;
                }
                work(*kind, piece, part);
            }
        };
        let width = self.width.max(1);
        if self.shared {
            self.parts.par_chunks_exact_mut(width).with_max_len(1).zip(&self.tasks).for_each(one);
        } else {
            self.parts.chunks_exact_mut(width).zip(&self.tasks).for_each(one);
        }
    }

    /// Total sums of each of `kinds` kinds.
    pub fn totals(&self, kinds: usize) -> Vec<Vec<Block<f64>>> {
        let mut totals = vec![vec![Block::default(); self.width]; kinds];
        for ((kind, _), part) in self.tasks.iter().zip(self.parts.chunks_exact(self.width.max(1))) {
            for (total, part) in totals[*kind].iter_mut().zip(part) {
                for l in 0..BLOCK {
                    total[l] += part[l];
                }
            }
        }
        totals
    }

    /// Total sums of a single kind.
    fn total(&self) -> Vec<Block<f64>> {
        self.totals(1).pop().unwrap_or_default()
    }
}

fn write<E: Real>(total: &[Block<f64>], out: &mut [E]) {
    let lanes = total.iter().flat_map(|block| block.0);
    out.iter_mut().zip(lanes).for_each(|(out, sum)| *out = E::from_f64(sum));
}

/// The values of blocks of conditions.
pub(super) fn part<E>(values: &[E], blocks: Range<usize>) -> &[E] {
    &values[blocks.start * BLOCK..values.len().min(blocks.end * BLOCK)]
}

/// Writes Aᵀv `[m]` for v `[n]` to `out`.
pub(super) fn transposed<E: Real>(
    level: SimdLevel,
    rows: &RowSlices<'_, E>,
    shape: &ShapeSlices<'_, E>,
    values: &[E],
    out: &mut [E],
) {
    let (n, m) = (rows.target.len(), shape.widths.len());
    assert_eq!((values.len(), out.len()), (n, m), "a value for each condition, a sum for each neuron");
    let (points, neurons) = (Points::new(rows, shape.dims()), Neurons::new(shape, &[]));
    let mut sums = Sums::new(&[n], m, neurons.blocks(), false);
    sums.run(&|_, blocks, totals| {
        add_transposed(level, &points, blocks.clone(), &blocks_of(part(values, blocks)), &neurons, totals);
    });
    write(&sums.total(), out);
}

/// Writes AᵀA·p `[m]` for p `[m]` to `out`, over `matrix` `[n, m]` if given.
pub(super) fn normal<E: Real>(
    level: SimdLevel,
    rows: &RowSlices<'_, E>,
    shape: &ShapeSlices<'_, E>,
    matrix: Option<&[E]>,
    vector: &[E],
    out: &mut [E],
) {
    let (n, m) = (rows.target.len(), shape.widths.len());
    assert_eq!((vector.len(), out.len()), (m, m), "a number for each neuron");
    let mut sums = Sums::new(&[n], m, m.div_ceil(BLOCK), matrix.is_some());
    if let Some(matrix) = matrix {
        assert_eq!(matrix.len(), n * m, "a row for each condition");
        sums.run(&|_, blocks, totals| {
            add_stored(level, part_rows(matrix, m, blocks), vector, None, totals);
        });
    } else {
        let (points, neurons) = (Points::new(rows, shape.dims()), Neurons::new(shape, vector));
        sums.run(&|_, blocks, totals| add_normal(level, &points, blocks, &neurons, totals));
    }
    write(&sums.total(), out);
}

/// The rows of A for blocks of conditions.
pub(super) fn part_rows<E>(matrix: &[E], m: usize, blocks: Range<usize>) -> &[E] {
    &matrix[blocks.start * BLOCK * m..matrix.len().min(blocks.end * BLOCK * m)]
}

/// Writes Σ_i v_i·w_k·∂(Lφ_k)(x_i)/∂(c_k, a_k) `[d + 1, m]` for v `[n]` to `out`.
pub(super) fn gradient<E: Real>(
    level: SimdLevel,
    rows: &RowSlices<'_, E>,
    shape: &ShapeSlices<'_, E>,
    weights: &[E],
    values: &[E],
    out: &mut [E],
) {
    let (n, m, d) = (rows.target.len(), shape.widths.len(), shape.dims());
    assert_eq!((weights.len(), values.len()), (m, n), "a weight for each neuron, a value for each condition");
    assert_eq!(out.len(), (d + 1) * m, "a slope for each number of a neuron");
    let (points, neurons) = (Points::new(rows, d), Neurons::new(shape, weights));
    let mut sums = Sums::new(&[n], m, neurons.blocks() * (d + 1), false);
    sums.run(&|_, blocks, totals| {
        add_slopes(level, &points, blocks.clone(), &blocks_of(part(values, blocks)), &neurons, totals);
    });
    let mut slopes = vec![0.0; out.len()];
    finish(&points, shape.widths, weights, &sums.total(), 1.0, &mut slopes);
    out.iter_mut().zip(slopes).for_each(|(out, slope)| *out = E::from_f64(slope));
}

/// Adds `share` times the gradient `[d + 1, m]` made of sums over conditions.
pub(super) fn finish<E: Real>(
    points: &Points<E>,
    widths: &[E],
    weights: &[E],
    totals: &[Block<f64>],
    share: f64,
    out: &mut [f64],
) {
    let (m, d) = (widths.len(), points.dims);
    for (k, (&a, &w)) in widths.iter().zip(weights).enumerate() {
        let w: f64 = w.into();
        let [by_centre, by_width] = powers(points, a.into());
        let sums = &totals[k / BLOCK * (d + 1)..];
        for axis in 0..d {
            out[axis * m + k] += share * w * by_centre * sums[axis][k % BLOCK];
        }
        out[d * m + k] += share * w * by_width * sums[d][k % BLOCK];
    }
}
