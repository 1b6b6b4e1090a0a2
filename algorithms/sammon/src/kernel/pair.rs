//! What one pair of points adds to the sums of its first: forces, or what an embedding is measured by.
//!
//! Kernels that call this are compiled with all fast mathematics but `NotNaN`: division becomes the hardware's
//! reciprocal, while reciprocal roots stay what they are. CubeCL's "fast" ones are CUDA's correctly rounded ones,
//! several times slower than the plain ones, which are within 2 units in the last place.

#![allow(missing_docs)] // `#[cube]` writes companions that cannot be documented.

use cubecl::prelude::*;

/// Squared target distances count as at least this, so that coincident points pull by a finite number times 0.
const TINY: f32 = 1e-30;

/// What is summed over a point's pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Sums {
    /// F, then e: m + 1 sums.
    Forces,
    /// F, e, then Σ μ·w: m + 2 sums.
    Placed,
    /// The six of [`crate::SammonOps::sammon_measure`].
    Measure,
}

impl Sums {
    /// How many, in m target dimensions.
    pub(super) fn count(self, m: u32) -> u32 {
        match self {
            Self::Forces => m + 1,
            Self::Placed => m + 2,
            Self::Measure => crate::ops::MEASURES as u32,
        }
    }
}

/// p, known when the kernel is compiled where it is one of the usual.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Power {
    /// Weights 1.
    Zero,
    /// Weights 1/δ: Sammon's.
    One,
    /// Weights 1/δ².
    Two,
    /// Weights δ^−p.
    Other,
}

impl Power {
    pub(super) fn of(power: f64) -> Self {
        match power {
            0.0 => Self::Zero,
            1.0 => Self::One,
            2.0 => Self::Two,
            _ => Self::Other,
        }
    }
}

/// The sums of one kernel, known when it is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Terms {
    pub(super) sums: Sums,
    pub(super) power: Power,
    /// Target dimensions.
    pub(super) m: u32,
}

impl Terms {
    pub(super) fn count(self) -> u32 {
        self.sums.count(self.m)
    }
}

/// δ^−p from 1/δ, which is above 0.
#[cube]
pub(super) fn weight<F: Float>(inverse: F, power: F, #[comptime] kind: Power) -> F {
    match comptime!(kind) {
        Power::Zero => F::new(1.0),
        Power::One => inverse,
        Power::Two => inverse * inverse,
        Power::Other => inverse.powf(power),
    }
}

/// Adds a pair to the sums from `at` on. `inverse` and `delta` are 1/δ and δ, both 0 where there is no pair;
/// `across` holds y_i − y_j, and is used up.
#[cube]
pub(super) fn add_pair<F: Float>(
    sums: &mut Array<F>,
    #[comptime] at: u32,
    inverse: F,
    delta: F,
    multiplicity: F,
    across: &Array<F>,
    power: F,
    #[comptime] terms: Terms,
) {
    let m = comptime!(terms.m);
    let there = inverse > F::new(0.0);
    let sure = select(there, inverse, F::new(1.0));
    let mu = select(there, multiplicity, F::new(0.0));
    let w = mu * weight::<F>(sure, power, terms.power);
    let mut square = F::new(0.0);
    #[unroll]
    for k in 0..m {
        square += across[k as usize] * across[k as usize];
    }
    let square = square.max(F::new(comptime!(TINY)));
    let reciprocal = square.inverse_sqrt();
    let distance = square * reciprocal;
    // (δ − d)/δ.
    let miss = F::new(1.0) - distance * sure;
    match comptime!(terms.sums) {
        Sums::Measure => {
            let plain = delta - distance;
            sums[comptime!(at as usize)] += w;
            sums[comptime!((at + 1) as usize)] += w * delta * delta;
            sums[comptime!((at + 2) as usize)] += w * delta * distance;
            sums[comptime!((at + 3) as usize)] += w * distance * distance;
            sums[comptime!((at + 4) as usize)] += mu * plain * plain;
            sums[comptime!((at + 5) as usize)] += mu * distance * distance;
        }
        _ => {
            // w·(δ − d)/d; for p = 1 that is 1/d − 1/δ.
            let pull = match comptime!(terms.power) {
                Power::One => mu * (reciprocal - sure),
                _ => w * (delta * reciprocal - F::new(1.0)),
            };
            #[unroll]
            for k in 0..m {
                sums[comptime!((at + k) as usize)] += pull * across[k as usize];
            }
            // w·(δ − d)²; for p = 1 w·δ is μ.
            let scale = match comptime!(terms.power) {
                Power::One => mu * delta,
                _ => w * delta * delta,
            };
            sums[comptime!((at + m) as usize)] += scale * miss * miss;
            if comptime!(terms.sums == Sums::Placed) {
                sums[comptime!((at + m + 1) as usize)] += w;
            }
        }
    }
}
