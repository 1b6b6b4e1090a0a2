//! The matrix 1/δ.

use firebox_backends::cpu::{BLOCK, Block, Isa, Loop, Real, SimdLevel};
use firebox_core::watch::Watch;
use rayon::prelude::*;

use super::source_distances::{Features, Tile};

/// Writes 1/δ between r points `rows` and n `points` to `out`, r × n; 0 where δ = 0. With `first`, `rows` are the
/// points from index `first` on, and the entries of a point with itself are 0.
///
/// # Panics
/// If a length does not fit.
pub fn inverse<E: Real>(
    level: SimdLevel,
    rows: &Features<E>,
    points: &Features<E>,
    first: Option<usize>,
    out: &mut [E],
) {
    let n = points.columns();
    assert_eq!(out.len(), rows.columns() * n, "a number for each pair");
    if n > 0 {
        let watch = Watch::current();
        let blocks = out.par_chunks_mut(BLOCK * n).enumerate().filter(|_| !watch.stopped());
        blocks.for_each(|(a, out)| level.run(InverseRows { rows, points, first, a, out }));
    }
}

/// Block `a` of the rows: up to 64 rows of the matrix.
struct InverseRows<'a, E> {
    rows: &'a Features<E>,
    points: &'a Features<E>,
    first: Option<usize>,
    a: usize,
    out: &'a mut [E],
}

impl<E: Real> Loop for InverseRows<'_, E> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let Self { rows, points, first, a, out } = self;
        let n = points.columns();
        let mut tile: Tile<E> = [Block::default(); BLOCK];
        for b in 0..n.div_ceil(BLOCK) {
            rows.inverse::<I>(a, points, b, &mut tile, false);
            for (out, tile) in out.chunks_exact_mut(n).zip(&tile) {
                let out = &mut out[b * BLOCK..n.min((b + 1) * BLOCK)];
                out.copy_from_slice(&tile[..out.len()]);
            }
        }
        if let Some(first) = first {
            for (r, out) in out.chunks_exact_mut(n).enumerate() {
                out[first + a * BLOCK + r] = E::ZERO;
            }
        }
    }
}
