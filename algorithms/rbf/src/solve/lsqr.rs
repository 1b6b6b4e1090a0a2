//! Weights by preconditioned LSQR (Paige and Saunders 1982), which needs products with A and Aᵀ only.
//!
//! LSQR starts from the solution of the [`Preconditioner`]'s sketch, and restarts from its own result.

use faer::Mat;
use firebox_core::{Error, Result};

use super::{decompositions::failed, preconditioner::Preconditioner, trust_region::norm};

/// Maximum number of starts, each from the result of the one before.
const MAX_STARTS: usize = 4;

/// A matrix given by its products. With rows distributed over ranks, y and A·x are this rank's part.
pub(crate) trait Operator {
    /// A·x, a number per row.
    fn apply(&mut self, x: &[f64]) -> Result<Vec<f64>>;

    /// Aᵀ·y over all rows, a number per column.
    fn transposed(&mut self, y: &[f64]) -> Result<Vec<f64>>;

    /// ‖y‖ over all rows.
    fn length(&self, y: &[f64]) -> f64 {
        norm(y.iter().copied())
    }

    /// Returns `true` if iterations are to end with their present result, such as for a time limit. Products that were
    /// interrupted fail with [`Error::Cancelled`]; after this call returned `true`, products are complete again.
    fn out_of_time(&mut self) -> bool {
        false
    }

    /// `done` as all ranks agree on it, though their rounding may differ.
    fn agreed(&self, done: bool) -> bool {
        done
    }
}

impl Operator for Mat<f64> {
    fn apply(&mut self, x: &[f64]) -> Result<Vec<f64>> {
        let mut product = vec![0.0; self.nrows()];
        for (j, x) in x.iter().enumerate() {
            product.iter_mut().zip(self.col_as_slice(j)).for_each(|(sum, element)| *sum += x * element);
        }
        Ok(product)
    }

    fn transposed(&mut self, y: &[f64]) -> Result<Vec<f64>> {
        Ok((0..self.ncols()).map(|j| self.col_as_slice(j).iter().zip(y).map(|(a, y)| a * y).sum()).collect())
    }
}

/// The result of LSQR.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Lsqr {
    /// w.
    pub(crate) weights: Vec<f64>,
    /// Iterations, each a product with A and one with Aᵀ.
    pub(crate) iterations: usize,
    /// ‖A·w − b‖.
    pub(crate) residual: f64,
    /// ‖Bᵀr‖/(‖B‖·‖r‖) with B = A·D·R⁻¹: 0 at the solution.
    pub(crate) normal_residual: f64,
    /// The iterations ended because the operator was [out of time](Operator::out_of_time).
    pub(crate) out_of_time: bool,
    /// The normal residual reached the tolerance or the rounding level, or ‖r‖/(‖b‖ + ‖B‖·‖y‖) the tolerance.
    pub(crate) converged: bool,
}

/// Minimises ‖A·w − `target`‖ until the normal residual is at most `tolerance`, in `most` iterations at most.
///
/// Rows of A and `target` are those of a [`Weighted`](super::collocation::Weighted) system: interior first, scaled by
/// 1/√N and √(λ/K).
pub(crate) fn lsqr(
    operator: &mut dyn Operator,
    preconditioner: &Preconditioner,
    target: &[f64],
    tolerance: f64,
    most: usize,
) -> Result<Lsqr> {
    let mut found = Lsqr {
        weights: preconditioner.start.clone(),
        iterations: 0,
        residual: f64::INFINITY,
        normal_residual: f64::INFINITY,
        out_of_time: false,
        converged: false,
    };
    let mut frobenius = 0.0;
    for _ in 0..MAX_STARTS {
        let before = found.iterations;
        let mut residual = target.to_vec();
        let image = operator.apply(&found.weights);
        let Some(image) = in_time(operator, &mut found, image)? else { break };
        add(&mut residual, -1.0, &image);
        let step =
            bidiagonal(operator, preconditioner, residual, (target, tolerance, most), &mut found, &mut frobenius)?;
        add(&mut found.weights, 1.0, &preconditioner.solve(&step));
        // The recurrences drift from the true residual: a restart that converges at once confirms the result.
        if found.iterations == before || found.iterations >= most || found.out_of_time {
            break;
        }
    }
    let mut residual = match operator.apply(&found.weights) {
        Err(Error::Cancelled) if operator.out_of_time() => operator.apply(&found.weights)?,
        residual => residual?,
    };
    residual.iter_mut().zip(target).for_each(|(image, b)| *image = b - *image);
    found.residual = operator.length(&residual);
    Ok(found)
}

