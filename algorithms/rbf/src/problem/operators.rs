//! Operators and functions of expressions, for every kind of number with which these are evaluated.

use std::{f64::consts, fmt::Debug, num::ParseFloatError, str::FromStr};

use exmex::{BinOp, MakeOperators, Operator};

/// A function of one argument, and its derivative.
pub(super) struct Unary {
    pub(super) name: &'static str,
    pub(super) value: fn(f64) -> f64,
    pub(super) slope: fn(f64) -> f64,
}

/// A function of two arguments, and its derivative by each.
pub(super) struct Binary {
    pub(super) name: &'static str,
    pub(super) value: fn(f64, f64) -> f64,
    pub(super) slopes: fn(f64, f64) -> [f64; 2],
}

/// A comparison, or a combination of two; it has the value 1 where it holds and 0 elsewhere.
pub(super) struct Test {
    name: &'static str,
    priority: i64,
    pub(super) holds: fn(f64, f64) -> bool,
}

const fn unary(name: &'static str, value: fn(f64) -> f64, slope: fn(f64) -> f64) -> Unary {
    Unary { name, value, slope }
}

const fn binary(name: &'static str, value: fn(f64, f64) -> f64, slopes: fn(f64, f64) -> [f64; 2]) -> Binary {
    Binary { name, value, slopes }
}

const fn test(name: &'static str, priority: i64, holds: fn(f64, f64) -> bool) -> Test {
    Test { name, priority, holds }
}

/// Unary functions. Derivatives at kinks are one-sided.
pub(super) const UNARY: [Unary; 18] = [
    unary("sin", f64::sin, f64::cos),
    unary("cos", f64::cos, |a| -a.sin()),
    unary("tan", f64::tan, |a| 1.0 + a.tan().powi(2)),
    unary("asin", f64::asin, |a| 1.0 / ((1.0 - a) * (1.0 + a)).sqrt()),
    unary("acos", f64::acos, |a| -1.0 / ((1.0 - a) * (1.0 + a)).sqrt()),
    unary("atan", f64::atan, |a| 1.0 / (1.0 + a * a)),
    unary("sinh", f64::sinh, f64::cosh),
    unary("cosh", f64::cosh, f64::sinh),
    unary("tanh", f64::tanh, |a| a.cosh().powi(-2)),
    unary("exp", f64::exp, f64::exp),
    unary("ln", f64::ln, reciprocal),
    unary("log", f64::ln, reciprocal),
    unary("log2", f64::log2, |a| reciprocal(a) / consts::LN_2),
    unary("log10", f64::log10, |a| reciprocal(a) / consts::LN_10),
    unary("sqrt", f64::sqrt, |a| 0.5 / a.sqrt()),
    unary("cbrt", f64::cbrt, |a| a.cbrt().powi(-2) / 3.0),
    unary("abs", f64::abs, f64::signum),
    unary("sign", |a| if a == 0.0 { 0.0 } else { a.signum() }, |_| 0.0),
];

/// The derivative of ln, which has no value for negative numbers.
fn reciprocal(a: f64) -> f64 {
    if a < 0.0 { f64::NAN } else { 1.0 / a }
}

/// Binary functions.
pub(super) const BINARY: [Binary; 4] = [
    binary("atan2", f64::atan2, |a, b| {
        let r = a.hypot(b);
        [b / r / r, -a / r / r]
    }),
    binary("min", f64::min, |a, b| if a < b || b.is_nan() { [1.0, 0.0] } else { [0.0, 1.0] }),
    binary("max", f64::max, |a, b| if a > b || b.is_nan() { [1.0, 0.0] } else { [0.0, 1.0] }),
    binary("hypot", f64::hypot, |a, b| match a.hypot(b) {
        0.0 => [1.0; 2],
        r => [a / r, b / r],
    }),
];

/// Operators of conditions.
pub(super) const TESTS: [Test; 6] = [
    test("or", -3, |a, b| a != 0.0 || b != 0.0),
    test("and", -2, |a, b| a != 0.0 && b != 0.0),
    test("<", -1, |a, b| a < b),
    test("<=", -1, |a, b| a <= b),
    test(">", -1, |a, b| a > b),
    test(">=", -1, |a, b| a >= b),
];

/// A kind of number with which expressions are evaluated.
pub(super) trait Number: Copy + Debug + Default + FromStr<Err = ParseFloatError> {
    /// The function `UNARY[K]`.
    fn unary<const K: usize>(self) -> Self;
    /// The function `BINARY[K]`.
    fn binary<const K: usize>(self, other: Self) -> Self;
    /// The operator `TESTS[K]`.
    fn test<const K: usize>(self, other: Self) -> Self;
    fn plus(self, other: Self) -> Self;
    fn minus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
    fn over(self, other: Self) -> Self;
    fn power(self, other: Self) -> Self;
    fn negative(self) -> Self;
    /// `value` if the condition `self` holds, otherwise a mark for [`otherwise`](Self::otherwise).
    fn then(self, value: Self) -> Self;
    /// The result of [`then`](Self::then) if its condition holds, otherwise `value`.
    fn otherwise(self, value: Self) -> Self;
}

/// Operators for the parser.
#[derive(Clone, Debug)]
pub(super) struct Operators;

/// Function pointers of a method of `Number` for each index of its table.
macro_rules! pointers {
    ($method:ident: $($index:literal)*) => { [$(T::$method::<$index>),*] };
}

impl<T: Number> MakeOperators<T> for Operators {
    fn make<'a>() -> Vec<Operator<'a, T>> {
        let functions: [fn(T) -> T; UNARY.len()] = pointers!(unary: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17);
        let pairs: [fn(T, T) -> T; BINARY.len()] = pointers!(binary: 0 1 2 3);
        let tests: [fn(T, T) -> T; TESTS.len()] = pointers!(test: 0 1 2 3 4 5);
        let infix = |repr, prio, apply| Operator::make_bin(repr, BinOp { apply, prio, is_commutative: false });
        let mut all = vec![
            infix("then", 4, T::then),
            infix("else", 4, T::otherwise),
            infix("+", 0, T::plus),
            infix("-", 0, T::minus),
            infix("*", 1, T::times),
            infix("/", 1, T::over),
            // `0 ~ b` is −b, binding weaker than a power, as mathematics writes −x².
            infix("~", 2, |_, b| b.negative()),
            infix("^", 3, T::power),
            Operator::make_unary("neg", T::negative),
        ];
        all.extend(TESTS.iter().zip(tests).map(|(it, apply)| infix(it.name, it.priority, apply)));
        all.extend(BINARY.iter().zip(pairs).map(|(it, apply)| infix(it.name, 4, apply)));
        all.extend(UNARY.iter().zip(functions).map(|(it, apply)| Operator::make_unary(it.name, apply)));
        all
    }
}
