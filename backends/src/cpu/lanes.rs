//! Sums in lanes: the order of additions is fixed by the source, and wide enough for any vector register.

use super::{Isa, Real};

/// Partial sums that [`dot`] keeps side by side. With 32 the compiler keeps them in registers, for every instruction
/// set and both floats; with 64, or with several rows at once, it does not.
const LANES: usize = 32;

/// The sum of the lanes, by halves. Their number is a power of two.
///
/// Not inlined on purpose: the compiler would start from the last two lanes, find pairs, and go back to make the loop
/// before it two lanes wide.
#[inline(never)]
pub fn sum_lanes<E: Real, const L: usize>(lanes: &mut [E; L]) -> E {
    let mut half = L / 2;
    while half > 0 {
        let (low, high) = lanes.split_at_mut(half);
        for (a, &b) in low.iter_mut().zip(&*high) {
            *a = *a + b;
        }
        half /= 2;
    }
    lanes[0]
}

/// Σⱼ aⱼ·bⱼ over the shorter of the two.
#[inline(always)]
pub fn dot<E: Real, I: Isa>(a: &[E], b: &[E]) -> E {
    let n = a.len().min(b.len());
    let (a, rest_a) = a[..n].as_chunks::<LANES>();
    let (b, rest_b) = b[..n].as_chunks::<LANES>();
    let mut sums = [E::ZERO; LANES];
    for (a, b) in a.iter().zip(b) {
        for l in 0..LANES {
            sums[l] = E::fma::<I>(a[l], b[l], sums[l]);
        }
    }
    // A copy, since `sums` would live in memory all along if its address were taken.
    let mut total = sum_lanes(&mut { sums });
    for (&a, &b) in rest_a.iter().zip(rest_b) {
        total = E::fma::<I>(a, b, total);
    }
    total
}
