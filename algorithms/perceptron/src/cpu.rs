//! The hot loops on the CPU: sigmoids in wide vectors, products by `matrixmultiply`, blocks of rows by thread.
//!
//! Blocks are of one size whatever the threads, so that results are the same bits on any number of them.

use firebox_backends::cpu::{Isa, Level, Loop, Real};
use firebox_core::watch::Watch;
use ndarray::{ArrayView2, ArrayViewMut2, Axis, LinalgScalar, linalg::general_mat_mul};
use rayon::prelude::*;

use crate::ops::Sigmoid;

/// Numbers of a block that one thread works on.
const BLOCK: usize = 1 << 14;
/// Rows of a block of a product.
const ROWS: usize = 64;
/// Products of numbers between two questions whether to stop, some tens of milliseconds of work.
const UNINTERRUPTED: usize = 1 << 28;

/// x becomes the sigmoid of x + b. Inlined into loops over slices of equal length, which vectorise.
#[inline(always)]
#[allow(clippy::eq_op)] // Only NaN differs from itself.
fn squash<E: Real, I: Isa>(t: E) -> E {
    // exp(−|t|) = 2^(−|t|·log₂ e) cannot overflow; the sigmoid of −|t| is e/(1 + e), that of |t| is 1/(1 + e).
    let e = E::exp2_negative::<I>(-(t.abs() * E::from_f64(std::f64::consts::LOG2_E)));
    let high = (E::ONE + e).recip::<I>();
    let y = if t < E::ZERO { e * high } else { high };
    // NaN has no order, and no power either: it is handed on as it is.
    if t == t { y } else { t }
}

struct Squash<'a, E> {
    values: &'a mut [E],
    bias: Option<&'a [E]>,
    location: E,
    steepness: E,
}

impl<E: Real> Loop for Squash<'_, E> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let Self { values, bias, location, steepness } = self;
        match bias {
            None => {
                for x in values {
                    *x = squash::<E, I>((*x - location) * steepness);
                }
            }
            Some(bias) => {
                for row in values.chunks_mut(bias.len()) {
                    for (x, &b) in row.iter_mut().zip(bias) {
                        *x = squash::<E, I>((*x + b - location) * steepness);
                    }
                }
            }
        }
    }
}

/// The sigmoid of every element; with a bias, values are rows as long as that.
fn squash_block<E: Real>(level: Level, values: &mut [E], bias: Option<&[E]>, sigmoid: Sigmoid) {
    let (location, steepness) = (E::from_f64(sigmoid.location), E::from_f64(sigmoid.steepness()));
    level.run(Squash { values, bias, location, steepness });
}

/// The sigmoid of every element, in place.
pub(crate) fn sigmoid<E: Real>(level: Level, values: &mut [E], sigmoid: Sigmoid) {
    values.par_chunks_mut(BLOCK).for_each(|block| squash_block(level, block, None, sigmoid));
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

/// ±σ·y·(1 − y)·g into g.
pub(crate) fn delta<E: Real>(level: Level, outputs: &[E], gradient: &mut [E], sigmoid: Sigmoid) {
    let steepness = E::from_f64(sigmoid.steepness());
    gradient.par_chunks_mut(BLOCK).zip(outputs.par_chunks(BLOCK)).for_each(|(gradient, outputs)| {
        level.run(Delta { outputs, gradient, steepness });
    });
}

/// What follows a product, on each block of its rows while that is in the cache.
#[derive(Clone, Copy)]
pub(crate) struct Epilogue<'a, E> {
    pub bias: Option<&'a [E]>,
    pub sigmoid: Option<Sigmoid>,
}

impl<E: Real> Epilogue<'_, E> {
    fn apply(self, level: Level, rows: &mut [E]) {
        match (self.sigmoid, self.bias) {
            (Some(sigmoid), bias) => squash_block(level, rows, bias, sigmoid),
            (None, Some(bias)) => {
                for row in rows.chunks_mut(bias.len()) {
                    row.iter_mut().zip(bias).for_each(|(x, &b)| *x = *x + b);
                }
            }
            (None, None) => {}
        }
    }
}

