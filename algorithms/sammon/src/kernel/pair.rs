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

/// δ^−p from 1/δ, 0 where there is no pair.
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

/// What a pair adds to the sums of its first point. `inverse` and `delta` are 1/δ and δ, both 0 where there is no
/// pair; `across` is y_i − y_j.
#[cube]
fn worth<F: Float>(
    values: &mut Array<F>,
    inverse: F,
    delta: F,
    multiplicity: F,
    across: &Array<F>,
    power: F,
    #[comptime] terms: Terms,
) {
    let m = comptime!(terms.m);
    let w = multiplicity * weight::<F>(inverse, power, terms.power);
    let mut square = F::new(0.0);
    #[unroll]
    for k in 0..m {
        square += across[k as usize] * across[k as usize];
    }
    let square = square.max(F::new(comptime!(TINY)));
    match comptime!(terms.sums) {
        Sums::Measure => {
            let distance = square * square.inverse_sqrt();
            let mu = select(inverse > F::new(0.0), multiplicity, F::new(0.0));
            let miss = delta - distance;
            values[0] = w;
            values[1] = w * delta * delta;
            values[2] = w * delta * distance;
            values[3] = w * distance * distance;
            values[4] = mu * miss * miss;
            values[5] = mu * distance * distance;
        }
        _ => {
            // δ/d − 1, by one root and no division. Where there is no pair it is large, but finite, and w is 0.
            let ratio = (square * (inverse * inverse)).max(F::new(f32::MIN_POSITIVE));
            let excess = ratio.inverse_sqrt() - F::new(1.0);
            let pull = w * excess;
            #[unroll]
            for k in 0..m {
                values[k as usize] = pull * across[k as usize];
            }
            // w·(δ − d)²: d² last but one, so that what is 0 stays so.
            values[m as usize] = square * pull * excess;
            if comptime!(terms.sums == Sums::Placed) {
                values[comptime!((m + 1) as usize)] = w;
            }
        }
    }
}

/// Adds a pair to the sums from `at` on, which are those of its first point.
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
    let mut values = Array::<F>::new(comptime!(terms.count() as usize));
    worth::<F>(&mut values, inverse, delta, multiplicity, across, power, terms);
    #[unroll]
    for s in 0..comptime!(terms.count()) {
        sums[comptime!((at + s) as usize)] += values[s as usize];
    }
}

/// Adds a pair to the sums of both of its points: to those from `at` on of `rows`, point i, and to those from `to` on of
/// `columns`, point j.
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
    across: &Array<F>,
    power: F,
    #[comptime] terms: Terms,
) {
    let mut values = Array::<F>::new(comptime!(terms.count() as usize));
    worth::<F>(&mut values, inverse, delta, F::new(1.0), across, power, terms);
    #[unroll]
    for s in 0..comptime!(terms.count()) {
        let value = values[s as usize];
        rows[comptime!((at + s) as usize)] += column_multiplicity * value;
        // The force on the other is the opposite; all else is the same.
        if comptime!(terms.sums != Sums::Measure && s < terms.m) {
            columns[comptime!((to + s) as usize)] -= row_multiplicity * value;
        } else {
            columns[comptime!((to + s) as usize)] += row_multiplicity * value;
        }
    }
}
