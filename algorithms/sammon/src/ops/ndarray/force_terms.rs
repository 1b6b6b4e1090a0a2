//! Terms of force and stress.

use firebox_backends::cpu::{BLOCK, Block, Isa, Real, array};

use super::terms::{LANES, Lanes, Power, Terms, add, columns, copied, squares};

/// Terms of F, e and, with `weight`, Σ μ·w: m + 1 or m + 2 sums per point. `M` is m, or 0 for any m; `ONE` means p = 1.
/// Both are compile-time constants of the innermost loop.
#[derive(Debug, Clone, Copy)]
pub(super) struct ForceTerms<E, const M: usize, const ONE: bool> {
    dimensions: usize,
    power: Power<E>,
    weight: bool,
}

/// Runs `$body` with `$pull` bound to the [`ForceTerms`] specialized for m and p.
macro_rules! with_force_terms {
    ($m:expr, $power:expr, $weight:expr, $pull:ident => $body:expr) => {
        match ($m, $power) {
            (2, 1.0) => {
                let $pull = $crate::ops::ndarray::force_terms::ForceTerms::<_, 2, true>::new($m, $power, $weight);
                $body
            }
            (3, 1.0) => {
                let $pull = $crate::ops::ndarray::force_terms::ForceTerms::<_, 3, true>::new($m, $power, $weight);
                $body
            }
            (_, 1.0) => {
                let $pull = $crate::ops::ndarray::force_terms::ForceTerms::<_, 0, true>::new($m, $power, $weight);
                $body
            }
            _ => {
                let $pull = $crate::ops::ndarray::force_terms::ForceTerms::<_, 0, false>::new($m, $power, $weight);
                $body
            }
        }
    };
}
pub(super) use with_force_terms;

impl<E: Real, const M: usize, const ONE: bool> ForceTerms<E, M, ONE> {
    pub(super) fn new(dimensions: usize, power: f64, weight: bool) -> Self {
        assert!(M == 0 || dimensions == M, "dimensions");
        assert!(!ONE || power == 1.0, "power");
        Self { dimensions, power: Power::new(power), weight }
    }

    /// [`Terms::add`] of force and stress for m = `M` > 0 and p = 1.
    ///
    /// Uses indices, not iterators: sums whose address is taken live in memory, which takes four times as long.
    #[inline(always)]
    #[allow(clippy::needless_range_loop)]
    fn add_few<I: Isa, const BOTH: bool>(
        &self,
        own: &[Block<E>],
        lane: usize,
        others: &mut [Block<E>],
        inverse: &[E],
        row: &mut [Lanes<E>],
    ) {
        let width = M + 1 + if BOTH { self.sums() } else { 0 };
        let y: [E; M] = array(|k| own[k][lane]);
        let mu = own[M][lane];
        let minus_mu = -mu;
        // Keeps the pull of coincident points finite, since it is multiplied by 0, and d/δ out of the denormals.
        let least = E::from_f64(E::MIN_POSITIVE.into() * f64::from(1u32 << 30));
        // Few enough lanes that all sums of the point stay in registers.
        let mut force = [[E::ZERO; LANES]; M];
        let mut stress = [E::ZERO; LANES];
        for (b, others) in others.chunks_exact_mut(width).enumerate() {
            let others = &mut others[..if BOTH { 2 * M + 2 } else { M + 1 }];
            let mut rest = Block::default();
            let inverse = columns(inverse, b, &mut rest);
            for first in (0..BLOCK).step_by(LANES) {
                let mut t = [[E::ZERO; LANES]; M];
                let mut square = [least; LANES];
                for k in 0..M {
                    for l in 0..LANES {
                        t[k][l] = y[k] - others[k][first + l];
                        square[l] = E::fma::<I>(t[k][l], t[k][l], square[l]);
                    }
                }
                let r: [E; LANES] = array(|l| inverse[first + l]);
                let (pull, term) = pairs::<E, I>(square, r);
                for k in 0..M {
                    for l in 0..LANES {
                        force[k][l] = E::fma::<I>(pull[l] * others[M][first + l], t[k][l], force[k][l]);
                    }
                }
                for l in 0..LANES {
                    stress[l] = E::fma::<I>(term[l], others[M][first + l], stress[l]);
                }
                if BOTH {
                    for k in 0..M {
                        for l in 0..LANES {
                            let sum = &mut others[M + 1 + k][first + l];
                            *sum = E::fma::<I>(pull[l] * minus_mu, t[k][l], *sum);
                        }
                    }
                    for l in 0..LANES {
                        let sum = &mut others[2 * M + 1][first + l];
                        *sum = E::fma::<I>(term[l], mu, *sum);
                    }
                }
            }
        }
        for k in 0..M {
            for l in 0..LANES {
                row[k].0[l] = row[k].0[l] + force[k][l];
            }
        }
        for l in 0..LANES {
            row[M].0[l] = row[M].0[l] + stress[l];
        }
    }

