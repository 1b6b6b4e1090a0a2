//! Lφ and its derivatives for one condition and one neuron, specialised at compile time by form.

use firebox_backends::cpu::{Block, Isa, Real};

use crate::types::{self, Term};

/// The specialised forms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Δu.
    Laplacian,
    /// u.
    Value,
    /// α·Δu + β·∇u + γ·u with coefficients per condition.
    General,
}

impl Kind {
    pub fn of(form: types::Form) -> Self {
        match form {
            types::Form { laplacian: Term::One, gradient: false, value: Term::Zero } => Self::Laplacian,
            types::Form { laplacian: Term::Zero, gradient: false, value: Term::One } => Self::Value,
            _ => Self::General,
        }
    }
}

/// Runs `$body` with the [`Form`] of a [`Kind`] and the number of dimensions, 3 or otherwise 2, as a constant.
macro_rules! with_form {
    ($kind:expr, $d:expr, $F:ident, $D:ident => $body:expr) => {{
        use $crate::ops::ndarray::form::{General, Kind, Laplacian, Value};
        macro_rules! body {
            ($form:ident, $dims:literal) => {{
                type $F = $form;
                const $D: usize = $dims;
                $body
            }};
        }
        match ($kind, $d) {
            (Kind::Laplacian, 3) => body!(Laplacian, 3),
            (Kind::Laplacian, _) => body!(Laplacian, 2),
            (Kind::Value, 3) => body!(Value, 3),
            (Kind::Value, _) => body!(Value, 2),
            (Kind::General, 3) => body!(General, 3),
            (Kind::General, _) => body!(General, 2),
        }
    }};
}
pub(super) use with_form;

/// A condition: x, and α, β, γ in the general form.
#[derive(Debug, Clone, Copy)]
pub(super) struct Point<E, const D: usize> {
    pub x: [E; D],
    pub alpha: E,
    pub beta: [E; D],
    pub gamma: E,
}

impl<E: Real, const D: usize> Point<E, D> {
    /// Loads lane `l` of [`Points::lanes`](super::pack::Points::lanes).
    #[inline(always)]
    pub fn load<F: Form>(rows: &[Block<E>], l: usize) -> Self {
        let mut point = Self { x: [E::ZERO; D], alpha: E::ZERO, beta: [E::ZERO; D], gamma: E::ZERO };
        for (x, row) in point.x.iter_mut().zip(rows) {
            *x = row[l];
        }
        if F::GENERAL {
            point.alpha = rows[D][l];
            for k in 0..D {
                point.beta[k] = rows[D + 1 + k][l];
            }
            point.gamma = rows[2 * D + 1][l];
        }
        point
    }
}

/// Factors of a neuron, optionally times its weight.
#[derive(Debug, Clone, Copy)]
pub(super) struct Factors<E> {
    /// 4/a⁴.
    pub square: E,
    /// −2d/a².
    pub plain: E,
    /// −2/a².
    pub along: E,
    pub one: E,
}

/// A specialised form.
pub(super) trait Form: Copy + Send + Sync + 'static {
    /// α, β and γ are given per condition.
    const GENERAL: bool;

    /// Lφ/φ: α(4r²/a⁴ − 2d/a²) − 2β·(x − c)/a² + γ.
    fn inner<E: Real, I: Isa, const D: usize>(point: &Point<E, D>, r2: E, along: E, factors: Factors<E>) -> E;

    /// Factors of φ in the derivatives without [`powers`](Self::powers) of a: by c along x − c, and by a.
    fn slopes<E: Real, I: Isa, const D: usize>(point: &Point<E, D>, s: E, along: E, a2: E) -> [E; 2];

    /// Powers of a in the derivatives by c and by a.
    fn powers(a: f64) -> [f64; 2];
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Laplacian;
impl Form for Laplacian {
    const GENERAL: bool = false;

    #[inline(always)]
    fn inner<E: Real, I: Isa, const D: usize>(_: &Point<E, D>, r2: E, _: E, factors: Factors<E>) -> E {
        E::fma::<I>(factors.square, r2, factors.plain)
    }

    #[inline(always)]
    fn slopes<E: Real, I: Isa, const D: usize>(_: &Point<E, D>, s: E, _: E, _: E) -> [E; 2] {
        let (n, of) = (D as f64, E::from_f64);
        let by_centre = E::fma::<I>(of(4.0), s, of(-2.0 * n - 4.0));
        let by_width = E::fma::<I>(E::fma::<I>(of(8.0), s, of(-4.0 * n - 16.0)), s, of(4.0 * n));
        [by_centre, by_width]
    }

    fn powers(a: f64) -> [f64; 2] {
        [2.0 / (a * a * a * a), 1.0 / (a * a * a)]
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Value;
impl Form for Value {
    const GENERAL: bool = false;

    #[inline(always)]
    fn inner<E: Real, I: Isa, const D: usize>(_: &Point<E, D>, _: E, _: E, factors: Factors<E>) -> E {
        factors.one
    }

    #[inline(always)]
    fn slopes<E: Real, I: Isa, const D: usize>(_: &Point<E, D>, s: E, _: E, _: E) -> [E; 2] {
        [E::ONE, s]
    }

    fn powers(a: f64) -> [f64; 2] {
        [2.0 / (a * a), 2.0 / a]
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct General;
impl Form for General {
    const GENERAL: bool = true;

    #[inline(always)]
    fn inner<E: Real, I: Isa, const D: usize>(point: &Point<E, D>, r2: E, along: E, factors: Factors<E>) -> E {
        let curvature = E::fma::<I>(factors.square, r2, factors.plain);
        let flat = E::fma::<I>(factors.along, along, factors.one * point.gamma);
        E::fma::<I>(point.alpha, curvature, flat)
    }

    #[inline(always)]
    fn slopes<E: Real, I: Isa, const D: usize>(point: &Point<E, D>, s: E, along: E, a2: E) -> [E; 2] {
        let [c, a] = Laplacian::slopes::<E, I, D>(point, s, along, a2);
        let (two, four, gamma) = (E::from_f64(2.0), E::from_f64(4.0), point.gamma * a2);
        let by_centre = E::fma::<I>(point.alpha, c, E::fma::<I>(-two, along, gamma));
        let flat = E::fma::<I>(four * (E::ONE - s), along, two * gamma * s);
        [by_centre, E::fma::<I>(point.alpha, a, flat)]
    }

    fn powers(a: f64) -> [f64; 2] {
        Laplacian::powers(a)
    }
}

/// x − c, its square and β·(x − c).
#[inline(always)]
pub(super) fn across<E: Real, I: Isa, F: Form, const D: usize>(point: &Point<E, D>, c: [E; D]) -> ([E; D], E, E) {
    let mut delta = [E::ZERO; D];
    delta[0] = point.x[0] - c[0];
    let (mut r2, mut along) = (delta[0] * delta[0], point.beta[0] * delta[0]);
    for k in 1..D {
        delta[k] = point.x[k] - c[k];
        r2 = E::fma::<I>(delta[k], delta[k], r2);
        if F::GENERAL {
            along = E::fma::<I>(point.beta[k], delta[k], along);
        }
    }
    (delta, r2, along)
}
