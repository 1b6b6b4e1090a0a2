//! Arithmetic of f32 and f64 in hot loops.

use std::ops::{Add, Mul, Neg, Sub};

use super::Isa;

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

// A loop, as `array::map` is not inlined and would be compiled for the baseline, with a call for each lane.
#[inline(always)]
fn recip_sqrts_f32<I: Isa>(mut x: [f32; 16]) -> [f32; 16] {
    match I::estimate_recip_sqrt(x) {
        // A Newton step suffices: its error ⅜e² is at most 2⁻²⁷, as e is twice the estimate's error.
        Some(y) => std::array::from_fn(|l| {
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
mod tests {
    use super::super::{Loop, SimdLevel};
    use super::*;
    use rayon::prelude::*;

    struct Exp2<'a, E>(&'a [E], &'a mut [E]);
    impl<E: Real> Loop for Exp2<'_, E> {
        type Output = ();
        #[inline(always)]
        fn run<I: Isa>(self) {
            for (&y, out) in self.0.iter().zip(self.1) {
                *out = E::exp2_negative::<I>(y);
            }
        }
    }

    fn exp2<E: Real>(level: SimdLevel, y: &[E]) -> Vec<E> {
        let mut out = vec![E::from_f64(f64::NAN); y.len()];
        level.run(Exp2(y, &mut out));
        out
    }

    /// Documented error bound of `level`, in ulp or ε.
    fn bound(level: SimdLevel) -> f64 {
        struct IsFused;
        impl Loop for IsFused {
            type Output = bool;
            #[inline(always)]
            fn run<I: Isa>(self) -> bool {
                I::FUSED
            }
        }
        if level.run(IsFused) { 1.0 } else { 1.25 }
    }

    /// Largest error in ulp over every `stride`-th f32 from −0 to −126, compared with the C library's f64 `exp2`, whose
    /// error is 2⁻²⁹ ulp of f32.
    fn worst_f32(level: SimdLevel, stride: u32) -> f64 {
        let last = (-126.0f32).to_bits();
        let chunk = 4096 * stride;
        (0x8000_0000..=last)
            .step_by(chunk as usize)
            .collect::<Vec<u32>>()
            .into_par_iter()
            .map(|first| {
                let bits = (first..=last.min(first + (chunk - 1))).step_by(stride as usize);
                let y: Vec<f32> = bits.map(f32::from_bits).collect();
                let errors = exp2(level, &y).into_iter().zip(&y).map(|(actual, &y)| {
                    let exact = f64::from(y).exp2();
                    // Ulp of the exact value's binade.
                    let ulp = exact.log2().floor().exp2() * f64::from(f32::EPSILON);
                    (f64::from(actual) - exact).abs() / ulp
                });
                errors.fold(0.0, f64::max)
            })
            .reduce(|| 0.0, f64::max)
    }

    #[test]
    fn exp2_f32_is_within_an_ulp() {
        for level in SimdLevel::all() {
            let worst = worst_f32(level, 251);
            println!("exp2 f32 {}: {worst:.4} ulp", level.name());
            assert!(worst <= bound(level), "{}: {worst} ulp", level.name());
        }
    }

    #[test]
    #[ignore = "every f32 from -0 to -126: half a minute"]
    fn exp2_f32_is_within_an_ulp_everywhere() {
        for level in SimdLevel::all() {
            let worst = worst_f32(level, 1);
            println!("exp2 f32 {}: {worst:.4} ulp", level.name());
            assert!(worst <= bound(level), "{}: {worst} ulp", level.name());
        }
    }

    /// 2^g for |g| ≤ ½ as a sum of two f64 with an error of 2⁻¹⁰⁰, by a Taylor series of 2^(g/1024) and ten squarings.
    fn exact(g: f64) -> (f64, f64) {
        fn mul(a: (f64, f64), b: (f64, f64)) -> (f64, f64) {
            let high = a.0 * b.0;
            let low = a.0.mul_add(b.0, -high) + (a.0 * b.1 + a.1 * b.0);
            let sum = high + low;
            (sum, low - (sum - high))
        }
        fn add(a: (f64, f64), b: (f64, f64)) -> (f64, f64) {
            let high = a.0 + b.0;
            let part = high - a.0;
            let low = (a.0 - (high - part)) + (b.0 - part) + a.1 + b.1;
            let sum = high + low;
            (sum, low - (sum - high))
        }
        // ln 2 as a sum of two f64.
        let x = mul((g / 1024.0, 0.0), (std::f64::consts::LN_2, 2.319_046_813_846_299_6e-17));
        // With s = e^x − 1, squaring is (1 + s)² − 1 = 2s + s², which keeps the low part of s.
        let (mut term, mut s) = (x, x);
        for k in 2..12 {
            let inverse = 1.0 / f64::from(k);
            let rest = (-inverse).mul_add(f64::from(k), 1.0) * inverse;
            term = mul(mul(term, x), (inverse, rest));
            s = add(s, term);
        }
        for _ in 0..10 {
            s = add((2.0 * s.0, 2.0 * s.1), mul(s, s));
        }
        add((1.0, 0.0), s)
    }

    #[test]
    fn exp2_f64_is_within_an_ulp() {
        // Dense in [−1, 0], then the whole range, then all neighbours of integers and half-integers.
        let dense = (0..1_000_000).map(|i| -f64::from(i) / 999_999.0);
        let wide = (0..1_000_000).map(|i| -f64::from(i) * 1022.0 / 999_999.0);
        let near = (0..1022 * 2).flat_map(|h| {
            let bits = (-f64::from(h) / 2.0).to_bits();
            (0..40).map(move |i| f64::from_bits(if h == 0 { bits + i } else { bits + i - 20 }))
        });
        let y: Vec<f64> = dense.chain(wide).chain(near).collect();
        for level in SimdLevel::all() {
            let mut worst = 0.0f64;
            for (&actual, &y) in exp2(level, &y).iter().zip(&y) {
                let whole = y.round_ties_even();
                let (high, low) = exact(y - whole);
                let scaled = actual * (-whole / 2.0).floor().exp2() * (-whole / 2.0).ceil().exp2();
                let ulp = if high < 1.0 || high == 1.0 && low < 0.0 { f64::EPSILON / 2.0 } else { f64::EPSILON };
                worst = worst.max(((scaled - high) - low).abs() / ulp);
            }
            println!("exp2 f64 {}: {worst:.4} ulp", level.name());
            assert!(worst <= bound(level), "{}: {worst} ulp", level.name());
        }
    }

    struct Inverses<'a, E>(&'a [E], &'a mut [[E; 2]]);
    impl<E: Real> Loop for Inverses<'_, E> {
        type Output = ();
        #[inline(always)]
        fn run<I: Isa>(self) {
            for (&x, out) in self.0.iter().zip(self.1) {
                *out = [x.recip::<I>(), x.recip_sqrt::<I>()];
            }
        }
    }

    /// Largest relative errors of 1/x and 1/√x in units of ε, compared with f64.
    fn worst_inverses<E: Real>(level: SimdLevel, x: &[E]) -> [f64; 2] {
        let mut out = vec![[E::ZERO; 2]; x.len()];
        level.run(Inverses(x, &mut out));
        x.iter().zip(&out).fold([0.0; 2], |worst, (&x, actual)| {
            let wide: f64 = x.into();
            let exact = [1.0 / wide, 1.0 / wide.sqrt()];
            std::array::from_fn(|k| {
                let actual: f64 = actual[k].into();
                f64::max(worst[k], (actual / exact[k] - 1.0).abs() / E::EPSILON.into())
            })
        })
    }

    #[test]
    fn inverses_are_within_epsilon() {
        // Every mantissa at an even and an odd exponent, on which the root depends, then every exponent.
        let dense: Vec<f32> = (0x3F80_0000..0x4080_0000u32).map(f32::from_bits).collect();
        let wide: Vec<f32> =
            (1..253u32).flat_map(|e| (0..999).map(move |k| f32::from_bits((e << 23) | (k * 8397)))).collect();
        let doubles: Vec<f64> = wide.iter().map(|&x| f64::from(x) * 1.1).collect();
        for level in SimdLevel::all() {
            for worst in [worst_inverses(level, &dense), worst_inverses(level, &wide), worst_inverses(level, &doubles)]
            {
                println!("1/x, 1/√x {}: {worst:.3?} ε", level.name());
                assert!(worst.into_iter().all(|worst| worst <= bound(level)), "{}: {worst:?} ε", level.name());
            }
        }
    }

    #[test]
    fn exp2_is_exact_at_integers_and_zero_below_normal_numbers() {
        fn check<E: Real>(lowest: E, below: E) {
            let far = E::from_f64(-1e30);
            let y = [E::ZERO, -E::ZERO, -E::ONE, lowest, below, far, E::from_f64(f64::NEG_INFINITY)];
            let half = E::from_f64(0.5);
            let expected = [E::ONE, E::ONE, half, E::MIN_POSITIVE, E::ZERO, E::ZERO, E::ZERO];
            for level in SimdLevel::all() {
                assert_eq!(exp2(level, &y).as_slice(), expected, "{}", level.name());
                assert_eq!(exp2(level, &[E::from_f64(f64::NAN)]), [E::ZERO]);
            }
        }
        check(-126.0f32, (-126.0f32).next_down());
        check(-1022.0f64, (-1022.0f64).next_down());
    }
}
