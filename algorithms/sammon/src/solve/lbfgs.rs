//! Limited-memory BFGS with Armijo backtracking (Nocedal and Wright, *Numerical Optimization*, algorithms 7.4, 3.1).
//!
//! Runs on the host in f64; each rank holds its part of all vectors. The value never increases. The initial inverse
//! Hessian is a diagonal given by the caller, scaled by the newest pair; for a stress it is that of the Jacobi step.

use std::collections::VecDeque;

use firebox_core::Result;

use super::vector::{add, difference, dot, scale_by};

/// Memory: maximum number of stored pairs.
pub(crate) const PAIRS: usize = 10;
/// Armijo constant: minimum fraction of the decrease predicted by the slope.
const SUFFICIENT: f64 = 1e-4;
/// Maximum number of trial steps of a line search.
const TRIES: usize = 12;

/// A differentiable function to minimize.
pub(crate) trait Function {
    /// Value and gradient at `x`.
    fn evaluate(&mut self, x: &[f64]) -> Result<(f64, Vec<f64>)>;

    /// Rounds `x` to a point at which the function can be evaluated.
    fn round(&self, x: &mut [f64]) {
        let _ = x;
    }

    /// Dot product over all ranks' parts of two vectors.
    fn dot(&self, a: &[f64], b: &[f64]) -> f64 {
        dot(a, b)
    }
}

/// Outcome of an iteration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IterationOutcome {
    /// The value decreased.
    Decreased,
    /// No step decreases the value in this precision, or a value is not finite.
    Stalled,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Pair {
    pub(crate) step: Vec<f64>,
    pub(crate) change: Vec<f64>,
}

/// State of a minimization.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Lbfgs {
    /// Current point, which is the best so far.
    pub(crate) x: Vec<f64>,
    pub(crate) gradient: Vec<f64>,
    pub(crate) value: f64,
    /// Stored pairs, oldest first.
    pub(crate) pairs: VecDeque<Pair>,
    pub(crate) evaluations: usize,
}

impl Lbfgs {
    /// Starts at `x`, rounded by the function.
    pub(crate) fn new(function: &mut impl Function, mut x: Vec<f64>) -> Result<Self> {
        function.round(&mut x);
        let (value, gradient) = function.evaluate(&x)?;
        Ok(Self { x, gradient, value, pairs: VecDeque::new(), evaluations: 1 })
    }

    /// Applies `make` to every vector.
    pub(crate) fn map(&self, make: impl Fn(&[f64]) -> Vec<f64>) -> Self {
        let pairs = self.pairs.iter().map(|pair| Pair { step: make(&pair.step), change: make(&pair.change) });
        Self { x: make(&self.x), gradient: make(&self.gradient), pairs: pairs.collect(), ..*self }
    }

    /// Runs one iteration. `diagonal` is the initial inverse Hessian, 0 for fixed coordinates.
    pub(crate) fn advance(&mut self, function: &mut impl Function, diagonal: &[f64]) -> Result<IterationOutcome> {
        let direction = self.direction(function, diagonal);
        let slope = function.dot(&direction, &self.gradient);
        if slope < 0.0 && self.search(function, &direction, slope, TRIES)? {
            return Ok(IterationOutcome::Decreased);
        }
        // Half of the diagonal's step decreases the value up to rounding, so the stored pairs are inconsistent.
        self.pairs.clear();
        let mut direction = self.gradient.clone();
        scale_by(&mut direction, -0.5, diagonal);
        let slope = function.dot(&direction, &self.gradient);
        let decreased = slope < 0.0 && self.search(function, &direction, slope, 3)?;
        Ok(if decreased { IterationOutcome::Decreased } else { IterationOutcome::Stalled })
    }

    /// Direction −H·g by the two-loop recursion.
    fn direction(&self, function: &impl Function, diagonal: &[f64]) -> Vec<f64> {
        let mut q = self.gradient.clone();
        let mut alphas = Vec::with_capacity(self.pairs.len());
        for pair in self.pairs.iter().rev() {
            let rho = 1.0 / function.dot(&pair.step, &pair.change);
            let alpha = rho * function.dot(&pair.step, &q);
            add(&mut q, -alpha, &pair.change);
            alphas.push((alpha, rho));
        }
        let gamma = self.pairs.back().map_or(1.0, |pair| {
            let mut scaled = pair.change.clone();
            scale_by(&mut scaled, 1.0, diagonal);
            function.dot(&pair.step, &pair.change) / function.dot(&pair.change, &scaled)
        });
        scale_by(&mut q, gamma, diagonal);
        for (pair, (alpha, rho)) in self.pairs.iter().zip(alphas.into_iter().rev()) {
            let beta = rho * function.dot(&pair.change, &q);
            add(&mut q, alpha - beta, &pair.step);
        }
        q.iter_mut().for_each(|q| *q = -*q);
        q
    }

