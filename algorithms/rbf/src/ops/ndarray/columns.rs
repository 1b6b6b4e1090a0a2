//! Sums over conditions with A recomputed: Aᵀv, and the gradient by c and a. SIMD lanes are neurons.

use std::{marker::PhantomData, ops::Range};

use firebox_backends::cpu::{BLOCK, Block, Isa, Loop, Real, SimdLevel, array};

use super::{
    form::{Form, Point, across, with_form},
    pack::{Neuron, Neurons, Points},
    rows::{HEIGHT, load},
    tasks::PANEL,
};

/// The summand of a condition for a neuron.
trait Terms {
    /// Number of sums per neuron.
    fn count<const D: usize>() -> usize;

    /// Adds v times the summands of some conditions to lane `l`.
    fn add<E: Real, I: Isa, F: Form, const D: usize>(
        points: &[Point<E, D>; HEIGHT],
        values: [E; HEIGHT],
        block: Neuron<'_, E, D>,
        l: usize,
        sums: &mut [Block<E>],
    );
}

/// Lφ.
struct Elements;
impl Terms for Elements {
    fn count<const D: usize>() -> usize {
        1
    }

    #[inline(always)]
    fn add<E: Real, I: Isa, F: Form, const D: usize>(
        points: &[Point<E, D>; HEIGHT],
        values: [E; HEIGHT],
        block: Neuron<'_, E, D>,
        l: usize,
        sums: &mut [Block<E>],
    ) {
        let (centre, exponent, factors) = (block.centre(l), block.exponent(l), block.factors(l));
        let mut own = sums[0][l];
        for r in 0..HEIGHT {
            let (_, r2, along) = across::<E, I, F, D>(&points[r], centre);
            let phi = E::exp2_negative::<I>(exponent * r2);
            own = E::fma::<I>(values[r] * phi, F::inner::<E, I, D>(&points[r], r2, along, factors), own);
        }
        sums[0][l] = own;
    }
}

/// ∂(Lφ)/∂(c, a) without [`powers`] of a.
struct Slopes;
impl Terms for Slopes {
    fn count<const D: usize>() -> usize {
        D + 1
    }

    #[inline(always)]
    fn add<E: Real, I: Isa, F: Form, const D: usize>(
        points: &[Point<E, D>; HEIGHT],
        values: [E; HEIGHT],
        block: Neuron<'_, E, D>,
        l: usize,
        sums: &mut [Block<E>],
    ) {
        let (centre, exponent, inverse) = (block.centre(l), block.exponent(l), block.inverse(l));
        let square = if F::GENERAL { block.square(l) } else { E::ONE };
        let mut own = [E::ZERO; D];
        for k in 0..D {
            own[k] = sums[k][l];
        }
        let mut by_width = sums[D][l];
        for r in 0..HEIGHT {
            let (delta, r2, along) = across::<E, I, F, D>(&points[r], centre);
            let phi = values[r] * E::exp2_negative::<I>(exponent * r2);
            let [c, a] = F::slopes::<E, I, D>(&points[r], inverse * r2, along, square);
            let pull = phi * c;
            for k in 0..D {
                own[k] = E::fma::<I>(pull, delta[k], own[k]);
                if F::GENERAL {
                    own[k] = E::fma::<I>(phi * square, points[r].beta[k], own[k]);
                }
            }
            by_width = E::fma::<I>(phi, a, by_width);
        }
        for k in 0..D {
            sums[k][l] = own[k];
        }
        sums[D][l] = by_width;
    }
}

/// Adds Aᵀv over blocks of conditions to `totals`, one block per 64 neurons. `values` are v of these blocks, padded
/// with 0.
pub(super) fn add_transposed<E: Real>(
    level: SimdLevel,
    points: &Points<E>,
    blocks: Range<usize>,
    values: &[Block<E>],
    neurons: &Neurons<E>,
    totals: &mut [Block<f64>],
) {
    with_form!(points.kind, points.dims, F, D => {
        let of = PhantomData::<(F, Elements)>;
        level.run(Columns::<E, F, Elements, D> { points, blocks, values, neurons, totals, of });
    });
}

/// Adds Σ v·∂(Lφ)/∂(c, a) without [`powers`] over blocks of conditions to `totals`, d + 1 blocks per 64 neurons.
pub(super) fn add_slopes<E: Real>(
    level: SimdLevel,
    points: &Points<E>,
    blocks: Range<usize>,
    values: &[Block<E>],
    neurons: &Neurons<E>,
    totals: &mut [Block<f64>],
) {
    with_form!(points.kind, points.dims, F, D => {
        let of = PhantomData::<(F, Slopes)>;
        level.run(Columns::<E, F, Slopes, D> { points, blocks, values, neurons, totals, of });
    });
}

/// The powers of a that the sums by c and by a omit.
pub(super) fn powers<E>(points: &Points<E>, a: f64) -> [f64; 2] {
    with_form!(points.kind, points.dims, F, _D => F::powers(a))
}

struct Columns<'a, E, F, T, const D: usize> {
    points: &'a Points<E>,
    blocks: Range<usize>,
    values: &'a [Block<E>],
    neurons: &'a Neurons<E>,
    totals: &'a mut [Block<f64>],
    of: PhantomData<(F, T)>,
}

impl<E: Real, F: Form, T: Terms, const D: usize> Loop for Columns<'_, E, F, T, D> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let Self { points, blocks, values, neurons, totals, .. } = self;
        let (n, start, count) = (points.count(), blocks.start, T::count::<D>());
        let mut memory = [Block::default(); 4];
        let sums = &mut memory[..count];
        for first in blocks.clone().step_by(PANEL) {
            let end = n.min(blocks.end.min(first + PANEL) * BLOCK);
            for (b, totals) in totals.chunks_exact_mut(count).enumerate() {
                sums.fill(Block::default());
                let block = neurons.block::<D>(b);
                for row in (first * BLOCK..end).step_by(HEIGHT) {
                    let some = load::<E, F, D>(points, row);
                    let lanes = &values[row / BLOCK - start];
                    let v: [E; HEIGHT] = array(|r| lanes[row % BLOCK + r]);
                    for l in 0..BLOCK {
                        T::add::<E, I, F, D>(&some, v, block, l, sums);
                    }
                }
                for (total, sum) in totals.iter_mut().zip(&*sums) {
                    for l in 0..BLOCK {
                        total[l] += sum[l].into();
                    }
                }
            }
        }
    }
}
