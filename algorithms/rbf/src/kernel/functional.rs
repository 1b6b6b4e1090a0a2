//! One condition against one neuron: Lφ, and its derivatives by the neuron's centre and width.
//!
//! With δ = x − c, s = |δ|²/a², φ = e⁻ˢ, as in [`crate::reference`]. Kernels that call this are compiled with fast
//! mathematics, but for what leaves NaN and ∞ out of account: a training that diverges is known by them. The exponential
//! alone has that too, without which CUDA does not take f32's `__expf`, within 2 + 1.16·s units in the last place of φ,
//! which against what Lφ is at its largest stays below 4e-7; f64's is the accurate one.

#![allow(missing_docs)] // `#[cube]` writes companions that cannot be documented.

use cubecl::prelude::*;

use crate::ops::{Form, Term};

/// L, known when a kernel is compiled but for its coefficients, which lie in the order of
/// [`Rows::coefficients`](crate::ops::Rows).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Law {
    pub(super) form: Form,
    /// Dimensions of space.
    pub(super) d: u32,
}

impl Law {
    /// Coefficients a condition.
    pub(super) fn count(self) -> u32 {
        self.gamma() + u32::from(self.form.value == Term::Each)
    }

    /// Where β begins.
    pub(super) fn beta(self) -> u32 {
        u32::from(self.form.laplacian == Term::Each)
    }

    /// Where γ is.
    pub(super) fn gamma(self) -> u32 {
        self.beta() + if self.form.gradient { self.d } else { 0 }
    }

    /// Whether there is a derivative in it.
    pub(super) fn differs(self) -> bool {
        self.form.laplacian != Term::Zero || self.form.gradient
    }
}

/// A number of dimensions, times `factor`, as a float.
pub(super) fn times(d: u32, factor: u32) -> f32 {
    (d * factor) as f32
}

/// e⁻ˢ.
#[cube(fast_math = FastMath::all())]
fn gaussian<F: Float>(s: F) -> F {
    (-s).exp()
}

/// |δ|².
#[cube]
fn square<F: Float>(delta: &Array<F>, #[comptime] d: u32) -> F {
    let mut square = F::new(0.0);
    #[unroll]
    for k in 0..d {
        square += delta[k as usize] * delta[k as usize];
    }
    square
}

/// β·δ, β from the coefficients at `at`.
#[cube]
fn along<F: Float>(delta: &Array<F>, coefficients: &Array<F>, #[comptime] at: u32, #[comptime] law: Law) -> F {
    let mut along = F::new(0.0);
    #[unroll]
    for k in 0..law.d {
        along += coefficients[comptime!((at + law.beta() + k) as usize)] * delta[k as usize];
    }
    along
}

/// α·`curvature`, α from the coefficients at `at`; 0 without one.
#[cube]
fn bent<F: Float>(curvature: F, coefficients: &Array<F>, #[comptime] at: u32, #[comptime] law: Law) -> F {
    match comptime!(law.form.laplacian) {
        Term::Zero => F::new(0.0),
        Term::One => curvature,
        Term::Each => coefficients[comptime!(at as usize)] * curvature,
    }
}

/// γ·`value`.
#[cube]
fn valued<F: Float>(value: F, coefficients: &Array<F>, #[comptime] at: u32, #[comptime] law: Law) -> F {
    match comptime!(law.form.value) {
        Term::Zero => F::new(0.0),
        Term::One => value,
        Term::Each => coefficients[comptime!((at + law.gamma()) as usize)] * value,
    }
}

/// Lφ of a neuron with 1/a² `inverse` at δ: φ[(α(4s − 2d) − 2β·δ)/a² + γ]. The condition's coefficients start at `at`.
#[cube]
pub(super) fn element<F: Float>(
    delta: &Array<F>,
    inverse: F,
    coefficients: &Array<F>,
    #[comptime] at: u32,
    #[comptime] law: Law,
) -> F {
    let s = square::<F>(delta, law.d) * inverse;
    let phi = gaussian::<F>(s);
    let mut bracket = valued::<F>(F::new(1.0), coefficients, at, law);
    if comptime!(law.differs()) {
        let curvature = F::new(4.0) * s - F::new(comptime!(times(law.d, 2)));
        let mut inner = bent::<F>(curvature, coefficients, at, law);
        if comptime!(law.form.gradient) {
            inner -= F::new(2.0) * along::<F>(delta, coefficients, at, law);
        }
        bracket += inner * inverse;
    }
    phi * bracket
}

/// Adds v·∂(Lφ)/∂(c, a), but for factors of the neuron alone, to d + 1 `sums` from `to` on: by c without 2w/a², by a
/// without w/a.
#[cube]
pub(super) fn add_slopes<F: Float>(
    sums: &mut Array<F>,
    #[comptime] to: u32,
    value: F,
    delta: &Array<F>,
    inverse: F,
    coefficients: &Array<F>,
    #[comptime] at: u32,
    #[comptime] law: Law,
) {
    let d = comptime!(law.d);
    let s = square::<F>(delta, d) * inverse;
    let weight = value * gaussian::<F>(s);
    let mut by_centre = valued::<F>(F::new(1.0), coefficients, at, law);
    let mut by_width = valued::<F>(F::new(2.0) * s, coefficients, at, law);
    if comptime!(law.differs()) {
        let curvature = F::new(4.0) * s - F::new(comptime!(times(d + 2, 2)));
        let swelling = (F::new(8.0) * s - F::new(comptime!(times(d + 4, 4)))) * s + F::new(comptime!(times(d, 4)));
        let mut inner = bent::<F>(curvature, coefficients, at, law);
        let mut outer = bent::<F>(swelling, coefficients, at, law);
        if comptime!(law.form.gradient) {
            let along = along::<F>(delta, coefficients, at, law);
            inner -= F::new(2.0) * along;
            outer += (F::new(4.0) - F::new(4.0) * s) * along;
        }
        by_centre += inner * inverse;
        by_width += outer * inverse;
    }
    let pull = weight * by_centre;
    #[unroll]
    for k in 0..d {
        sums[comptime!((to + k) as usize)] += pull * delta[k as usize];
        if comptime!(law.form.gradient) {
            let beta = coefficients[comptime!((at + law.beta() + k) as usize)];
            sums[comptime!((to + k) as usize)] += weight * beta;
        }
    }
    sums[comptime!((to + d) as usize)] += weight * by_width;
}

/// A sum by a coordinate of c (`k` < d) or by a, with the factors that [`add_slopes`] leaves out but w: 2/a² or 1/a.
#[cube]
pub(super) fn slope_factor<F: Float>(inverse: F, width: F, #[comptime] k: u32, #[comptime] d: u32) -> F {
    if comptime!(k < d) { F::new(2.0) * inverse } else { F::new(1.0) / width }
}
