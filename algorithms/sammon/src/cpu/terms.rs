//! What a pair adds to the sums of its two points.

use std::array;

use firebox_backends::cpu::{BLOCK, Block, Blocks, Isa, Real};
use rayon::prelude::*;

use super::source::gather;
use crate::ops::MEASURES;

/// Points of the target space in the form the loops read: m rows of coordinates and one of multiplicities, which are
/// 0 past the last point.
#[derive(Debug, Clone)]
pub struct Places<E>(pub(super) Blocks<E>);

impl<E: Real> Places<E> {
    /// `embedding` is m × n, one row a dimension, `multiplicity` has length n.
    ///
    /// # Panics
    /// If `embedding` is not a whole number of rows.
    pub fn new(embedding: &[E], multiplicity: &[E]) -> Self {
        let n = multiplicity.len();
        Self::gathered(embedding, multiplicity, &(0..n).collect::<Vec<_>>())
    }

    /// Some of the points, in an order of their own.
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

    /// Takes the coordinates of another embedding of the same points, m × n.
    pub(super) fn moved(&mut self, embedding: &[E]) {
        let n = self.points();
        self.0.blocks_mut().enumerate().for_each(|(b, block)| {
            for (block, row) in block.iter_mut().zip(embedding.chunks_exact(n)) {
                let part = &row[b * BLOCK..n.min((b + 1) * BLOCK)];
                block[..part.len()].copy_from_slice(part);
            }
        });
    }

    /// Dimensions of the target space.
    pub fn dimensions(&self) -> usize {
        self.0.rows() - 1
    }

    /// Points.
    pub fn points(&self) -> usize {
        self.0.columns()
    }
}

/// Terms that are summed over the pairs of each point.
///
/// The other points of a pair and, with `BOTH`, their sums stand together, block by block: m rows of coordinates, one of
/// multiplicities, then the sums. They are of one array so that the compiler knows that they are apart.
pub(super) trait Terms<E: Real>: Sync {
    /// Sums of a point.
    fn sums(&self) -> usize;

    /// Adds the terms of point `lane` of `own` to its sums `row`, lane by lane, and with `BOTH` to those of the others.
    /// `inverse` gives 1/δ to a block of them, counted from 0.
    fn add<I: Isa, const BOTH: bool>(
        &self,
        own: &[Block<E>],
        lane: usize,
        others: &mut [Block<E>],
        inverse: impl Fn(usize) -> Block<E>,
        row: &mut [Block<E>],
    );
}

/// p in the weights δ^(−p).
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

    /// A weight from 1/δ > 0.
    #[inline(always)]
    pub(super) fn weight(self, inverse: E) -> E {
        match self {
            Self::Zero => E::ONE,
            Self::One => inverse,
            Self::Two => inverse * inverse,
            Self::Other(power) => inverse.powf(power),
        }
    }

    /// Weights from 1/δ; 0 where that is 0.
    #[inline(always)]
    fn weights(self, inverse: &Block<E>) -> Block<E> {
        let mut weights = *inverse;
        match self {
            Self::One => {}
            Self::Zero => weights.iter_mut().for_each(|w| *w = if *w > E::ZERO { E::ONE } else { E::ZERO }),
            Self::Two => weights.iter_mut().for_each(|w| *w = *w * *w),
            // 0 to a positive power is 0.
            Self::Other(power) => weights.iter_mut().for_each(|w| *w = w.powf(power)),
        }
        weights
    }
}

/// F, e and, if asked for, Σ μ·w: m + 1 or m + 2 sums a point. `M` is m, or 0 for any; with `ONE` p = 1. Both known at
/// compile time cost nothing in the innermost loop.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pull<E, const M: usize, const ONE: bool> {
    dimensions: usize,
    power: Power<E>,
    weight: bool,
}

/// Runs `$body` with `$pull` the [`Pull`] that is compiled for a problem.
macro_rules! with_pull {
    ($m:expr, $power:expr, $weight:expr, $pull:ident => $body:expr) => {
        match ($m, $power) {
            (2, 1.0) => {
                let $pull = $crate::cpu::terms::Pull::<_, 2, true>::new($m, $power, $weight);
                $body
            }
            (3, 1.0) => {
                let $pull = $crate::cpu::terms::Pull::<_, 3, true>::new($m, $power, $weight);
                $body
            }
            (_, 1.0) => {
                let $pull = $crate::cpu::terms::Pull::<_, 0, true>::new($m, $power, $weight);
                $body
            }
            _ => {
                let $pull = $crate::cpu::terms::Pull::<_, 0, false>::new($m, $power, $weight);
                $body
            }
        }
    };
}
pub(super) use with_pull;