/// A product, or `None` if the time limit interrupted it, which is noted in `found`.
fn in_time(operator: &mut dyn Operator, found: &mut Lsqr, product: Result<Vec<f64>>) -> Result<Option<Vec<f64>>> {
    match product {
        Err(Error::Cancelled) if operator.out_of_time() => {
            found.out_of_time = true;
            Ok(None)
        }
        product => product.map(Some),
    }
}

/// One start: LSQR on B·y = `u` with `u` = b − A·w. Returns y and updates the measures in `found` and the estimate of
/// ‖B‖ in `frobenius`.
fn bidiagonal(
    operator: &mut dyn Operator,
    preconditioner: &Preconditioner,
    mut u: Vec<f64>,
    (target, tolerance, most): (&[f64], f64, usize),
    found: &mut Lsqr,
    frobenius: &mut f64,
) -> Result<Vec<f64>> {
    let mut beta = normalise(operator.length(&u), &mut u);
    let image = operator.transposed(&u);
    let Some(image) = in_time(operator, found, image)? else { return Ok(vec![0.0; preconditioner.start.len()]) };
    let mut v = preconditioner.solve_transposed(image);
    let mut alpha = normalise(norm(v.iter().copied()), &mut v);
    let (mut y, mut w) = (vec![0.0; v.len()], v.clone());
    let (mut rho_bar, mut phi_bar, mut known) = (alpha, beta, alpha);
    let size = operator.length(target);
    let mut gradient = alpha * beta;
    loop {
        *frobenius = frobenius.max(known);
        found.residual = phi_bar;
        found.normal_residual = if gradient > 0.0 { gradient / (*frobenius * phi_bar) } else { 0.0 };
        let small = phi_bar <= tolerance * (size + *frobenius * norm(y.iter().copied()));
        let gone = found.normal_residual <= tolerance.max(preconditioner.attainable);
        found.converged = operator.agreed(gone || small);
        if found.converged || found.iterations >= most {
            return Ok(y);
        }
        if operator.out_of_time() {
            found.out_of_time = true;
            return Ok(y);
        }
        let image = operator.apply(&preconditioner.solve(&v));
        let Some(image) = in_time(operator, found, image)? else { return Ok(y) };
        u.iter_mut().zip(image).for_each(|(u, image)| *u = image - alpha * *u);
        beta = normalise(operator.length(&u), &mut u);
        let image = operator.transposed(&u);
        let Some(image) = in_time(operator, found, image)? else { return Ok(y) };
        found.iterations += 1;
        let image = preconditioner.solve_transposed(image);
        v.iter_mut().zip(image).for_each(|(v, image)| *v = image - beta * *v);
        alpha = normalise(norm(v.iter().copied()), &mut v);
        known = norm([known, alpha, beta].into_iter());
        let rho = rho_bar.hypot(beta);
        if rho == 0.0 {
            // B·v = 0 within the Krylov space: y is the solution.
            found.converged = true;
            return Ok(y);
        }
        let (cosine, sine) = (rho_bar / rho, beta / rho);
        let theta = sine * alpha;
        rho_bar = -cosine * alpha;
        let phi = cosine * phi_bar;
        phi_bar *= sine;
        add(&mut y, phi / rho, &w);
        w.iter_mut().zip(&v).for_each(|(w, v)| *w = v - theta / rho * *w);
        gradient = phi_bar * alpha * cosine.abs();
        if !(phi_bar.is_finite() && gradient.is_finite()) {
            return Err(failed("LSQR met numbers that are not finite; give neurons of other widths"));
        }
    }
}

