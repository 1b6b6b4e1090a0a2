//! Serialization of the optimization methods: scalars for the header, arrays as tensors.

use firebox_core::{
    Result,
    checkpoint::{MAX_COUNT, Tensors, number, require},
};
use serde::{Deserialize, Serialize};

use crate::{
    config::{Solver, Step},
    solve::{
        descent::{Descent, Rate},
        lbfgs::{Lbfgs, PAIRS, Pair},
    },
};

/// Scalar part of the state of L-BFGS.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LbfgsScalars {
    #[serde(with = "number")]
    value: f64,
    pairs: usize,
    evaluations: usize,
}

/// Puts vectors of m × n numbers into a state's tensors; returns the scalars.
pub(super) fn save_lbfgs(lbfgs: &Lbfgs, [m, n]: [usize; 2], tensors: &mut Tensors) -> LbfgsScalars {
    let pairs = lbfgs.pairs.len();
    let of = |vector: fn(&Pair) -> &Vec<f64>| lbfgs.pairs.iter().flat_map(vector).copied().collect::<Vec<f64>>();
    tensors.put("x", &[m, n], &lbfgs.x[..]);
    tensors.put("gradient", &[m, n], &lbfgs.gradient[..]);
    tensors.put("pairs.step", &[pairs, m, n], of(|pair| &pair.step));
    tensors.put("pairs.change", &[pairs, m, n], of(|pair| &pair.change));
    LbfgsScalars { value: lbfgs.value, pairs, evaluations: lbfgs.evaluations }
}

/// Reads the state written by [`save_lbfgs`].
///
/// # Errors
/// If it is not a state of L-BFGS over m × n numbers.
pub(super) fn restore_lbfgs(scalars: &LbfgsScalars, [m, n]: [usize; 2], tensors: &mut Tensors) -> Result<Lbfgs> {
    let &LbfgsScalars { value, pairs, evaluations } = scalars;
    require(pairs <= PAIRS && evaluations <= MAX_COUNT, "a count of the minimization is too large")?;
    require(value.is_finite(), "the minimized value is not finite")?;
    let [steps, changes] = ["pairs.step", "pairs.change"].map(|name| tensors.take(name, &[pairs, m, n]));
    let (steps, changes) = (steps?, changes?);
    let size = (m * n).max(1);
    let both = steps.chunks(size).zip(changes.chunks(size));
    let pairs = both.map(|(step, change)| Pair { step: step.to_vec(), change: change.to_vec() }).collect();
    let (x, gradient) = (tensors.take("x", &[m, n])?, tensors.take("gradient", &[m, n])?);
    Ok(Lbfgs { x, gradient, value, pairs, evaluations })
}

/// Scalar part of the state of a descent.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DescentScalars {
    rate: Rate,
    #[serde(with = "number")]
    least: f64,
    #[serde(with = "number")]
    last: f64,
    evaluations: usize,
}

/// Puts embeddings `[m, n]` into a state's tensors; returns the scalars.
pub(super) fn save_descent(descent: &Descent, shape: [usize; 2], tensors: &mut Tensors) -> DescentScalars {
    tensors.put("x", &shape, &descent.x[..]);
    tensors.put("least.x", &shape, &descent.best[..]);
    DescentScalars { rate: descent.rate, least: descent.least, last: descent.last, evaluations: descent.evaluations }
}

/// Reads the state written by [`save_descent`].
///
/// # Errors
/// If it is not a state of a descent with this solver and step.
pub(super) fn restore_descent(
    scalars: &DescentScalars,
    (solver, step): (Solver, Step),
    shape: [usize; 2],
    tensors: &mut Tensors,
) -> Result<Descent> {
    let &DescentScalars { rate, least, last, evaluations } = scalars;
    let consistent = match (rate, solver, step) {
        (Rate::Plain(alpha), Solver::Jacobi, Step::Alpha(configured)) => alpha == configured,
        (Rate::Mu(mu), Solver::Gd, Step::Mu(_) | Step::Alpha(_)) => mu > 0.0 && mu.is_finite(),
        (Rate::Safe(alpha), Solver::Jacobi | Solver::Gd, Step::Auto) => alpha == 1.0 || alpha == 0.5,
        _ => false,
    };
    require(consistent, "its step is not that of its parameters")?;
    // Infinite before the first measurement.
    require(least >= 0.0 && last >= 0.0, "a stress is not a number of at least 0")?;
    require(evaluations <= MAX_COUNT, "a count of the descent is too large")?;
    let (x, best) = (tensors.take("x", &shape)?, tensors.take("least.x", &shape)?);
    Ok(Descent { rate, x, best, least, last, evaluations })
}
