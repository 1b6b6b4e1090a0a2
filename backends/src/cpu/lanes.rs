//! Sums in lanes: the source fixes the order of additions, with enough lanes for any vector register.

use super::{Isa, Real};

/// Number of partial sums in [`dot`]. The compiler keeps 32 in registers for every instruction set and both float
/// types; it spills 64, or several rows at once, to memory.
const LANES: usize = 32;

/// Sums the lanes pairwise by halves; `L` must be a power of two.
///
/// Not inlined: the compiler would vectorise from the last two lanes backwards, and narrow the caller's loop to two
/// lanes.
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

/// Dot product Σⱼ aⱼ·bⱼ over the length of the shorter slice.
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
    // A copy: if the address of `sums` were taken, it would be kept in memory during the loop.
    let mut total = sum_lanes(&mut { sums });
    for (&a, &b) in rest_a.iter().zip(rest_b) {
        total = E::fma::<I>(a, b, total);
    }
    total
}