/// Divides `x` by its norm `length` unless that is 0; returns `length`.
fn normalise(length: f64, x: &mut [f64]) -> f64 {
    if length > 0.0 {
        x.iter_mut().for_each(|x| *x /= length);
    }
    length
}

fn add(x: &mut [f64], factor: f64, y: &[f64]) {
    x.iter_mut().zip(y).for_each(|(x, y)| *x += factor * y);
}

#[cfg(test)]
mod tests {
    use std::f64::consts::PI;

    use super::*;
    use crate::{
        solve::{
            collocation::{Collocated, Weighted},
            network::RbfNetwork,
            qr::{Fit, fit},
        },
        tests::samples,
        types::System,
    };

    fn both(system: &System, shape: &(Vec<f64>, Vec<f64>), tolerance: f64) -> (Fit, Lsqr) {
        let (centres, widths) = shape;
        let weighted = Weighted::new(system).unwrap();
        let preconditioner = Preconditioner::new(system, centres, widths, 1).unwrap();
        let mut matrix = weighted.matrix(centres, widths).unwrap();
        let found = lsqr(&mut matrix, &preconditioner, &weighted.target, tolerance, 200).unwrap();
        (fit(system, centres, widths, None).unwrap(), found)
    }

    #[test]
    fn well_conditioned_weights_are_those_of_the_qr() {
        let system = samples::poisson_sine(4000, 400, 0);
        let (exact, found) = both(&system, &samples::grid(10, PI, 0.0, 1.0), 1e-14);
        println!("{:.1e} {} iterations", exact.condition, found.iterations);
        assert!(found.converged && found.iterations < 60, "{found:?}");
        let scale = norm(exact.weights.iter().copied());
        let off = norm(found.weights.iter().zip(&exact.weights).map(|(a, b)| a - b));
        assert!(off < 1e-9 * scale, "{off} {scale}");
        assert!((0.5 * found.residual.powi(2) / exact.objective - 1.0).abs() < 1e-10);
    }

    #[test]
    fn ill_conditioned_solutions_are_as_accurate_as_the_qr() {
        for (side, n, k, ratio, most) in
            [(8, 4000, 400, 8.0, 5e-6), (14, 6000, 600, 8.0, 2e-7), (14, 6000, 600, 4.0, 5e-5)]
        {
            let system = samples::poisson_sine(n, k, 3);
            let shape = samples::grid(side, PI, 0.35, ratio);
            let (exact, found) = both(&system, &shape, 1e-12);
            let error = |weights: &[f64]| {
                let network = RbfNetwork::new(2, shape.0.clone(), shape.1.clone(), weights.to_vec()).unwrap();
                samples::error(&network, PI, samples::sine_exact)
            };
            let (of_qr, of_lsqr) = (error(&exact.weights), error(&found.weights));
            println!(
                "{:.1e}: qr {of_qr:.1e} ({:.2e}), lsqr {of_lsqr:.1e} ({:.2e}), {} iterations, {:.1e}",
                exact.condition,
                (2.0 * exact.objective).sqrt(),
                found.residual,
                found.iterations,
                found.normal_residual
            );
            assert!(of_lsqr < most && found.converged && found.iterations < 150);
        }
    }

    #[test]
    fn all_rows_make_the_sketch_if_they_are_few() {
        let system = samples::poisson_sine(100, 30, 0);
        let (exact, found) = both(&system, &samples::grid(6, PI, 0.0, 1.5), 1e-13);
        assert!(found.iterations <= 4, "{found:?}");
        assert!((0.5 * found.residual.powi(2) / exact.objective - 1.0).abs() < 1e-10);
    }
}
