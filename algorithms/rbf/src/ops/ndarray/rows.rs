//! A few rows of A at a time, written together with r or consumed by AᵀA·p. SIMD lanes are neurons.

use std::{marker::PhantomData, ops::Range};

use firebox_backends::cpu::{BLOCK, Block, Isa, Loop, Real, SimdLevel, array, sum_lanes};
use firebox_core::watch::Watch;
use rayon::prelude::*;

use super::{
    form::{Form, Point, across, with_form},
    pack::{Neuron, Neurons, Points, RowSlices, ShapeSlices},
    tasks::{PANEL, least, shared},
};

/// Rows of A computed together, sharing the loads of neurons.
pub(super) const HEIGHT: usize = 4;

/// 64 columns of [`HEIGHT`] rows.
type Tile<E> = [Block<E>; HEIGHT];

/// Writes A `[n, m]` and r = A·w − t `[n]`.
pub(super) fn matrix<E: Real>(
    level: SimdLevel,
    rows: &RowSlices<'_, E>,
    shape: &ShapeSlices<'_, E>,
    weights: &[E],
    out: &mut [E],
    residual: &mut [E],
) {
    let m = shape.widths.len();
    assert_eq!(weights.len(), m, "a weight for each neuron");
    assert_eq!((out.len(), residual.len()), (rows.target.len() * m, rows.target.len()), "a row for each condition");
    let (points, neurons) = (Points::new(rows, shape.dims()), Neurons::new(shape, weights));
    write(level, &points, &neurons, rows.target, out, residual);
}

/// [`matrix`] on packed operands.
pub(super) fn write<E: Real>(
    level: SimdLevel,
    points: &Points<E>,
    neurons: &Neurons<E>,
    target: &[E],
    out: &mut [E],
    residual: &mut [E],
) {
    let (m, height, watch) = (neurons.count(), least(neurons.count()) * BLOCK, Watch::current());
    let part = |at: usize, (out, (residual, target)): (&mut [E], (&mut [E], &[E]))| {
        if watch.stopped() {
            return;
        }
        let first = at * height;
        with_form!(points.kind, points.dims, F, D => {
            level.run(Write::<E, F, D> { points, first, neurons, target, out, residual, form: PhantomData });
        });
    };
    if !shared(target.len(), m) {
        let rows = residual.chunks_mut(height).zip(target.chunks(height));
        return out.chunks_mut(height * m).zip(rows).enumerate().for_each(|(at, rows)| part(at, rows));
    }
    let rows = residual.par_chunks_mut(height).zip(target.par_chunks(height));
    out.par_chunks_mut(height * m).zip(rows).enumerate().for_each(|(at, rows)| part(at, rows));
}

struct Write<'a, E, F, const D: usize> {
    points: &'a Points<E>,
    first: usize,
    neurons: &'a Neurons<E>,
    target: &'a [E],
    out: &'a mut [E],
    residual: &'a mut [E],
    form: PhantomData<F>,
}

impl<E: Real, F: Form, const D: usize> Loop for Write<'_, E, F, D> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let Self { points, first, neurons, target, out, residual, .. } = self;
        let m = neurons.count();
        let groups = residual.chunks_mut(HEIGHT).zip(target.chunks(HEIGHT)).zip(out.chunks_mut(HEIGHT * m));
        for (group, ((residual, target), out)) in groups.enumerate() {
            let some = load::<E, F, D>(points, first + group * HEIGHT);
            // Sums stay in registers; only A is buffered.
            let mut sums = [[E::ZERO; LANES]; HEIGHT];
            for at in (0..m).step_by(LANES) {
                let part = part::<E, I, F, D>(&some, neurons, at, &mut sums);
                for (part, row) in part.iter().zip(out.chunks_exact_mut(m)) {
                    match row[at..].first_chunk_mut() {
                        Some(whole) => *whole = *part,
                        None => row[at..].copy_from_slice(&part[..m - at]),
                    }
                }
            }
            for ((residual, target), sums) in residual.iter_mut().zip(target).zip(&mut sums) {
                *residual = sum_lanes(sums) - *target;
            }
        }
    }
}

/// The element of A for a condition and neuron `l` of a block.
#[inline(always)]
fn element<E: Real, I: Isa, F: Form, const D: usize>(point: &Point<E, D>, block: Neuron<'_, E, D>, l: usize) -> E {
    let (_, r2, along) = across::<E, I, F, D>(point, block.centre(l));
    E::exp2_negative::<I>(block.exponent(l) * r2) * F::inner::<E, I, D>(point, r2, along, block.factors(l))
}

/// Columns per call of [`part`].
const LANES: usize = 16;

