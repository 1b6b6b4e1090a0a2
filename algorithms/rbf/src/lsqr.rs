//! Weights by LSQR (Paige and Saunders 1982), where A is too large to decompose: products with A and Aᵀ only.
//!
//! Preconditioned from the right by R of the QR of some rows (as Blendenpik, Avron, Maymounkov and Toledo 2010): tens
//! of iterations up to condition numbers of 1e12, and about a hundred beyond 1/ε, where directions of A below rounding
//! are held back by a small multiple of 1 under the sketch. The rows are drawn without replacement, each of a kind
//! alike, and a quarter at least from the boundary: a sketch that mixes all rows would be surer, but needs every
//! element of A on the host, which is what is to be avoided; and the rows that matter more than others are those on
//! and near the boundary, for which the quarter is. A sketch that missed something costs iterations, not accuracy.
//! LSQR starts from the solution of the sketch, and from its own again.

use faer::{Mat, MatMut};
use firebox_core::{Communicator, Error, Result, random::Random};

use crate::{
    System, assemble::Weighted, householder::Qr, qr::Solver, subset::subset, triangular::Triangle, trust::norm,
};

/// The stream of [`Random`] that rows are drawn from.
const ROWS: u64 = u64::from_be_bytes(*b"rbf-lsqr");
/// Rows of the sketch for each neuron.
const SKETCH: usize = 4;
/// Added to the sketch's singular values, columns being of length 1 (in squares): directions below are rounding, which
/// LSQR would follow without end.
const FLOOR: f64 = 1e-12;
/// Starts at most, each from what was reached.
const STARTS: usize = 4;

/// A matrix known by its products. Of one whose rows several processes share, each has a part of y and of A·x.
pub trait Operator {
    /// A·x, of as many numbers as rows.
    fn apply(&mut self, x: &[f64]) -> Result<Vec<f64>>;

    /// Aᵀ·y, of as many numbers as columns, over all rows.
    fn transposed(&mut self, y: &[f64]) -> Result<Vec<f64>>;

    /// ‖y‖ over all rows.
    fn length(&self, y: &[f64]) -> f64 {
        norm(y.iter().copied())
    }

    /// Whether the iterations are to end with what they have, such as for a time limit. Products fail with
    /// [`Error::Cancelled`] where they were cut short; after this call they are whole again.
    fn out_of_time(&mut self) -> bool {
        false
    }

    /// What all processes take for `done`, though their roundings may differ.
    fn agreed(&self, done: bool) -> bool {
        done
    }
}

/// A matrix in memory.
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

/// R of a sketch, and the solution of the sketch.
#[derive(Debug, Clone)]
pub struct Preconditioner {
    triangle: Triangle,
    scales: Vec<f64>,
    start: Vec<f64>,
    condition: f64,
    /// The normal residual that rounding leaves: ε times the condition number of the triangle.
    attainable: f64,
}

impl Preconditioner {
    /// From 4m rows of `system`, the same for the same `seed`; from all if there are no more.
    ///
    /// Fails if there are fewer conditions than neurons, or if an element is not finite.
    pub fn new(system: &System, centres: &[f64], widths: &[f64], seed: u64) -> Result<Self> {
        let (n, k, wanted) = (system.interior.len(), system.boundary.len(), SKETCH * widths.len());
        let proportional = (wanted as f64 * k as f64 / (n + k).max(1) as f64).ceil() as usize;
        let boundary = k.min(proportional.max(wanted / 4)).max(wanted.saturating_sub(n).min(k));
        let interior = n.min(wanted - boundary.min(wanted));
        let mut random = Random::new(seed, ROWS);
        let sketch = System {
            interior: subset(&system.interior, &draw(n, interior, &mut random)),
            boundary: subset(&system.boundary, &draw(k, boundary, &mut random)),
            penalty: system.penalty,
        };
        let solver = Solver::new(&Weighted::new(&sketch)?, centres, widths)?;
        let condition = solver.triangle.condition()?;
        let m = widths.len();
        let r = solver.triangle.matrix();
        let qr = Qr::new(Mat::from_fn(2 * m, m, |i, j| match i {
            _ if i < m => r[(i, j)],
            _ if i == m + j => FLOOR,
            _ => 0.0,
        }))?;
        let triangle = Triangle::new(qr.r());
        let mut start = [solver.image(), &vec![0.0; m]].concat();
        qr.transpose_apply(MatMut::from_column_major_slice_mut(&mut start, 2 * m, 1))?;
        start.truncate(m);
        let mut this = Self { triangle, scales: solver.scales.clone(), start, condition, attainable: 0.0 };
        this.start = this.solve(&this.start);
        // The condition of the 1-norm is some times that of the 2-norm.
        this.attainable = 0.25 * f64::EPSILON * this.triangle.condition()?;
        Ok(this)
    }

    /// The first rank's, on all: the roundings of each one's own would part what their products are of.
    pub(crate) fn of_first(ranks: &dyn Communicator, make: impl FnOnce() -> Result<Self>) -> Result<Self> {
        if ranks.size() == 1 {
            return make();
        }
        let mut made = None;
        let numbers = ranks.from_first(|| {
            let Self { triangle, scales, start, condition, attainable } = &*made.insert(make()?);
            let r = triangle.matrix();
            let columns = (0..r.ncols()).flat_map(|j| r.col_as_slice(j));
            Ok::<_, Error>(columns.chain(scales).chain(start).chain([condition, attainable]).copied().collect())
        })?;
        if let Some(made) = made {
            return Ok(made);
        }
        // m² + 2m + 2 of them.
        let m = ((numbers.len() - 1) as f64).sqrt() as usize - 1;
        let (r, rest) = numbers.split_at(m * m);
        Ok(Self {
            triangle: Triangle::new(Mat::from_fn(m, m, |i, j| r[j * m + i])),
            scales: rest[..m].to_vec(),
            start: rest[m..2 * m].to_vec(),
            condition: rest[2 * m],
            attainable: rest[2 * m + 1],
        })
    }

