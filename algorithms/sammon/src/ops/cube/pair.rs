//! Terms of one pair of points: forces and stress, or measures.
//!
//! Calling kernels are compiled with all of fast math but `NotNaN`: division uses the hardware's reciprocal, while
//! reciprocal roots are unchanged. CubeCL's fast reciprocal root is CUDA's correctly rounded one, several times slower
//! than the default, which is within 2 units in the last place.

#![allow(missing_docs)] // `#[cube]` writes companions that cannot be documented.

use cubecl::prelude::*;

/// Lower bound of squared target distances, which keeps the pull of coincident points finite; it is multiplied by 0.
const TINY: f32 = 1e-30;

/// Sums over the pairs of a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Sums {
    /// F, then e: m + 1 sums.
    Forces,
    /// F, e, then Σ μ·w: m + 2 sums.
    ForcesAndWeight,
    /// The six of [`crate::ops::SammonOps::sammon_measure`].
    Measure,
}

impl Sums {
    /// Number of sums in m target dimensions.
    pub(super) fn count(self, m: u32) -> u32 {
        match self {
            Self::Forces => m + 1,
            Self::ForcesAndWeight => m + 2,
            Self::Measure => crate::types::MEASURES as u32,
        }
    }
}

/// Exponent p, a compile-time constant for the usual values.
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

/// Compile-time description of a kernel's sums.
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

/// δ^−p from 1/δ, 0 where no pair exists.
#[cube]
fn weight<F: Float>(inverse: F, power: F, #[comptime] kind: Power) -> F {
    let there = inverse > F::new(0.0);
    match comptime!(kind) {
        Power::Zero => select(there, F::new(1.0), F::new(0.0)),
        Power::One => inverse,
        Power::Two => inverse * inverse,
        Power::Other => select(there, select(there, inverse, F::new(1.0)).powf(power), F::new(0.0)),
    }
}

/// Terms of a pair for its first point. `inverse` and `delta` are 1/δ and δ, both 0 where no pair exists; `difference`
/// is y_i − y_j.
#[cube]
fn pair_terms<F: Float>(
    values: &mut Array<F>,
    inverse: F,
    delta: F,
    multiplicity: F,
    difference: &Array<F>,
    power: F,
    #[comptime] terms: Terms,
) {
    let m = comptime!(terms.m);
    let w = multiplicity * weight::<F>(inverse, power, terms.power);
    let mut square = F::new(0.0);
    #[unroll]
    for k in 0..m {
        square += difference[k as usize] * difference[k as usize];
    }
    let square = square.max(F::new(comptime!(TINY)));
    match comptime!(terms.sums) {
        Sums::Measure => {
            let distance = square * square.inverse_sqrt();
            let mu = select(inverse > F::new(0.0), multiplicity, F::new(0.0));
            let residual = delta - distance;
            values[0] = w;
            values[1] = w * delta * delta;
            values[2] = w * delta * distance;
            values[3] = w * distance * distance;
            values[4] = mu * residual * residual;
            values[5] = mu * distance * distance;
        }
        _ => {
            // δ/d − 1 with one root and no division. Where no pair exists it is large but finite, and w is 0.
            let ratio = (square * (inverse * inverse)).max(F::new(f32::MIN_POSITIVE));
            let excess = ratio.inverse_sqrt() - F::new(1.0);
            let pull = w * excess;
            #[unroll]
            for k in 0..m {
                values[k as usize] = pull * difference[k as usize];
            }
            // d²·w·(δ/d − 1)², in an order in which no product overflows, so that a weight of 0 gives 0.
            values[m as usize] = square * pull * excess;
            if comptime!(terms.sums == Sums::ForcesAndWeight) {
                values[comptime!((m + 1) as usize)] = w;
            }
        }
    }
}

/// Adds the terms of a pair to the sums of its first point, from index `at` on.
#[cube]
pub(super) fn add_pair<F: Float>(
    sums: &mut Array<F>,
    #[comptime] at: u32,
    inverse: F,
    delta: F,
    multiplicity: F,
    difference: &Array<F>,
    power: F,
    #[comptime] terms: Terms,
) {
    let mut values = Array::<F>::new(comptime!(terms.count() as usize));
    pair_terms::<F>(&mut values, inverse, delta, multiplicity, difference, power, terms);
    #[unroll]
    for s in 0..comptime!(terms.count()) {
        sums[comptime!((at + s) as usize)] += values[s as usize];
    }
}

/// Adds the terms of a pair to the sums of both of its points: of i in `rows` from index `at` on, of j in `columns`
/// from index `to` on.
#[cube]
pub(super) fn add_both<F: Float>(
    rows: &mut Array<F>,
    #[comptime] at: u32,
    columns: &mut Array<F>,
    #[comptime] to: u32,
    inverse: F,
    delta: F,
    row_multiplicity: F,
    column_multiplicity: F,
    difference: &Array<F>,
    power: F,
    #[comptime] terms: Terms,
) {
    let mut values = Array::<F>::new(comptime!(terms.count() as usize));
    pair_terms::<F>(&mut values, inverse, delta, F::new(1.0), difference, power, terms);
    #[unroll]
    for s in 0..comptime!(terms.count()) {
        let value = values[s as usize];
        rows[comptime!((at + s) as usize)] += column_multiplicity * value;
        // Forces are antisymmetric, all other terms symmetric.
        if comptime!(terms.sums != Sums::Measure && s < terms.m) {
            columns[comptime!((to + s) as usize)] -= row_multiplicity * value;
        } else {
            columns[comptime!((to + s) as usize)] += row_multiplicity * value;
        }
    }
}