/// Computes [`LANES`] columns from `at` on of some rows of A, and adds them times w to `sums`.
#[inline(always)]
fn part<E: Real, I: Isa, F: Form, const D: usize>(
    points: &[Point<E, D>; HEIGHT],
    neurons: &Neurons<E>,
    at: usize,
    sums: &mut [[E; LANES]; HEIGHT],
) -> [[E; LANES]; HEIGHT] {
    let (block, first) = (neurons.block::<D>(at / BLOCK), at % BLOCK);
    let mut part = [[E::ZERO; LANES]; HEIGHT];
    for r in 0..HEIGHT {
        for l in 0..LANES {
            part[r][l] = element::<E, I, F, D>(&points[r], block, first + l);
            sums[r][l] = E::fma::<I>(part[r][l], block.weight(first + l), sums[r][l]);
        }
    }
    part
}

/// The sum of 64 lanes.
#[inline(always)]
pub(super) fn total<E: Real>(lanes: &Block<E>) -> E {
    const FEW: usize = BLOCK / 4;
    let mut few = [E::ZERO; FEW];
    for l in 0..FEW {
        few[l] = (lanes[l] + lanes[l + FEW]) + (lanes[l + 2 * FEW] + lanes[l + 3 * FEW]);
    }
    sum_lanes(&mut few)
}

/// The conditions from `row` on.
#[inline(always)]
pub(super) fn load<E: Real, F: Form, const D: usize>(points: &Points<E>, row: usize) -> [Point<E, D>; HEIGHT] {
    let rows = points.lanes::<F, D>(row / BLOCK);
    array(|r| Point::load::<F>(rows, row % BLOCK + r))
}

/// Computes 64 columns of some rows of A, and adds them times w to `sums`. `points` are of one block, whose size is a
/// multiple of [`HEIGHT`].
#[inline(always)]
fn elements<E: Real, I: Isa, F: Form, const D: usize>(
    points: &[Point<E, D>; HEIGHT],
    neurons: &Neurons<E>,
    b: usize,
    tile: &mut Tile<E>,
    sums: &mut Tile<E>,
) {
    let block = neurons.block::<D>(b);
    for l in 0..BLOCK {
        for r in 0..HEIGHT {
            tile[r][l] = element::<E, I, F, D>(&points[r], block, l);
            sums[r][l] = E::fma::<I>(tile[r][l], block.weight(l), sums[r][l]);
        }
    }
}

/// Adds AᵀA·p over blocks of conditions to `totals`, one block per 64 neurons; p is the neurons' weight.
pub(super) fn add_normal<E: Real>(
    level: SimdLevel,
    points: &Points<E>,
    blocks: Range<usize>,
    neurons: &Neurons<E>,
    totals: &mut [Block<f64>],
) {
    with_form!(points.kind, points.dims, F, D => {
        level.run(Normal::<E, F, D> { points, blocks, neurons, totals, form: PhantomData });
    });
}

struct Normal<'a, E, F, const D: usize> {
    points: &'a Points<E>,
    blocks: Range<usize>,
    neurons: &'a Neurons<E>,
    totals: &'a mut [Block<f64>],
    form: PhantomData<F>,
}

impl<E: Real, F: Form, const D: usize> Loop for Normal<'_, E, F, D> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let Self { points, blocks, neurons, totals, .. } = self;
        let n = points.count();
        let mut tiles = vec![[Block::default(); HEIGHT]; neurons.blocks()];
        let mut columns = vec![Block::default(); neurons.blocks()];
        for first in blocks.clone().step_by(PANEL) {
            columns.fill(Block::default());
            let end = n.min(blocks.end.min(first + PANEL) * BLOCK);
            for row in (first * BLOCK..end).step_by(HEIGHT) {
                let some = load::<E, F, D>(points, row);
                let mut sums = [Block::default(); HEIGHT];
                for (b, tile) in tiles.iter_mut().enumerate() {
                    elements::<E, I, F, D>(&some, neurons, b, tile, &mut sums);
                }
                let mut products = [E::ZERO; HEIGHT];
                for r in 0..HEIGHT.min(end - row) {
                    products[r] = total(&sums[r]);
                }
                for (column, tile) in columns.iter_mut().zip(&tiles) {
                    for l in 0..BLOCK {
                        let mut own = column[l];
                        for r in 0..HEIGHT {
                            own = E::fma::<I>(products[r], tile[r][l], own);
                        }
                        column[l] = own;
                    }
                }
            }
            for (total, column) in totals.iter_mut().zip(&columns) {
                for l in 0..BLOCK {
                    total[l] += column[l].into();
                }
            }
        }
    }
}