    /// The condition number of the sketch, as [`Fit`](crate::Fit) has it of all rows.
    pub fn condition(&self) -> f64 {
        self.condition
    }

    /// D·R⁻¹·y.
    fn solve(&self, y: &[f64]) -> Vec<f64> {
        let mut x = y.to_vec();
        self.triangle.solve(&mut x);
        x.iter_mut().zip(&self.scales).for_each(|(x, scale)| *x *= scale);
        x
    }

    /// R⁻ᵀ·D·x.
    fn solve_transposed(&self, mut x: Vec<f64>) -> Vec<f64> {
        x.iter_mut().zip(&self.scales).for_each(|(x, scale)| *x *= scale);
        self.triangle.solve_transposed(&mut x);
        x
    }
}

/// What LSQR reached.
#[derive(Debug, Clone, PartialEq)]
pub struct Lsqr {
    /// w.
    pub weights: Vec<f64>,
    /// Iterations, each a product with A and one with Aᵀ.
    pub iterations: usize,
    /// ‖A·w − b‖.
    pub residual: f64,
    /// ‖Bᵀr‖/(‖B‖·‖r‖) with B = A·D·R⁻¹: 0 at the solution.
    pub normal_residual: f64,
    /// Whether the iterations ended because the operator was [out of time](Operator::out_of_time).
    pub out_of_time: bool,
    /// Whether that is within the tolerance or what rounding leaves of it, or ‖r‖/(‖b‖ + ‖B‖·‖y‖) is within the
    /// tolerance.
    pub converged: bool,
}

/// Minimises ‖A·w − `target`‖ until the normal residual is at most `tolerance`, in `most` iterations at most.
///
/// Rows of A and `target` are those of a [`Weighted`] system: interior first, each multiplied by what it counts.
pub fn lsqr(
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
    for _ in 0..STARTS {
        let before = found.iterations;
        let mut residual = target.to_vec();
        let image = operator.apply(&found.weights);
        let Some(image) = in_time(operator, &mut found, image)? else { break };
        add(&mut residual, -1.0, &image);
        let step =
            bidiagonal(operator, preconditioner, residual, (target, tolerance, most), &mut found, &mut frobenius)?;
        add(&mut found.weights, 1.0, &preconditioner.solve(&step));
        // What the recurrences believe is checked: a start that finds nothing to do ends the work.
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

/// A product; none if it was cut short by the end of the time, which `found` notes.
fn in_time(operator: &mut dyn Operator, found: &mut Lsqr, product: Result<Vec<f64>>) -> Result<Option<Vec<f64>>> {
    match product {
        Err(Error::Cancelled) if operator.out_of_time() => {
            found.out_of_time = true;
            Ok(None)
        }
        product => product.map(Some),
    }
}

/// One start: LSQR on B·y = `u`, which is b − A·w; leaves its measures in `found`, what it learnt of ‖B‖ in `frobenius`,
/// and gives y.
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
            // Nothing of B is left along v: y is the solution.
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
            return Err(crate::qr::failed("LSQR met numbers that are not finite; give neurons of other widths"));
        }
    }
}

/// Makes `x` of this length one of length 1, if it has any; gives the length.
fn normalise(length: f64, x: &mut [f64]) -> f64 {
    if length > 0.0 {
        x.iter_mut().for_each(|x| *x /= length);
    }
    length
}

fn add(x: &mut [f64], factor: f64, y: &[f64]) {
    x.iter_mut().zip(y).for_each(|(x, y)| *x += factor * y);
}

/// `count` of 0..n without replacement, in ascending order.
fn draw(n: usize, count: usize, random: &mut Random) -> Vec<usize> {
    let mut indices: Vec<usize> = (0..n).collect();
    for i in 0..count.min(n) {
        let other = i + random.below(n - i);
        indices.swap(i, other);
    }
    indices.truncate(count);
    indices.sort_unstable();
    indices
}

#[cfg(test)]
mod tests {
    use std::f64::consts::PI;

    use super::*;
    use crate::{Fit, RbfNetwork, qr::fit, samples};

    fn both(system: &System, shape: &(Vec<f64>, Vec<f64>), tolerance: f64) -> (Fit, Lsqr) {
        let (centres, widths) = shape;
        let weighted = Weighted::new(system).unwrap();
        let preconditioner = Preconditioner::new(system, centres, widths, 1).unwrap();
        let mut matrix = weighted.matrix(centres, widths).unwrap();
        let found = lsqr(&mut matrix, &preconditioner, weighted.target(), tolerance, 200).unwrap();
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

    #[test]
    fn draws_are_of_distinct_rows() {
        let mut random = Random::new(0, 0);
        for (n, count) in [(0, 0), (1, 1), (10, 4), (10, 10), (3, 9)] {
            let mut drawn = draw(n, count, &mut random);
            assert_eq!(drawn.len(), count.min(n));
            drawn.dedup();
            assert!(drawn.len() == count.min(n) && drawn.iter().all(|&i| i < n));
        }
    }
}
