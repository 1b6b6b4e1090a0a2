//! Arithmetic of f32 and f64 in hot loops.

use std::ops::{Add, Mul, Neg, Sub};

use super::{Isa, array::array};

/// f32 or f64, with arithmetic that vectorises.
pub trait Real:
    Copy
    + Default
    + PartialOrd
    + Send
    + Sync
    + Into<f64>
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Neg<Output = Self>
    + std::fmt::Debug
    + 'static
{
    /// 0.
    const ZERO: Self;
    /// 1.
    const ONE: Self;
    /// The smallest positive normal number.
    const MIN_POSITIVE: Self;
    /// Distance from 1 to the next number.
    const EPSILON: Self;

    /// Rounds to the nearest number of this type.
    fn from_f64(value: f64) -> Self;

    /// |self|.
    fn abs(self) -> Self;

    /// √self.
    fn sqrt(self) -> Self;

    /// self^power, from the C library.
    fn powf(self, power: Self) -> Self;

    /// 1/self for a normal number whose inverse is normal, with a relative error of at most ε (1.25 ε if multiply–adds
    /// round twice); unspecified for others. In f32 by multiplications, in a third of a vector division's time.
    fn recip<I: Isa>(self) -> Self;

    /// 1/√self for a positive normal number, with a relative error of at most ε (1.25 ε if multiply–adds round twice);
    /// unspecified for others. In f32 by multiplications.
    fn recip_sqrt<I: Isa>(self) -> Self;

    /// [`recip_sqrt`](Self::recip_sqrt) of 16 numbers, with the same error bound.
    fn recip_sqrts<I: Isa>(x: [Self; 16]) -> [Self; 16];

    /// a·b + c, rounded once if [`Isa::FUSED`], twice otherwise.
    fn fma<I: Isa>(a: Self, b: Self, c: Self) -> Self;

    /// 2^y for y ≤ 0, within 1 ulp (1.25 ulp if multiply–adds round twice) and exact for integer y. Results below
    /// [`MIN_POSITIVE`](Self::MIN_POSITIVE) are 0, since backends differ in denormals, as are those of −∞ and NaN.
    ///
    /// y = k + g with integer k and |g| ≤ ½; 2^g is a minimax polynomial (Remez; relative error 2⁻²⁹ in f32, 2⁻⁵⁸ in
    /// f64), to whose exponent k is added.
    fn exp2_negative<I: Isa>(y: Self) -> Self;
}

macro_rules! real {
    ($float:ident, $recip:ident, $recip_sqrt:ident, $recip_sqrts:ident, $polynomial:expr) => {
        impl Real for $float {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            const MIN_POSITIVE: Self = $float::MIN_POSITIVE;
            const EPSILON: Self = $float::EPSILON;

            #[inline(always)]
            fn from_f64(value: f64) -> Self {
                value as $float
            }

            #[inline(always)]
            fn abs(self) -> Self {
                $float::abs(self)
            }

            #[inline(always)]
            fn sqrt(self) -> Self {
                $float::sqrt(self)
            }

            #[inline(always)]
            fn powf(self, power: Self) -> Self {
                $float::powf(self, power)
            }

            #[inline(always)]
            fn recip<I: Isa>(self) -> Self {
                $recip::<I>(self)
            }

            #[inline(always)]
            fn recip_sqrt<I: Isa>(self) -> Self {
                $recip_sqrt::<I>(self)
            }

            #[inline(always)]
            fn recip_sqrts<I: Isa>(x: [Self; 16]) -> [Self; 16] {
                $recip_sqrts::<I>(x)
            }

            #[inline(always)]
            fn fma<I: Isa>(a: Self, b: Self, c: Self) -> Self {
                if I::FUSED { a.mul_add(b, c) } else { a * b + c }
            }

            #[inline(always)]
            fn exp2_negative<I: Isa>(y: Self) -> Self {
                const DIGITS: u32 = $float::MANTISSA_DIGITS - 1;
                // Adding 1.5·2^DIGITS rounds to an integer, which is then in the lowest bits.
                const ROUND: $float = 1.5 * (1u64 << DIGITS) as $float;
                const LOWEST: $float = ($float::MIN_EXP - 1) as $float;
                const POLYNOMIAL: &[$float] = &$polynomial;
                let shifted = y + ROUND;
                let g = y - (shifted - ROUND);
                let mut p = POLYNOMIAL[0];
                let mut k = 1;
                while k < POLYNOMIAL.len() {
                    p = Self::fma::<I>(p, g, POLYNOMIAL[k]);
                    k += 1;
                }
                let exponent = shifted.to_bits() << DIGITS;
                let power = $float::from_bits(p.to_bits().wrapping_add(exponent));
                if y >= LOWEST { power } else { 0.0 }
            }
        }
    };
}