impl<E: Real, const M: usize, const ONE: bool> Pull<E, M, ONE> {
    pub(super) fn new(dimensions: usize, power: f64, weight: bool) -> Self {
        assert!(M == 0 || dimensions == M, "dimensions");
        assert!(!ONE || power == 1.0, "power");
        Self { dimensions, power: Power::new(power), weight }
    }

    /// [`Terms::add`] of force and stress for m = `M` > 0.
    #[inline(always)]
    fn add_few<I: Isa, const BOTH: bool>(
        &self,
        own: &[Block<E>],
        lane: usize,
        others: &mut [Block<E>],
        inverse: impl Fn(usize) -> Block<E>,
        row: &mut [Block<E>],
    ) {
        let width = M + 1 + if BOTH { self.sums() } else { 0 };
        let y: [E; M] = array::from_fn(|k| own[k][lane]);
        let mu = own[M][lane];
        // Copies: the compiler knows that they are apart from all else.
        let mut force: [Block<E>; M] = array::from_fn(|k| row[k]);
        let mut stress = row[M];
        for (b, others) in others.chunks_exact_mut(width).enumerate() {
            let inverse = inverse(b);
            let others = &mut others[..if BOTH { 2 * M + 2 } else { M + 1 }];
            for l in 0..BLOCK {
                let t: [E; M] = array::from_fn(|k| y[k] - others[k][l]);
                let mut square = E::ZERO;
                for t in t {
                    square = E::fma::<I>(t, t, square);
                }
                let (pull, term) = pair::<E, I, ONE>(square, inverse[l], E::ZERO);
                let by_row = pull * others[M][l];
                for k in 0..M {
                    force[k][l] = E::fma::<I>(by_row, t[k], force[k][l]);
                }
                stress[l] = E::fma::<I>(term, others[M][l], stress[l]);
                if BOTH {
                    let by_column = -pull * mu;
                    for k in 0..M {
                        others[M + 1 + k][l] = E::fma::<I>(by_column, t[k], others[M + 1 + k][l]);
                    }
                    others[2 * M + 1][l] = E::fma::<I>(term, mu, others[2 * M + 1][l]);
                }
            }
        }
        row[..M].copy_from_slice(&force);
        row[M] = stress;
    }

    /// [`Terms::add`] of force and stress for any m, dimension by dimension.
    #[inline(always)]
    fn add_many<I: Isa, const BOTH: bool>(
        &self,
        own: &[Block<E>],
        lane: usize,
        others: &mut [Block<E>],
        inverse: impl Fn(usize) -> Block<E>,
        row: &mut [Block<E>],
    ) {
        let m = self.dimensions;
        let mu = own[m][lane];
        let width = m + 1 + if BOTH { self.sums() } else { 0 };
        for (b, others) in others.chunks_exact_mut(width).enumerate() {
            let inverse = inverse(b);
            let weights = if ONE { Block::default() } else { self.power.weights(&inverse) };
            let others_mu = others[m];
            let mut squares = squares::<E, I>(&own[..m], lane, others);
            let mut terms = Block::default();
            for l in 0..BLOCK {
                (squares[l], terms[l]) = pair::<E, I, ONE>(squares[l], inverse[l], weights[l]);
            }
            let pulls = squares;
            for k in 0..m {
                let mut push = Block::default();
                for l in 0..BLOCK {
                    push[l] = pulls[l] * (own[k][lane] - others[k][l]);
                }
                add::<E, I>(&push, &others_mu, &mut row[k]);
                if BOTH {
                    add::<E, I>(&push, &Block([-mu; BLOCK]), &mut others[m + 1 + k]);
                }
            }
            add::<E, I>(&terms, &others_mu, &mut row[m]);
            if BOTH {
                add::<E, I>(&terms, &Block([mu; BLOCK]), &mut others[2 * m + 1]);
            }
        }
    }
}

