//! Placement of new points among fixed ones.

use firebox_backends::cpu::{BLOCK, Block, Isa, Loop, Real, SimdLevel};
use firebox_core::watch::Watch;
use rayon::prelude::*;

use super::{
    force_terms::with_force_terms,
    terms::{Lanes, PackedEmbedding, Terms},
};

/// Takes steps y ← y + F/Σ μ·w of new points `embedding`, m × q, in place. `inverse`, q × n, is 1/δ to the fixed
/// points, and `fixed`, m × n, their embedding; e before each step goes to `stresses`, steps × q.
pub fn place<E: Real>(
    level: SimdLevel,
    inverse: &[E],
    multiplicity: &[E],
    power: f64,
    fixed: &[E],
    embedding: &mut [E],
    stresses: &mut [E],
) {
    let n = multiplicity.len();
    if n == 0 {
        stresses.fill(E::ZERO);
        return;
    }
    let q = inverse.len() / n;
    let fixed = PackedEmbedding::new(fixed, multiplicity);
    let m = fixed.dimensions();
    assert_eq!((inverse.len(), embedding.len()), (q * n, q * m), "a row and coordinates for each point");
    if q == 0 || m == 0 {
        stresses.fill(E::ZERO);
        return;
    }
    let steps = stresses.len() / q;
    // Coordinates, then stresses of each point: tasks write disjoint chunks.
    let mut results = vec![E::ZERO; q * (m + steps)];
    let watch = Watch::current();
    with_force_terms!(m, power, true, pull => {
        let start = &*embedding;
        results.par_chunks_exact_mut(m + steps).zip(inverse.par_chunks_exact(n)).enumerate().for_each_init(
            || fixed.0.clone(),
            |fixed, (i, (result, inverse))| {
                if watch.stopped() {
                    return;
                }
                let (y, stresses) = result.split_at_mut(m);
                for (k, y) in y.iter_mut().enumerate() {
                    *y = start[k * q + i];
                }
                level.run(Point { terms: &pull, fixed: fixed.all_mut(), inverse, y, stresses });
            },
        );
    });
    for (i, result) in results.chunks_exact(m + steps).enumerate() {
        for (k, &y) in result[..m].iter().enumerate() {
            embedding[k * q + i] = y;
        }
        for (k, &e) in result[m..].iter().enumerate() {
            stresses[k * q + i] = e;
        }
    }
}

/// All steps of one new point.
struct Point<'a, E, T> {
    terms: &'a T,
    fixed: &'a mut [Block<E>],
    inverse: &'a [E],
    y: &'a mut [E],
    stresses: &'a mut [E],
}

impl<E: Real, T: Terms<E>> Loop for Point<'_, E, T> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let Self { terms, fixed, inverse, y, stresses } = self;
        let m = y.len();
        let mut own = vec![Block::default(); m + 1];
        let mut row = vec![Lanes::default(); terms.sums()];
        let mut sums = vec![0.0; terms.sums()];
        for stress in stresses {
            for (own, &y) in own.iter_mut().zip(&*y) {
                own[0] = y;
            }
            sums.fill(0.0);
            all_others::<E, I, T>(terms, &own, 0, fixed, inverse, &mut row, &mut sums);
            *stress = E::from_f64(sums[m]);
            advance(y, &sums, 1.0);
        }
    }
}

/// Blocks whose terms are summed in E before they are added to f64.
const PANEL: usize = 32;

/// Adds to `sums` the terms of point `lane` of `own` over all `others`, m + 1 rows per block. `row` is scratch memory
/// of the same length as `sums`.
#[inline(always)]
pub(super) fn all_others<E: Real, I: Isa, T: Terms<E>>(
    terms: &T,
    own: &[Block<E>],
    lane: usize,
    others: &mut [Block<E>],
    inverse: &[E],
    row: &mut [Lanes<E>],
    sums: &mut [f64],
) {
    for (p, panel) in others.chunks_mut(PANEL * own.len()).enumerate() {
        row.fill(Lanes::default());
        terms.add::<I, false>(own, lane, panel, &inverse[(p * PANEL * BLOCK).min(inverse.len())..], row);
        for (sum, lanes) in sums.iter_mut().zip(&mut *row) {
            *sum += lanes.take().into();
        }
    }
}

/// Step y ← y + α·F/Σ μ·w from the sums F, e, Σ μ·w. A point without a pair stays.
pub(super) fn advance<E: Real>(y: &mut [E], sums: &[f64], alpha: f64) {
    let weight = sums[y.len() + 1];
    if weight > 0.0 {
        for (y, force) in y.iter_mut().zip(sums) {
            *y = E::from_f64((*y).into() + alpha * force / weight);
        }
    }
}
