//! Detection of expressions that are affine in some of their variables, by their form.

use std::{num::ParseFloatError, str::FromStr};

use super::operators::{BINARY, Number, TESTS, UNARY};
use crate::types::MAX_DIMS;

/// Maximum number of arguments of an equation: the number of derivatives of u of at most second order in [`MAX_DIMS`]
/// dimensions.
pub(super) const MAX_ARGUMENTS: usize = 1 + MAX_DIMS + MAX_DIMS * (MAX_DIMS + 1) / 2;

/// A coefficient or offset.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Part {
    Constant(f64),
    /// A function of the coordinates.
    Varying,
}

impl Part {
    fn with(self, other: Self, apply: impl Fn(f64, f64) -> f64) -> Self {
        match (self, other) {
            (Self::Constant(a), Self::Constant(b)) => Self::Constant(apply(a, b)),
            _ => Self::Varying,
        }
    }

    fn is_zero(self) -> bool {
        self == Self::Constant(0.0)
    }
}

/// Branch that an `if` selects.
#[derive(Debug, Clone, Copy)]
enum Choice {
    First,
    Second,
    Either,
}

/// An affine function of some variables, the arguments, whose coefficients and offset are functions of the others; or a
/// function that is not affine.
#[derive(Debug, Clone, Copy)]
pub(super) struct Affine {
    pub(super) is_affine: bool,
    pub(super) offset: Part,
    pub(super) coefficients: [Part; MAX_ARGUMENTS],
    /// Branch selected by the `if` whose first value this is.
    choice: Choice,
}

impl Affine {
    const fn of(offset: Part) -> Self {
        let coefficients = [Part::Constant(0.0); MAX_ARGUMENTS];
        Self { is_affine: true, offset, coefficients, choice: Choice::Either }
    }

    /// A function that is not affine.
    const NONE: Self = Self { is_affine: false, ..Self::of(Part::Varying) };

    /// A variable that is no argument.
    pub(super) const VARIABLE: Self = Self::of(Part::Varying);

    /// Argument number k.
    pub(super) fn argument(k: usize) -> Self {
        let mut argument = Self::of(Part::Constant(0.0));
        argument.coefficients[k] = Part::Constant(1.0);
        argument
    }

    /// Returns `true` if no argument occurs.
    fn is_free(&self) -> bool {
        self.is_affine && self.coefficients.iter().all(|part| part.is_zero())
    }

    /// A function of both that is affine only if neither contains an argument.
    fn apply(self, other: Self, function: impl Fn(f64, f64) -> f64) -> Self {
        if self.is_free() && other.is_free() { Self::of(self.offset.with(other.offset, function)) } else { Self::NONE }
    }

    /// A linear function of both.
    fn join(self, other: Self, function: impl Fn(f64, f64) -> f64 + Copy) -> Self {
        if !self.is_affine || !other.is_affine {
            return Self::NONE;
        }
        let coefficient = |k: usize| match (self.coefficients[k], other.coefficients[k]) {
            (a, b) if a.is_zero() && b.is_zero() => a,
            (a, b) => a.with(b, function),
        };
        Self { coefficients: std::array::from_fn(coefficient), ..Self::of(self.offset.with(other.offset, function)) }
    }

    /// A function that is linear in `self`, with a factor without arguments.
    fn scale(self, factor: Self, function: impl Fn(f64, f64) -> f64 + Copy) -> Self {
        if !self.is_affine || !factor.is_free() {
            return Self::NONE;
        }
        let scaled = |part: Part| if part.is_zero() { part } else { part.with(factor.offset, function) };
        let offset = self.offset.with(factor.offset, function);
        Self { coefficients: self.coefficients.map(scaled), ..Self::of(offset) }
    }
}

impl Default for Affine {
    fn default() -> Self {
        Self::of(Part::Constant(0.0))
    }
}

impl FromStr for Affine {
    type Err = ParseFloatError;

    fn from_str(text: &str) -> Result<Self, ParseFloatError> {
        text.parse().map(|value| Self::of(Part::Constant(value)))
    }
}

impl Number for Affine {
    fn unary<const K: usize>(self) -> Self {
        self.apply(self, |a, _| (UNARY[K].value)(a))
    }

    fn binary<const K: usize>(self, other: Self) -> Self {
        self.apply(other, BINARY[K].value)
    }

    fn test<const K: usize>(self, other: Self) -> Self {
        self.apply(other, |a, b| f64::from(u8::from((TESTS[K].holds)(a, b))))
    }

    fn plus(self, other: Self) -> Self {
        self.join(other, |a, b| a + b)
    }

    fn minus(self, other: Self) -> Self {
        self.join(other, |a, b| a - b)
    }

    fn times(self, other: Self) -> Self {
        let (value, factor) = if other.is_free() { (self, other) } else { (other, self) };
        value.scale(factor, |a, b| a * b)
    }

    fn over(self, other: Self) -> Self {
        self.scale(other, |a, b| a / b)
    }

    fn power(self, other: Self) -> Self {
        match other.offset {
            Part::Constant(1.0) if self.is_affine && other.is_free() => self,
            Part::Constant(0.0) if self.is_affine && other.is_free() => Self::of(Part::Constant(1.0)),
            _ => self.apply(other, f64::powf),
        }
    }

    fn negative(self) -> Self {
        self.scale(Self::default(), |a, _| -a)
    }

    fn then(self, value: Self) -> Self {
        let choice = match self.offset {
            _ if !self.is_free() => return Self::NONE,
            Part::Constant(0.0) => Choice::Second,
            Part::Constant(_) => Choice::First,
            Part::Varying => Choice::Either,
        };
        Self { choice, ..value }
    }

    fn otherwise(self, value: Self) -> Self {
        match self.choice {
            Choice::First => self,
            Choice::Second => value,
            Choice::Either if self.is_affine && value.is_affine => {
                let merged = |a: Part, b: Part| if a == b { a } else { Part::Varying };
                let coefficient = |k: usize| merged(self.coefficients[k], value.coefficients[k]);
                let offset = merged(self.offset, value.offset);
                Self { coefficients: std::array::from_fn(coefficient), ..Self::of(offset) }
            }
            Choice::Either => Self::NONE,
        }
    }
}
