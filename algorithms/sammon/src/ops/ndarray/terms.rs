//! Terms that a pair adds to the sums of its two points.

use firebox_backends::cpu::{BLOCK, Block, Blocks, Isa, Real, sum_lanes};
use rayon::prelude::*;

use super::source_distances::gather;
use crate::types::MEASURES;

/// An embedding in blocks of 64 points: m rows of coordinates and one of multiplicities, which are 0 past the last
/// point.
#[derive(Debug, Clone)]
pub struct PackedEmbedding<E>(pub(super) Blocks<E>);

impl<E: Real> PackedEmbedding<E> {
    /// Packs an embedding m × n, one row per dimension, and n multiplicities.
    pub fn new(embedding: &[E], multiplicity: &[E]) -> Self {
        let n = multiplicity.len();
        Self::gathered(embedding, multiplicity, &(0..n).collect::<Vec<_>>())
    }

    /// Packs the points `columns`, in that order.
    pub(super) fn gathered(embedding: &[E], multiplicity: &[E], columns: &[usize]) -> Self {
        let n = multiplicity.len();
        let m = embedding.len().checked_div(n).unwrap_or(0);
        assert_eq!(embedding.len(), m * n, "n coordinates for each dimension");
        let mut places = gather(embedding, n, m + 1, columns);
        places.blocks_mut().zip(columns.par_chunks(BLOCK)).for_each(|(block, columns)| {
            for (value, &column) in block[m].iter_mut().zip(columns) {
                *value = multiplicity[column];
            }
        });
        Self(places)
    }

    /// Writes the coordinates as m × n.
    pub(super) fn unpack(&self, embedding: &mut [E]) {
        for (k, row) in embedding.chunks_exact_mut(self.points().max(1)).enumerate() {
            for (b, part) in row.chunks_mut(BLOCK).enumerate() {
                part.copy_from_slice(&self.0.block(b)[k][..part.len()]);
            }
        }
    }

    /// Target dimensions m.
    pub fn dimensions(&self) -> usize {
        self.0.rows() - 1
    }

    /// Number of points n.
    pub fn points(&self) -> usize {
        self.0.columns()
    }
}

/// Pairs processed at once: in f32, a register of the widest instruction set.
pub(super) const LANES: usize = 16;

/// Partial sums of one sum of a point.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct Lanes<E>(pub [E; LANES]);

impl<E: Real> Default for Lanes<E> {
    #[inline(always)]
    fn default() -> Self {
        Self([E::ZERO; LANES])
    }
}

impl<E: Real> Lanes<E> {
    /// Adds terms·factors.
    #[inline(always)]
    pub(super) fn add<I: Isa>(&mut self, terms: &Block<E>, factors: &Block<E>) {
        for first in (0..BLOCK).step_by(LANES) {
            for l in 0..LANES {
                self.0[l] = E::fma::<I>(terms[first + l], factors[first + l], self.0[l]);
            }
        }
    }

    /// The total; overwrites the lanes.
    #[inline(always)]
    pub(super) fn take(&mut self) -> E {
        sum_lanes(&mut self.0)
    }
}

/// Terms that are summed over the pairs of each point.
///
/// The other points and, with `BOTH`, their sums are interleaved by block: m rows of coordinates, one of
/// multiplicities, then the sums. They share one array so that the compiler knows that they do not alias.
pub(super) trait Terms<E: Real>: Sync {
    /// Number of sums per point.
    fn sums(&self) -> usize;

    /// Adds the terms of point `lane` of `own` to its sums `row`, and with `BOTH` to those of the others.
    /// `inverse` is 1/δ to each of the others, and counts as 0 past its end.
    fn add<I: Isa, const BOTH: bool>(
        &self,
        own: &[Block<E>],
        lane: usize,
        others: &mut [Block<E>],
        inverse: &[E],
        row: &mut [Lanes<E>],
    );
}

/// Exponent p of the weights δ^(−p).
#[derive(Debug, Clone, Copy)]
pub(super) enum Power<E> {
    Zero,
    One,
    Two,
    Other(E),
}

impl<E: Real> Power<E> {
    pub(super) fn new(power: f64) -> Self {
        match power {
            0.0 => Self::Zero,
            1.0 => Self::One,
            2.0 => Self::Two,
            _ => Self::Other(E::from_f64(power)),
        }
    }

