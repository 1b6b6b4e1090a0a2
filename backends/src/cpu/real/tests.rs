//! Error bounds of the arithmetic, at every level of this machine.

use rayon::prelude::*;

use super::*;
use crate::cpu::{Loop, SimdLevel};

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

fn check_f32(stride: u32) {
    for level in SimdLevel::all() {
        let worst = worst_f32(level, stride);
        println!("exp2 f32 {}: {worst:.4} ulp", level.name());
        assert!(worst <= bound(level), "{}: {worst} ulp", level.name());
    }
}

#[test]
fn exp2_f32_is_within_an_ulp() {
    check_f32(251);
}

#[test]
#[ignore = "every f32 from -0 to -126: half a minute"]
fn exp2_f32_is_within_an_ulp_everywhere() {
    check_f32(1);
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
        for worst in [worst_inverses(level, &dense), worst_inverses(level, &wide), worst_inverses(level, &doubles)] {
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
