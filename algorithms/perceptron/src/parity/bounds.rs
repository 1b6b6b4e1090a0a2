//! Error bounds of sums, sigmoids and softmaxes.

use burn::tensor::DType;

use super::reference;
use crate::types::{Matmul, Sigmoid};

/// Rounding of a float type.
pub(super) struct Rounding {
    /// Unit roundoff of computation.
    pub(super) u: f64,
    /// Unit roundoff of storage, 0 if equal to that of computation.
    pub(super) stored: f64,
    /// Smallest normal number, below which a device may flush to 0.
    pub(super) tiny: f64,
}

pub(super) fn rounding(dtype: DType) -> Rounding {
    let single = f64::from(f32::EPSILON) / 2.0;
    match dtype {
        DType::F64 => Rounding { u: f64::EPSILON / 2.0, stored: 0.0, tiny: f64::MIN_POSITIVE },
        DType::F16 => Rounding { u: single, stored: 2f64.powi(-11), tiny: 2f64.powi(-14) },
        DType::BF16 => Rounding { u: single, stored: 2f64.powi(-8), tiny: f64::from(f32::MIN_POSITIVE) },
        _ => Rounding { u: single, stored: 0.0, tiny: f64::from(f32::MIN_POSITIVE) },
    }
}

/// Bound on the error of y = σ(x) for an error of `in_x` in x.
///
/// The error of t = (x − μ)·σ is at most σ·(in_x + u·|x − μ|) + u·|t|, that of exp at most 3 + 2|t| ulp of 2u (the bound of
/// Vulkan). Both are relative errors of e^−t, which y inherits times y·(1 − y). The sum and the quotient (2.5 ulp on Vulkan)
/// add 7u·y, and storage its own rounding.
pub(super) fn sigmoid_error(sigmoid: Sigmoid, x: f64, in_x: f64, of: &Rounding) -> f64 {
    let Rounding { u, stored, tiny } = *of;
    let y = reference::sigmoid(x, sigmoid);
    let (d, s) = ((x - sigmoid.location).abs(), sigmoid.slope);
    let in_t = s * (in_x + 2.0 * u * d) + 2.0 * u * s * d;
    y * (1.0 - y) * (in_t.exp_m1() + (3.0 + 2.0 * s * d) * 2.0 * u) + (7.0 * u + stored) * y + tiny
}

/// The softmax of a row of logits, with bounds on the errors of its computation.
///
/// The largest logit is subtracted, which rounds by u; an exponential is wrong by at most 3 + 2|x| ulp of 2u (the bound of
/// Vulkan); their sum inherits both and rounds m times; the quotient adds 5u.
pub(super) struct Softmax {
    /// Largest logit.
    pub(super) largest: f64,
    /// Sum of e^(x − largest).
    pub(super) sum: f64,
    /// Relative error of the sum.
    pub(super) in_sum: f64,
    pub(super) probabilities: Vec<f64>,
    /// Their errors, where nothing is flushed to 0.
    pub(super) errors: Vec<f64>,
}

impl Softmax {
    pub(super) fn of(row: &[f64], u: f64, tiny: f64) -> Self {
        let largest = row.iter().fold(f64::NEG_INFINITY, |max, x| max.max(*x));
        let powers: Vec<f64> = row.iter().map(|x| (x - largest).exp()).collect();
        let relative = |x: &f64| (u * (largest - x)).exp_m1() + (3.0 + 2.0 * (largest - x)) * 2.0 * u;
        let sum: f64 = powers.iter().sum();
        let in_powers: f64 = powers.iter().zip(row).map(|(power, x)| power * relative(x) + tiny).sum();
        let in_sum = in_powers / sum + row.len() as f64 * u;
        let probabilities: Vec<f64> = powers.iter().map(|power| power / sum).collect();
        let error = |(p, x): (&f64, &f64)| 1.01 * p * (relative(x) + in_sum + 5.0 * u);
        let errors = probabilities.iter().zip(row).map(error).collect();
        Self { largest, sum, in_sum, probabilities, errors }
    }
}

/// Bound on the error of a sum of `terms` products a·b, relative to Σ|a·b|.
///
/// Each product and each sum rounds by u. Tensor cores truncate sums instead, 2u. A split has three times as many sums, but
/// truncates within 32 terms only and rounds beyond; it drops 2⁻²¹ of either factor and 2⁻²² of the product. TF32 drops
/// 2⁻¹⁰ of either factor.
pub(super) fn sum_error(dtype: DType, matmul: Matmul, terms: usize) -> f64 {
    let u = rounding(dtype).u;
    let terms = (terms + 2) as f64;
    match matmul {
        Matmul::Split => 1.25 * 2f64.powi(-20) + (6.0 * terms.min(34.0) + terms / 32.0) * u,
        Matmul::Tensor if dtype == DType::F32 => 2f64.powi(-9) * 1.01 + 2.0 * terms * u,
        Matmul::Tensor => 2.0 * terms * u,
        _ => terms * u,
    }
}

pub(super) fn magnitudes(values: &[f64]) -> Vec<f64> {
    values.iter().map(|x| x.abs()).collect()
}

/// Compares elements with bounds on their errors.
pub(super) fn near(actual: &[f64], expected: &[f64], allowed: impl Fn(usize) -> f64) -> Result<(), String> {
    if actual.len() != expected.len() {
        return Err(format!("{} values, not {}", actual.len(), expected.len()));
    }
    for (at, (&a, &b)) in actual.iter().zip(expected).enumerate() {
        let error = (a - b).abs();
        if error.is_nan() || error > allowed(at) {
            return Err(format!("[{at}]: {a:e}, not {b:e}; the error {error:e} exceeds {:e}", allowed(at)));
        }
    }
    Ok(())
}