    /// Weight from 1/δ > 0.
    #[inline(always)]
    pub(super) fn weight(self, inverse: E) -> E {
        match self {
            Self::Zero => E::ONE,
            Self::One => inverse,
            Self::Two => inverse * inverse,
            Self::Other(power) => inverse.powf(power),
        }
    }

    /// Weights from 1/δ; 0 where 1/δ is 0.
    #[inline(always)]
    pub(super) fn weights(self, inverse: &Block<E>) -> Block<E> {
        let mut weights = *inverse;
        match self {
            Self::One => {}
            Self::Zero => weights.iter_mut().for_each(|w| *w = if *w > E::ZERO { E::ONE } else { E::ZERO }),
            Self::Two => weights.iter_mut().for_each(|w| *w = *w * *w),
            // 0^p = 0, since p > 0.
            Self::Other(power) => weights.iter_mut().for_each(|w| *w = w.powf(power)),
        }
        weights
    }
}

/// Block `b` of a row, borrowed, or copied to `rest` and padded with zeros.
#[inline(always)]
pub(super) fn columns<'a, E: Real>(row: &'a [E], b: usize, rest: &'a mut Block<E>) -> &'a [E; BLOCK] {
    let row = &row[(b * BLOCK).min(row.len())..];
    match row.first_chunk() {
        Some(all) => all,
        None => {
            rest[..row.len()].copy_from_slice(row);
            rest
        }
    }
}

/// Copy of block `b` of a row, padded with zeros.
#[inline(always)]
pub(super) fn copied<E: Real>(row: &[E], b: usize) -> Block<E> {
    Block(*columns(row, b, &mut Block::default()))
}

/// Σ_k (own_k − others_k)² for point `lane`.
#[inline(always)]
pub(super) fn squares<E: Real, I: Isa>(own: &[Block<E>], lane: usize, others: &[Block<E>]) -> Block<E> {
    let mut squares = Block::default();
    for (own, others) in own.iter().zip(others) {
        for l in 0..BLOCK {
            let t = own[lane] - others[l];
            squares[l] = E::fma::<I>(t, t, squares[l]);
        }
    }
    squares
}

/// Adds terms·factors to `sum`.
#[inline(always)]
pub(super) fn add<E: Real, I: Isa>(terms: &Block<E>, factors: &Block<E>, sum: &mut Block<E>) {
    for l in 0..BLOCK {
        sum[l] = E::fma::<I>(terms[l], factors[l], sum[l]);
    }
}

/// Terms of [`SammonOps::sammon_measure`](crate::ops::SammonOps::sammon_measure).
#[derive(Debug, Clone, Copy)]
pub(super) struct Measures<E>(Power<E>);

impl<E: Real> Measures<E> {
    pub(super) fn new(power: f64) -> Self {
        Self(Power::new(power))
    }
}

impl<E: Real> Terms<E> for Measures<E> {
    fn sums(&self) -> usize {
        MEASURES
    }

    #[inline(always)]
    fn add<I: Isa, const BOTH: bool>(
        &self,
        own: &[Block<E>],
        lane: usize,
        others: &mut [Block<E>],
        inverse: &[E],
        row: &mut [Lanes<E>],
    ) {
        let m = own.len() - 1;
        let width = m + 1 + if BOTH { MEASURES } else { 0 };
        for (b, others) in others.chunks_exact_mut(width).enumerate() {
            let inverse = copied(inverse, b);
            let weights = self.0.weights(&inverse);
            let squares = squares::<E, I>(&own[..m], lane, others);
            let mut terms = [Block::<E>::default(); MEASURES];
            for l in 0..BLOCK {
                let (w, r) = (weights[l], inverse[l]);
                let (source, square) = if r > E::ZERO { (r.recip::<I>(), squares[l]) } else { (E::ZERO, E::ZERO) };
                let target = square.sqrt();
                let residual = source - target;
                let pair = [w, w * source * source, w * source * target, w * square, residual * residual, square];
                for k in 0..MEASURES {
                    terms[k][l] = pair[k];
                }
            }
            for (k, terms) in terms.iter().enumerate() {
                row[k].add::<I>(terms, &others[m]);
                if BOTH {
                    add::<E, I>(terms, &Block([own[m][lane]; BLOCK]), &mut others[m + 1 + k]);
                }
            }
        }
    }
}
