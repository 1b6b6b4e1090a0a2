//! Dual numbers: values with derivatives, for differentiation in forward mode.

use std::{num::ParseFloatError, str::FromStr};

use super::operators::{BINARY, Number, TESTS, UNARY};

/// The value of `a` in `if(condition, a, b)` where the condition does not hold: a NaN that no computation returns.
const NOT_CHOSEN: u64 = 0x7ff8_f12e_b0c5_0001;

/// A value and its derivatives by N variables; without any, a plain number.
#[derive(Debug, Clone, Copy)]
pub(super) struct Dual<const N: usize> {
    pub(super) value: f64,
    pub(super) slopes: [f64; N],
}

impl<const N: usize> Dual<N> {
    pub(super) const fn constant(value: f64) -> Self {
        Self { value, slopes: [0.0; N] }
    }

    fn is_constant(&self) -> bool {
        self.slopes == [0.0; N]
    }

    /// A function of `self` with a value and a derivative, which is computed only if needed.
    fn chain(self, value: f64, factor: impl FnOnce() -> f64) -> Self {
        if self.is_constant() {
            return Self::constant(value);
        }
        let factor = factor();
        Self { value, slopes: self.slopes.map(|slope| product(factor, slope)) }
    }

    /// A function of both with a value and derivatives, which are computed only if needed.
    fn join(self, other: Self, value: f64, factors: impl FnOnce() -> [f64; 2]) -> Self {
        if self.is_constant() && other.is_constant() {
            return Self::constant(value);
        }
        let [a, b] = factors();
        let slope = |k: usize| product(a, self.slopes[k]) + product(b, other.slopes[k]);
        Self { value, slopes: std::array::from_fn(slope) }
    }
}

/// 0 for a variable that does not occur, even where the factor is infinite, and for a function that has no influence, such
/// as the greater argument of min, even where its slope is infinite or undefined.
fn product(factor: f64, slope: f64) -> f64 {
    if slope == 0.0 || factor == 0.0 { 0.0 } else { factor * slope }
}

impl<const N: usize> Default for Dual<N> {
    fn default() -> Self {
        Self::constant(0.0)
    }
}

impl<const N: usize> FromStr for Dual<N> {
    type Err = ParseFloatError;

    fn from_str(text: &str) -> Result<Self, ParseFloatError> {
        text.parse().map(Self::constant)
    }
}

impl<const N: usize> Number for Dual<N> {
    fn unary<const K: usize>(self) -> Self {
        self.chain((UNARY[K].value)(self.value), || (UNARY[K].slope)(self.value))
    }

    fn binary<const K: usize>(self, other: Self) -> Self {
        let (a, b) = (self.value, other.value);
        self.join(other, (BINARY[K].value)(a, b), || (BINARY[K].slopes)(a, b))
    }

    fn test<const K: usize>(self, other: Self) -> Self {
        Self::constant(f64::from(u8::from((TESTS[K].holds)(self.value, other.value))))
    }

    fn plus(self, other: Self) -> Self {
        self.join(other, self.value + other.value, || [1.0, 1.0])
    }

    fn minus(self, other: Self) -> Self {
        self.join(other, self.value - other.value, || [1.0, -1.0])
    }

    fn times(self, other: Self) -> Self {
        self.join(other, self.value * other.value, || [other.value, self.value])
    }

    fn over(self, other: Self) -> Self {
        let value = self.value / other.value;
        self.join(other, value, || [1.0 / other.value, -value / other.value])
    }

    fn power(self, other: Self) -> Self {
        let (a, b) = (self.value, other.value);
        let value = a.powf(b);
        // The limits of b·a^(b−1) and a^b·ln(a) where one factor is 0 and the other infinite.
        let by_base = || if b == 0.0 { 0.0 } else { b * a.powf(b - 1.0) };
        let by_exponent = || if value == 0.0 { 0.0 } else { value * a.ln() };
        self.join(other, value, || [by_base(), by_exponent()])
    }

    fn negative(self) -> Self {
        Self { value: -self.value, slopes: self.slopes.map(|slope| -slope) }
    }

    fn then(self, value: Self) -> Self {
        if self.value == 0.0 { Self::constant(f64::from_bits(NOT_CHOSEN)) } else { value }
    }

    fn otherwise(self, value: Self) -> Self {
        if self.value.to_bits() == NOT_CHOSEN { value } else { self }
    }
}