/// Force without the difference of places, and stress, of a pair from |y_i − y_j|², 1/δ and w.
///
/// The force is w·(δ/d − 1)·(y_i − y_j); for p = 1, where w·δ = 1, (1/d − 1/δ)·(y_i − y_j).
#[inline(always)]
pub(super) fn pair<E: Real, I: Isa, const ONE: bool>(square: E, r: E, weight: E) -> (E, E) {
    // Coincident points pull each other by a large number times 0.
    let square = if square > E::MIN_POSITIVE { square } else { E::MIN_POSITIVE };
    let closeness = square.recip_sqrt::<I>();
    let distance = square * closeness;
    let there = r > E::ZERO;
    let inverse = r.recip::<I>();
    let source = if there { inverse } else { E::ZERO };
    if ONE {
        let miss = E::fma::<I>(-distance, r, E::ONE);
        let pull = closeness - r;
        (if there { pull } else { E::ZERO }, source * miss * miss)
    } else {
        let miss = source - distance;
        (weight * E::fma::<I>(source, closeness, -E::ONE), weight * miss * miss)
    }
}

/// Σ_k (own_k − others_k)² for point `lane`.
#[inline(always)]
fn squares<E: Real, I: Isa>(own: &[Block<E>], lane: usize, others: &[Block<E>]) -> Block<E> {
    let mut squares = Block::default();
    for (own, others) in own.iter().zip(others) {
        for l in 0..BLOCK {
            let t = own[lane] - others[l];
            squares[l] = E::fma::<I>(t, t, squares[l]);
        }
    }
    squares
}

/// sum += terms·factors.
#[inline(always)]
fn add<E: Real, I: Isa>(terms: &Block<E>, factors: &Block<E>, sum: &mut Block<E>) {
    for l in 0..BLOCK {
        sum[l] = E::fma::<I>(terms[l], factors[l], sum[l]);
    }
}

impl<E: Real, const M: usize, const ONE: bool> Terms<E> for Pull<E, M, ONE> {
    fn sums(&self) -> usize {
        self.dimensions + 1 + usize::from(self.weight)
    }

    #[inline(always)]
    fn add<I: Isa, const BOTH: bool>(
        &self,
        own: &[Block<E>],
        lane: usize,
        others: &mut [Block<E>],
        inverse: impl Fn(usize) -> Block<E>,
        row: &mut [Block<E>],
    ) {
        if M > 0 {
            self.add_few::<I, BOTH>(own, lane, others, &inverse, row);
        } else {
            self.add_many::<I, BOTH>(own, lane, others, &inverse, row);
        }
        if self.weight {
            let m = self.dimensions;
            let width = m + 1 + if BOTH { self.sums() } else { 0 };
            for (b, others) in others.chunks_exact_mut(width).enumerate() {
                let weights = self.power.weights(&inverse(b));
                add::<E, I>(&weights, &others[m], &mut row[m + 1]);
                if BOTH {
                    add::<E, I>(&weights, &Block([own[m][lane]; BLOCK]), &mut others[2 * m + 2]);
                }
            }
        }
    }
}

/// The sums of [`SammonOps::sammon_measure`](crate::SammonOps::sammon_measure).
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
        inverse: impl Fn(usize) -> Block<E>,
        row: &mut [Block<E>],
    ) {
        let m = own.len() - 1;
        let width = m + 1 + if BOTH { MEASURES } else { 0 };
        for (b, others) in others.chunks_exact_mut(width).enumerate() {
            let inverse = inverse(b);
            let weights = self.0.weights(&inverse);
            let squares = squares::<E, I>(&own[..m], lane, others);
            let mut terms = [Block::<E>::default(); MEASURES];
            for l in 0..BLOCK {
                let (w, r) = (weights[l], inverse[l]);
                let (source, square) = if r > E::ZERO { (r.recip::<I>(), squares[l]) } else { (E::ZERO, E::ZERO) };
                let target = square.sqrt();
                let miss = source - target;
                let pair = [w, w * source * source, w * source * target, w * square, miss * miss, square];
                for k in 0..MEASURES {
                    terms[k][l] = pair[k];
                }
            }
            for (k, terms) in terms.iter().enumerate() {
                add::<E, I>(terms, &others[m], &mut row[k]);
                if BOTH {
                    add::<E, I>(terms, &Block([own[m][lane]; BLOCK]), &mut others[m + 1 + k]);
                }
            }
        }
    }
}