/// 1/x from an initial guess by the exponent, with a relative error of at most 12 %, by two steps of y(1 + e + e²) with
/// e = 1 − x·y, whose error is e³.
#[inline(always)]
fn recip_f32<I: Isa>(x: f32) -> f32 {
    let mut y = f32::from_bits(0x7EF3_11C7u32.wrapping_sub(x.to_bits()));
    for _ in 0..2 {
        let e = f32::fma::<I>(-x, y, 1.0);
        y = f32::fma::<I>(y, f32::fma::<I>(e, e, e), y);
    }
    y
}

/// 1/√x from an initial guess by the exponent and a Newton step with jointly optimised constants (Kadlec 2010; relative
/// error at most 6.5·10⁻⁴), then one step of [`refine_recip_sqrt`].
#[inline(always)]
fn recip_sqrt_f32<I: Isa>(x: f32) -> f32 {
    let y = f32::from_bits(0x5F1F_FFF9u32.wrapping_sub(x.to_bits() >> 1));
    let y = 0.703_952_25 * y * f32::fma::<I>(-(x * y), y, 2.389_244_6);
    refine_recip_sqrt::<I>(x, y)
}

/// y(1 + e/2 + 3e²/8) with e = 1 − x·y², whose error is 5e³/16.
#[inline(always)]
fn refine_recip_sqrt<I: Isa>(x: f32, y: f32) -> f32 {
    let e = f32::fma::<I>(-(x * y), y, 1.0);
    f32::fma::<I>(y * e, f32::fma::<I>(e, 0.375, 0.5), y)
}

#[inline(always)]
fn recip_sqrts_f32<I: Isa>(mut x: [f32; 16]) -> [f32; 16] {
    match I::estimate_recip_sqrt(x) {
        // A Newton step suffices: its error ⅜e² is at most 2⁻²⁷, as e is twice the estimate's error.
        Some(y) => array(|l| {
            let e = f32::fma::<I>(-(x[l] * y[l]), y[l], 1.0);
            f32::fma::<I>(0.5 * y[l], e, y[l])
        }),
        None => {
            for x in &mut x {
                *x = recip_sqrt_f32::<I>(*x);
            }
            x
        }
    }
}

// f64 would need twice the multiplications on half the lanes, so that the division and root instructions are as fast.
#[inline(always)]
#[allow(clippy::extra_unused_type_parameters)] // Same signature as the f32 function, for the macro.
fn recip_f64<I: Isa>(x: f64) -> f64 {
    1.0 / x
}

#[inline(always)]
#[allow(clippy::extra_unused_type_parameters)] // Same signature as the f32 function, for the macro.
fn recip_sqrt_f64<I: Isa>(x: f64) -> f64 {
    1.0 / x.sqrt()
}

#[inline(always)]
fn recip_sqrts_f64<I: Isa>(mut x: [f64; 16]) -> [f64; 16] {
    for x in &mut x {
        *x = recip_sqrt_f64::<I>(*x);
    }
    x
}

real!(
    f32,
    recip_f32,
    recip_sqrt_f32,
    recip_sqrts_f32,
    [0.000153458, 0.0013399931, 0.009618489, 0.055503286, 0.24022646, std::f32::consts::LN_2, 1.0,]
);
real!(
    f64,
    recip_f64,
    recip_sqrt_f64,
    recip_sqrts_f64,
    [
        4.43528065055777e-10,
        7.074105657504111e-09,
        1.017819803704857e-07,
        1.3215433089502847e-06,
        1.5252733489946245e-05,
        0.00015403530462514494,
        0.0013333558146789973,
        0.009618129107588335,
        0.055504108664819925,
        0.24022650695910155,
        std::f64::consts::LN_2,
        1.0,
    ]
);

#[cfg(test)]
mod tests;