    /// [`Terms::add`] of force and stress for any m, one dimension at a time.
    #[inline(always)]
    fn add_many<I: Isa, const BOTH: bool>(
        &self,
        own: &[Block<E>],
        lane: usize,
        others: &mut [Block<E>],
        inverse: &[E],
        row: &mut [Lanes<E>],
    ) {
        let m = self.dimensions;
        let mu = own[m][lane];
        let width = m + 1 + if BOTH { self.sums() } else { 0 };
        for (b, others) in others.chunks_exact_mut(width).enumerate() {
            let inverse = copied(inverse, b);
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
                row[k].add::<I>(&push, &others_mu);
                if BOTH {
                    add::<E, I>(&push, &Block([-mu; BLOCK]), &mut others[m + 1 + k]);
                }
            }
            row[m].add::<I>(&terms, &others_mu);
            if BOTH {
                add::<E, I>(&terms, &Block([mu; BLOCK]), &mut others[2 * m + 1]);
            }
        }
    }
}

/// [`pair`] of [`LANES`] pairs at once, for p = 1: with r = 1/δ and i = δ/d, 1/d − 1/δ = r·(i − 1), and
/// (δ − d)²/δ = r·(i − 1)²·d². Both are 0 where r is 0.
#[inline(always)]
fn pairs<E: Real, I: Isa>(square: [E; LANES], r: [E; LANES]) -> ([E; LANES], [E; LANES]) {
    let (mut pull, mut term) = ([E::ZERO; LANES], [E::ZERO; LANES]);
    let mut ratio = [E::ZERO; LANES];
    for l in 0..LANES {
        let to_source = square[l] * (r[l] * r[l]);
        ratio[l] = if to_source > E::MIN_POSITIVE { to_source } else { E::MIN_POSITIVE };
    }
    let inverse = E::recip_sqrts::<I>(ratio);
    for l in 0..LANES {
        let residual = inverse[l] - E::ONE;
        pull[l] = r[l] * residual;
        term[l] = pull[l] * (square[l] * residual);
    }
    (pull, term)
}

/// Force factor w·(δ/d − 1) and stress w·(δ − d)² of a pair, from d², 1/δ and w.
///
/// The force is the factor times y_i − y_j. For p = 1, where w·δ = 1, the factor is 1/d − 1/δ.
#[inline(always)]
pub(super) fn pair<E: Real, I: Isa, const ONE: bool>(square: E, r: E, weight: E) -> (E, E) {
    // Keeps the pull of coincident points finite, since it is multiplied by 0.
    let square = if square > E::MIN_POSITIVE { square } else { E::MIN_POSITIVE };
    let closeness = square.recip_sqrt::<I>();
    let distance = square * closeness;
    let exists = r > E::ZERO;
    let inverse = r.recip::<I>();
    let source = if exists { inverse } else { E::ZERO };
    if ONE {
        let residual = E::fma::<I>(-distance, r, E::ONE);
        let pull = closeness - r;
        (if exists { pull } else { E::ZERO }, source * residual * residual)
    } else {
        let residual = source - distance;
        (weight * E::fma::<I>(source, closeness, -E::ONE), weight * residual * residual)
    }
}

impl<E: Real, const M: usize, const ONE: bool> Terms<E> for ForceTerms<E, M, ONE> {
    fn sums(&self) -> usize {
        self.dimensions + 1 + usize::from(self.weight)
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
        if M > 0 {
            self.add_few::<I, BOTH>(own, lane, others, inverse, row);
        } else {
            self.add_many::<I, BOTH>(own, lane, others, inverse, row);
        }
        if self.weight {
            let m = self.dimensions;
            let width = m + 1 + if BOTH { self.sums() } else { 0 };
            for (b, others) in others.chunks_exact_mut(width).enumerate() {
                let weights = self.power.weights(&copied(inverse, b));
                row[m + 1].add::<I>(&weights, &others[m]);
                if BOTH {
                    add::<E, I>(&weights, &Block([own[m][lane]; BLOCK]), &mut others[2 * m + 2]);
                }
            }
        }
    }
}
