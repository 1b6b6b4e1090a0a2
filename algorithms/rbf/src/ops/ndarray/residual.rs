//! r = A·w − t with A recomputed. SIMD lanes are conditions.

use std::{marker::PhantomData, ops::Range};

use firebox_backends::cpu::{BLOCK, Block, Isa, Loop, Real, SimdLevel};
use firebox_core::watch::Watch;
use rayon::prelude::*;

use super::{
    form::{Form, Point, across, with_form},
    pack::{Neurons, Points, RowSlices, ShapeSlices},
    tasks::{least, shared},
};

/// Neurons per inner iteration.
const NEURONS: usize = 4;
/// Blocks of neurons whose terms are summed in `E` before they are added in f64.
const PANEL: usize = 4;

/// Writes r `[n]` to `out`.
pub(super) fn residual<E: Real>(
    level: SimdLevel,
    rows: &RowSlices<'_, E>,
    shape: &ShapeSlices<'_, E>,
    weights: &[E],
    out: &mut [E],
) {
    assert_eq!(weights.len(), shape.widths.len(), "a weight for each neuron");
    assert_eq!(out.len(), rows.target.len(), "a residual for each condition");
    let (points, neurons) = (Points::new(rows, shape.dims()), Neurons::new(shape, weights));
    let (height, watch) = (least(neurons.count()) * BLOCK, Watch::current());
    let part = |(at, (out, target)): (usize, (&mut [E], &[E]))| {
        if watch.stopped() {
            return;
        }
        let mut blocks = vec![Block::default(); out.len().div_ceil(BLOCK)];
        let first = at * height / BLOCK;
        products(level, &points, first..first + blocks.len(), &neurons, &mut blocks);
        for ((out, product), target) in out.iter_mut().zip(blocks.iter().flat_map(|block| &block.0)).zip(target) {
            *out = *product - *target;
        }
    };
    if shared(out.len(), neurons.count()) {
        out.par_chunks_mut(height).zip(rows.target.par_chunks(height)).enumerate().for_each(part);
    } else {
        out.chunks_mut(height).zip(rows.target.chunks(height)).enumerate().for_each(part);
    }
}

/// A·w of blocks of conditions.
pub(super) fn products<E: Real>(
    level: SimdLevel,
    points: &Points<E>,
    blocks: Range<usize>,
    neurons: &Neurons<E>,
    out: &mut [Block<E>],
) {
    with_form!(points.kind, points.dims, F, D => {
        level.run(Products::<E, F, D> { points, blocks, neurons, out, form: PhantomData });
    });
}

struct Products<'a, E, F, const D: usize> {
    points: &'a Points<E>,
    blocks: Range<usize>,
    neurons: &'a Neurons<E>,
    out: &'a mut [Block<E>],
    form: PhantomData<F>,
}

impl<E: Real, F: Form, const D: usize> Loop for Products<'_, E, F, D> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let Self { points, blocks, neurons, out, .. } = self;
        for (index, out) in blocks.zip(out) {
            let points = points.lanes::<F, D>(index);
            let mut total = Block([0.0f64; BLOCK]);
            for first in (0..neurons.blocks()).step_by(PANEL) {
                let mut sum = Block::default();
                for b in first..neurons.blocks().min(first + PANEL) {
                    let count = (neurons.count() - b * BLOCK).min(BLOCK);
                    for k in (0..count).step_by(NEURONS) {
                        some::<E, I, F, D>(points, neurons, b, k, &mut sum);
                    }
                }
                for l in 0..BLOCK {
                    total[l] += sum[l].into();
                }
            }
            for l in 0..BLOCK {
                out[l] = E::from_f64(total[l]);
            }
        }
    }
}

/// Adds the terms of the neurons from `k` on of block `b` to 64 sums.
#[inline(always)]
fn some<E: Real, I: Isa, F: Form, const D: usize>(
    points: &[Block<E>],
    neurons: &Neurons<E>,
    b: usize,
    k: usize,
    sum: &mut Block<E>,
) {
    let block = neurons.block::<D>(b);
    let mut centres = [[E::ZERO; D]; NEURONS];
    let mut exponents = [E::ZERO; NEURONS];
    let mut factors = [block.weighed(k); NEURONS];
    for r in 0..NEURONS {
        (centres[r], exponents[r], factors[r]) = (block.centre(k + r), block.exponent(k + r), block.weighed(k + r));
    }
    for l in 0..BLOCK {
        let point = Point::<E, D>::load::<F>(points, l);
        let mut own = sum[l];
        for r in 0..NEURONS {
            let (_, r2, along) = across::<E, I, F, D>(&point, centres[r]);
            let phi = E::exp2_negative::<I>(exponents[r] * r2);
            own = E::fma::<I>(phi, F::inner::<E, I, D>(&point, r2, along, factors[r]), own);
        }
        sum[l] = own;
    }
}