    /// Backtracks along `direction` by quadratic interpolation until the Armijo condition holds; whether a step was
    /// taken.
    fn search(&mut self, function: &mut impl Function, direction: &[f64], slope: f64, tries: usize) -> Result<bool> {
        let mut length = 1.0;
        for _ in 0..tries {
            let mut x = self.x.clone();
            add(&mut x, length, direction);
            function.round(&mut x);
            let (value, gradient) = function.evaluate(&x)?;
            self.evaluations += 1;
            if value < self.value && value <= self.value + SUFFICIENT * length * slope {
                let pair = Pair { step: difference(&x, &self.x), change: difference(&gradient, &self.gradient) };
                self.store(function, pair);
                (self.x, self.gradient, self.value) = (x, gradient, value);
                return Ok(true);
            }
            let curvature = value - self.value - slope * length;
            let lowest = -slope * length * length / (2.0 * curvature);
            length = if lowest.is_finite() { lowest.clamp(0.1 * length, 0.5 * length) } else { 0.1 * length };
        }
        Ok(false)
    }

    /// Stores a pair of positive curvature.
    fn store(&mut self, function: &impl Function, pair: Pair) {
        let curvature = function.dot(&pair.step, &pair.change);
        let lengths = (function.dot(&pair.step, &pair.step) * function.dot(&pair.change, &pair.change)).sqrt();
        if curvature > 1e-10 * lengths {
            if self.pairs.len() == PAIRS {
                self.pairs.pop_front();
            }
            self.pairs.push_back(pair);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Of<F: FnMut(&[f64]) -> (f64, Vec<f64>)>(F);

    impl<F: FnMut(&[f64]) -> (f64, Vec<f64>)> Function for Of<F> {
        fn evaluate(&mut self, x: &[f64]) -> Result<(f64, Vec<f64>)> {
            Ok((self.0)(x))
        }
    }

    fn rosenbrock(x: &[f64]) -> (f64, Vec<f64>) {
        let mut gradient = vec![0.0; x.len()];
        let mut value = 0.0;
        for i in 0..x.len() - 1 {
            let (a, b) = (1.0 - x[i], x[i + 1] - x[i] * x[i]);
            value += a * a + 100.0 * b * b;
            gradient[i] += -2.0 * a - 400.0 * x[i] * b;
            gradient[i + 1] += 200.0 * b;
        }
        (value, gradient)
    }

    fn minimise(mut function: impl Function, x: Vec<f64>, diagonal: &[f64], most: usize) -> (Lbfgs, usize) {
        let mut run = Lbfgs::new(&mut function, x).unwrap();
        let mut last = run.value;
        for iteration in 0..most {
            if run.advance(&mut function, diagonal).unwrap() == IterationOutcome::Stalled {
                return (run, iteration);
            }
            assert!(run.value < last);
            last = run.value;
        }
        (run, most)
    }

    #[test]
    fn the_rosenbrock_function_is_minimized() {
        let (run, iterations) = minimise(Of(rosenbrock), vec![-1.2, 1.0, -1.2, 1.0], &[1.0; 4], 500);
        assert!(run.x.iter().all(|x| (x - 1.0).abs() < 1e-6), "{:?}", run.x);
        assert!(iterations < 150 && run.evaluations < 300, "{iterations} {}", run.evaluations);
    }

    #[test]
    fn the_exact_diagonal_solves_a_diagonal_problem_in_few_iterations() {
        let curvature: Vec<f64> = (0..50).map(|i| 10f64.powf(f64::from(i) / 25.0)).collect();
        let quadratic = |x: &[f64]| {
            let gradient: Vec<f64> = x.iter().zip(&curvature).map(|(x, c)| c * x).collect();
            (0.5 * dot(x, &gradient), gradient)
        };
        let diagonal: Vec<f64> = curvature.iter().map(|c| 1.0 / c).collect();
        let (run, _) = minimise(Of(quadratic), vec![1.0; 50], &diagonal, 3);
        assert!(run.value < 1e-20, "{}", run.value);
        let (run, _) = minimise(Of(quadratic), vec![1.0; 50], &[1e-3; 50], 400);
        assert!(run.value < 1e-10, "{}", run.value);
    }

    #[test]
    fn backtracking_recovers_from_values_that_are_not_finite() {
        let log = |x: &[f64]| (x[0] - x[0].ln(), vec![1.0 - 1.0 / x[0]]);
        let (run, _) = minimise(Of(log), vec![0.01], &[1.0], 100);
        assert!((run.x[0] - 1.0).abs() < 1e-5, "{:?}", run.x);
    }
}
