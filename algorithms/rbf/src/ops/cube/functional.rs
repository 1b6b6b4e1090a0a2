//! Lφ of one condition and one neuron, and its derivatives by the neuron's centre and width.
//!
//! With δ = x − c, s = |δ|²/a², φ = e⁻ˢ, as in the reference of the parity tests. Kernels that call this are compiled
//! with fast mathematics except for the assumptions of no NaN and no ∞, which reveal a training that diverges. Only the
//! exponential has these too, as CUDA requires for f32's `__expf`: within 2 + 1.16·s ulp of φ, below 4e-7 relative to
//! the largest Lφ. f64 uses the accurate exponential.

#![allow(missing_docs)] // `#[cube]` writes companions that cannot be documented.

use cubecl::prelude::*;

use crate::types::{Form, Term};

/// The compile-time form of L; its coefficients are ordered as in [`Rows::coefficients`](crate::types::Rows).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Functional {
    pub(super) form: Form,
    /// Dimensions of space.
    pub(super) d: u32,
}

impl Functional {
    /// Number of coefficients per condition.
    pub(super) fn count(self) -> u32 {
        self.gamma() + u32::from(self.form.value == Term::Each)
    }

    /// Index of the first component of β.
    pub(super) fn beta(self) -> u32 {
        u32::from(self.form.laplacian == Term::Each)
    }

    /// Index of γ.
    pub(super) fn gamma(self) -> u32 {
        self.beta() + if self.form.gradient { self.d } else { 0 }
    }

    /// Returns `true` if L has a derivative.
    pub(super) fn has_derivative(self) -> bool {
        self.form.laplacian != Term::Zero || self.form.gradient
    }
}

/// d·`factor` as a float.
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
fn along<F: Float>(
    delta: &Array<F>,
    coefficients: &Array<F>,
    #[comptime] at: u32,
    #[comptime] functional: Functional,
) -> F {
    let mut along = F::new(0.0);
    #[unroll]
    for k in 0..functional.d {
        along += coefficients[comptime!((at + functional.beta() + k) as usize)] * delta[k as usize];
    }
    along
}

/// α·`curvature`, α from the coefficients at `at`; 0 without α.
#[cube]
fn laplacian_term<F: Float>(
    curvature: F,
    coefficients: &Array<F>,
    #[comptime] at: u32,
    #[comptime] functional: Functional,
) -> F {
    match comptime!(functional.form.laplacian) {
        Term::Zero => F::new(0.0),
        Term::One => curvature,
        Term::Each => coefficients[comptime!(at as usize)] * curvature,
    }
}

/// γ·`value`.
#[cube]
fn value_term<F: Float>(
    value: F,
    coefficients: &Array<F>,
    #[comptime] at: u32,
    #[comptime] functional: Functional,
) -> F {
    match comptime!(functional.form.value) {
        Term::Zero => F::new(0.0),
        Term::One => value,
        Term::Each => coefficients[comptime!((at + functional.gamma()) as usize)] * value,
    }
}

/// Lφ at δ for a neuron with `inverse` = 1/a²: φ[(α(4s − 2d) − 2β·δ)/a² + γ]. The condition's coefficients start at
/// `at`.
#[cube]
pub(super) fn element<F: Float>(
    delta: &Array<F>,
    inverse: F,
    coefficients: &Array<F>,
    #[comptime] at: u32,
    #[comptime] functional: Functional,
) -> F {
    let s = square::<F>(delta, functional.d) * inverse;
    let phi = gaussian::<F>(s);
    let mut bracket = value_term::<F>(F::new(1.0), coefficients, at, functional);
    if comptime!(functional.has_derivative()) {
        let curvature = F::new(4.0) * s - F::new(comptime!(times(functional.d, 2)));
        let mut inner = laplacian_term::<F>(curvature, coefficients, at, functional);
        if comptime!(functional.form.gradient) {
            inner -= F::new(2.0) * along::<F>(delta, coefficients, at, functional);
        }
        bracket += inner * inverse;
    }
    phi * bracket
}

/// Adds v·∂(Lφ)/∂(c, a) to d + 1 `sums` from `to` on, without the factors that depend on the neuron only: by c without
/// 2w/a², by a without w/a.
#[cube]
pub(super) fn add_slopes<F: Float>(
    sums: &mut Array<F>,
    #[comptime] to: u32,
    value: F,
    delta: &Array<F>,
    inverse: F,
    coefficients: &Array<F>,
    #[comptime] at: u32,
    #[comptime] functional: Functional,
) {
    let d = comptime!(functional.d);
    let s = square::<F>(delta, d) * inverse;
    let weight = value * gaussian::<F>(s);
    let mut by_centre = value_term::<F>(F::new(1.0), coefficients, at, functional);
    let mut by_width = value_term::<F>(F::new(2.0) * s, coefficients, at, functional);
    if comptime!(functional.has_derivative()) {
        let curvature = F::new(4.0) * s - F::new(comptime!(times(d + 2, 2)));
        let swelling = (F::new(8.0) * s - F::new(comptime!(times(d + 4, 4)))) * s + F::new(comptime!(times(d, 4)));
        let mut inner = laplacian_term::<F>(curvature, coefficients, at, functional);
        let mut outer = laplacian_term::<F>(swelling, coefficients, at, functional);
        if comptime!(functional.form.gradient) {
            let along = along::<F>(delta, coefficients, at, functional);
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
        if comptime!(functional.form.gradient) {
            let beta = coefficients[comptime!((at + functional.beta() + k) as usize)];
            sums[comptime!((to + k) as usize)] += weight * beta;
        }
    }
    sums[comptime!((to + d) as usize)] += weight * by_width;
}

/// The factor, without w, that [`add_slopes()`] omits: 2/a² for a coordinate of c (`k` < d), 1/a for a.
#[cube]
pub(super) fn slope_factor<F: Float>(inverse: F, width: F, #[comptime] k: u32, #[comptime] d: u32) -> F {
    if comptime!(k < d) { F::new(2.0) * inverse } else { F::new(1.0) / width }
}