/// A·B of A `[n, k]` and B `[k, m]`, both as they lie, with what follows it, into `out` `[n, m]`; incomplete if the
/// thread's [`Watch`] stops it.
pub(crate) fn product<E: Real + LinalgScalar>(
    level: Level,
    left: ArrayView2<'_, E>,
    right: ArrayView2<'_, E>,
    out: &mut [E],
    epilogue: Epilogue<'_, E>,
) {
    let m = right.ncols();
    if m == 0 {
        return;
    }
    let watch = Watch::current();
    out.par_chunks_mut(ROWS * m).enumerate().filter(|_| !watch.stopped()).for_each(|(block, out)| {
        let (first, rows) = (block * ROWS, out.len() / m);
        let left = left.slice(ndarray::s![first..first + rows, ..]);
        let width = (UNINTERRUPTED / (rows * left.ncols()).max(1)).max(ROWS);
        if let Ok(out) = ArrayViewMut2::from_shape((rows, m), &mut *out) {
            in_parts(left, right, out, width, &watch);
        }
        epilogue.apply(level, out);
    });
}

/// A·B, `width` columns at a time. Each column is a sum of its own, so that the parts do not change the bits.
fn in_parts<E: Real + LinalgScalar>(
    left: ArrayView2<'_, E>,
    right: ArrayView2<'_, E>,
    mut out: ArrayViewMut2<'_, E>,
    width: usize,
    watch: &Watch,
) {
    let parts = out.axis_chunks_iter_mut(Axis(1), width).zip(right.axis_chunks_iter(Axis(1), width));
    for (mut out, right) in parts.take_while(|_| !watch.stopped()) {
        general_mat_mul(E::ONE, &left, &right, E::ZERO, &mut out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ops::Sign, reference};
    use firebox_backends::cpu::gain;

    #[test]
    fn sigmoids_gain_by_their_instruction_set() {
        let mut x = vec![0.3f32; 1 << 16];
        let gain = gain(|level| sigmoid(level, &mut x, Sigmoid::default()));
        println!("{gain:?}");
        assert!(gain.is_none_or(|gain| gain > 1.5), "{gain:?}");
    }

    fn check<E: Real>() {
        let of = Sigmoid { location: 0.25, slope: 0.75, sign: Sign::Literal };
        let x: Vec<E> = (-4000..4000).map(|i| E::from_f64(f64::from(i) / 17.0)).collect();
        for level in Level::all() {
            let mut y = x.clone();
            sigmoid(level, &mut y, of);
            for (&x, &y) in x.iter().zip(&y) {
                let wanted = reference::sigmoid(x.into(), of);
                let t = ((x.into() - of.location) * of.slope).abs();
                // Of a sum, a product, the power and its argument, a quotient.
                let allowed = wanted * (6.0 + 3.0 * t) * E::EPSILON.into() + E::MIN_POSITIVE.into();
                assert!((y.into() - wanted).abs() <= allowed, "{x:?}: {y:?}, not {wanted:e} ({})", level.name());
            }
            let mut odd = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY].map(E::from_f64);
            sigmoid(level, &mut odd, Sigmoid::default());
            let odd: [f64; 3] = odd.map(Into::into);
            assert!(odd[0].is_nan() && odd[1..] == [1.0, 0.0], "{odd:?}");
        }
    }

    #[test]
    fn products_in_parts_have_the_bits_of_whole_ones() {
        let numbers = |count: usize| (0..count).map(|i| ((i * 37 % 1009) as f32 - 504.0) / 97.0).collect::<Vec<_>>();
        for (rows, inner, m) in [(64, 700, 150), (3, 1000, 129), (64, 33, 1000)] {
            let (left, right) = (numbers(rows * inner), numbers(inner * m));
            let left = ArrayView2::from_shape((rows, inner), &left).unwrap();
            let right = ArrayView2::from_shape((inner, m), &right).unwrap();
            let (mut whole, mut parts) = (ndarray::Array2::zeros((rows, m)), ndarray::Array2::zeros((rows, m)));
            general_mat_mul(1.0, &left, &right, 0.0, &mut whole);
            in_parts(left, right, parts.view_mut(), ROWS, &Watch::default());
            assert!(
                whole.iter().zip(&parts).all(|(a, b): (&f32, &f32)| a.to_bits() == b.to_bits()),
                "{rows} {inner} {m}"
            );
        }
    }

    #[test]
    fn sigmoids_are_within_some_ulps() {
        check::<f32>();
        check::<f64>();
    }
}
