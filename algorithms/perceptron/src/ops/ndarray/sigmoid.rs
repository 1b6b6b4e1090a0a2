//! Element-wise SIMD loops, parallel over blocks.
//!
//! The block size does not depend on the number of threads, and neither do the bits of the results.

use firebox_backends::cpu::{Isa, Loop, Real, SimdLevel};
use rayon::prelude::*;

use crate::types::Sigmoid;

/// Elements of a block.
const BLOCK: usize = 1 << 14;

/// 1/(1 + exp(−t)). Inlined into loops over slices of equal length, which vectorise.
#[inline(always)]
#[allow(clippy::eq_op)] // Only NaN differs from itself.
fn logistic<E: Real, I: Isa>(t: E) -> E {
    // exp(−|t|) = 2^(−|t|·log₂ e) cannot overflow; the sigmoid of −|t| is e/(1 + e), that of |t| is 1/(1 + e).
    let e = E::exp2_negative::<I>(-(t.abs() * E::from_f64(std::f64::consts::LOG2_E)));
    let high = (E::ONE + e).recip::<I>();
    let y = if t < E::ZERO { e * high } else { high };
    // `exp2_negative` does not propagate NaN, which is passed through here.
    if t == t { y } else { t }
}

struct BiasSigmoid<'a, E> {
    values: &'a mut [E],
    bias: Option<&'a [E]>,
    location: E,
    steepness: E,
}

impl<E: Real> Loop for BiasSigmoid<'_, E> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let Self { values, bias, location, steepness } = self;
        match bias {
            None => {
                for x in values {
                    *x = logistic::<E, I>((*x - location) * steepness);
                }
            }
            Some(bias) => {
                for row in values.chunks_mut(bias.len()) {
                    for (x, &b) in row.iter_mut().zip(bias) {
                        *x = logistic::<E, I>((*x + b - location) * steepness);
                    }
                }
            }
        }
    }
}

/// Replaces every element x by the sigmoid of x + b; with a bias `[m]`, values are rows of length m.
pub(super) fn bias_sigmoid<E: Real>(level: SimdLevel, values: &mut [E], bias: Option<&[E]>, sigmoid: Sigmoid) {
    let (location, steepness) = (E::from_f64(sigmoid.location), E::from_f64(sigmoid.steepness()));
    level.run(BiasSigmoid { values, bias, location, steepness });
}

/// Replaces every element by its sigmoid.
pub(crate) fn sigmoid<E: Real>(level: SimdLevel, values: &mut [E], sigmoid: Sigmoid) {
    values.par_chunks_mut(BLOCK).for_each(|block| bias_sigmoid(level, block, None, sigmoid));
}

struct Delta<'a, E> {
    outputs: &'a [E],
    gradient: &'a mut [E],
    steepness: E,
}

impl<E: Real> Loop for Delta<'_, E> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let steepness = self.steepness;
        for (g, &y) in self.gradient.iter_mut().zip(self.outputs) {
            *g = *g * (y * (E::ONE - y) * steepness);
        }
    }
}

/// Replaces every element g of `gradient` by ±σ·y·(1 − y)·g.
pub(crate) fn delta<E: Real>(level: SimdLevel, outputs: &[E], gradient: &mut [E], sigmoid: Sigmoid) {
    let steepness = E::from_f64(sigmoid.steepness());
    gradient.par_chunks_mut(BLOCK).zip(outputs.par_chunks(BLOCK)).for_each(|(gradient, outputs)| {
        level.run(Delta { outputs, gradient, steepness });
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{parity::reference, types::Sign};
    use firebox_backends::cpu::gain;

    #[test]
    fn simd_speeds_up_sigmoids() {
        let mut x = vec![0.3f32; 1 << 16];
        let gain = gain(|level| sigmoid(level, &mut x, Sigmoid::default()));
        println!("{gain:?}");
        assert!(gain.is_none_or(|gain| gain > 1.5), "{gain:?}");
    }

    fn check<E: Real>() {
        let of = Sigmoid { location: 0.25, slope: 0.75, sign: Sign::Literal };
        let x: Vec<E> = (-4000..4000).map(|i| E::from_f64(f64::from(i) / 17.0)).collect();
        for level in SimdLevel::all() {
            let mut y = x.clone();
            sigmoid(level, &mut y, of);
            for (&x, &y) in x.iter().zip(&y) {
                let expected = reference::sigmoid(x.into(), of);
                let t = ((x.into() - of.location) * of.slope).abs();
                // Rounding of a sum, a product, the power and its argument, a quotient.
                let allowed = expected * (6.0 + 3.0 * t) * E::EPSILON.into() + E::MIN_POSITIVE.into();
                assert!((y.into() - expected).abs() <= allowed, "{x:?}: {y:?}, not {expected:e} ({})", level.name());
            }
            let mut special = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY].map(E::from_f64);
            sigmoid(level, &mut special, Sigmoid::default());
            let special: [f64; 3] = special.map(Into::into);
            assert!(special[0].is_nan() && special[1..] == [1.0, 0.0], "{special:?}");
        }
    }

    #[test]
    fn sigmoids_are_accurate_to_a_few_ulps() {
        check::<f32>();
        check::<f64>();
    }
}
