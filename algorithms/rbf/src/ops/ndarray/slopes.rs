//! ∂(Lu)/∂x at the points. SIMD lanes are conditions.

use std::{marker::PhantomData, ops::Range};

use firebox_backends::cpu::{BLOCK, Block, Isa, Loop, Real, SimdLevel};
use firebox_core::watch::Watch;
use rayon::prelude::*;

use super::{
    columns::powers,
    form::{Form, Point, across, with_form},
    pack::{Neurons, Points, RowSlices, ShapeSlices},
    tasks::{least, shared},
};

/// Blocks of neurons whose terms are summed in `E` before they are added in f64.
const PANEL: usize = 4;

/// Writes Σ_k w_k·∂(Lφ_k)/∂x `[d, n]` to `out`.
pub(super) fn slopes<E: Real>(
    level: SimdLevel,
    rows: &RowSlices<'_, E>,
    shape: &ShapeSlices<'_, E>,
    weights: &[E],
    out: &mut [E],
) {
    let (n, m, d) = (rows.target.len(), shape.widths.len(), shape.dims());
    assert_eq!((weights.len(), out.len()), (m, d * n), "a weight for each neuron, a slope for each coordinate");
    let (points, neurons) = (Points::new(rows, d), Neurons::new(shape, &[]));
    // ∂/∂x = −∂/∂c.
    let factor = |(&a, &w): (&E, &E)| E::from_f64(-powers(&points, a.into())[0] * w.into());
    let factors: Vec<E> = shape.widths.iter().zip(weights).map(factor).collect();
    let mut blocks = vec![Block::default(); n.div_ceil(BLOCK) * d];
    let (height, watch) = (least(m), Watch::current());
    let part = |(at, out): (usize, &mut [Block<E>])| {
        if watch.stopped() {
            return;
        }
        let range = at * height..at * height + out.len() / d;
        with_form!(points.kind, points.dims, F, D => {
            let (points, neurons, factors) = (&points, &neurons, &factors);
            level.run(Slopes::<E, F, D> { points, blocks: range, neurons, factors, out, form: PhantomData });
        });
    };
    if shared(n, m) {
        blocks.par_chunks_mut(height * d).enumerate().for_each(part);
    } else {
        blocks.chunks_mut(height * d).enumerate().for_each(part);
    }
    for (axis, out) in out.chunks_mut(n.max(1)).enumerate() {
        let lanes = blocks.iter().skip(axis).step_by(d).flat_map(|block| &block.0);
        out.iter_mut().zip(lanes).for_each(|(out, slope)| *out = *slope);
    }
}

struct Slopes<'a, E, F, const D: usize> {
    points: &'a Points<E>,
    blocks: Range<usize>,
    neurons: &'a Neurons<E>,
    /// Powers of a in the derivatives by c, times −w.
    factors: &'a [E],
    out: &'a mut [Block<E>],
    form: PhantomData<F>,
}

impl<E: Real, F: Form, const D: usize> Loop for Slopes<'_, E, F, D> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let Self { points, blocks, neurons, factors, out, .. } = self;
        for (index, out) in blocks.zip(out.chunks_exact_mut(D)) {
            let points = points.lanes::<F, D>(index);
            let mut totals = [Block([0.0f64; BLOCK]); D];
            for (panel, factors) in factors.chunks(PANEL * BLOCK).enumerate() {
                let mut sums = [Block::default(); D];
                for (k, &factor) in factors.iter().enumerate() {
                    one::<E, I, F, D>(points, neurons, panel * PANEL * BLOCK + k, factor, &mut sums);
                }
                for (total, sum) in totals.iter_mut().zip(&sums) {
                    for l in 0..BLOCK {
                        total[l] += sum[l].into();
                    }
                }
            }
            for (out, total) in out.iter_mut().zip(&totals) {
                for l in 0..BLOCK {
                    out[l] = E::from_f64(total[l]);
                }
            }
        }
    }
}

/// Adds the terms of neuron `k` to 64 sums per coordinate.
#[inline(always)]
fn one<E: Real, I: Isa, F: Form, const D: usize>(
    points: &[Block<E>],
    neurons: &Neurons<E>,
    k: usize,
    factor: E,
    sums: &mut [Block<E>; D],
) {
    let (block, lane) = (neurons.block::<D>(k / BLOCK), k % BLOCK);
    let (centre, exponent, inverse) = (block.centre(lane), block.exponent(lane), block.inverse(lane));
    let square = if F::GENERAL { block.square(lane) } else { E::ONE };
    for l in 0..BLOCK {
        let point = Point::<E, D>::load::<F>(points, l);
        let (delta, r2, along) = across::<E, I, F, D>(&point, centre);
        let phi = factor * E::exp2_negative::<I>(exponent * r2);
        let [by_centre, _] = F::slopes::<E, I, D>(&point, inverse * r2, along, square);
        let pull = phi * by_centre;
        for (axis, sum) in sums.iter_mut().enumerate() {
            sum[l] = E::fma::<I>(pull, delta[axis], sum[l]);
            if F::GENERAL {
                sum[l] = E::fma::<I>(phi * square, point.beta[axis], sum[l]);
            }
        }
    }
}
