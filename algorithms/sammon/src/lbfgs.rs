//! Limited-memory BFGS with Armijo backtracking (Nocedal and Wright, *Numerical Optimization*, algorithms 7.4, 3.1).
//!
//! On the host, in f64, each rank with its part of all vectors. The value never rises. The initial inverse Hessian is a diagonal that the caller knows, scaled
//! by the newest pair; for a stress it is the Jacobi step's.

use std::collections::VecDeque;

use firebox_core::{
    Result,
    checkpoint::{MAX_COUNT, Tensors, number, require},
};
use serde::{Deserialize, Serialize};

use crate::vector::{add, difference, dot, scale_by};

/// Pairs of steps and gradient changes that are kept.
const PAIRS: usize = 10;
/// Armijo's: a step must bring this share of the decrease that its slope promises.
const SUFFICIENT: f64 = 1e-4;
/// Shorter and shorter steps tried along a direction.
const TRIES: usize = 12;

/// What is minimised.
pub(crate) trait Function {
    /// The value at `x`, and its gradient.
    fn evaluate(&mut self, x: &[f64]) -> Result<(f64, Vec<f64>)>;

    /// Rounds `x` to where a value can be had.
    fn round(&self, x: &mut [f64]) {
        let _ = x;
    }

    /// Σ aᵢ·bᵢ over all ranks' parts of two vectors.
    fn dot(&self, a: &[f64], b: &[f64]) -> f64 {
        dot(a, b)
    }
}

/// What an iteration did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moved {
    /// The value fell.
    Down,
    /// No step lowers the value in the precision there is.
    Stuck,
}

#[derive(Debug, Clone, PartialEq)]
struct Pair {
    step: Vec<f64>,
    change: Vec<f64>,
}

/// A minimisation under way.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Lbfgs {
    x: Vec<f64>,
    gradient: Vec<f64>,
    value: f64,
    /// The oldest first.
    pairs: VecDeque<Pair>,
    pub(crate) evaluations: usize,
}

/// The part of a minimisation's state that is not an array.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Scalars {
    #[serde(with = "number")]
    value: f64,
    pairs: usize,
    evaluations: usize,
}

impl Lbfgs {
    /// Starts at `x`.
    pub(crate) fn new(function: &mut impl Function, mut x: Vec<f64>) -> Result<Self> {
        function.round(&mut x);
        let (value, gradient) = function.evaluate(&x)?;
        Ok(Self { x, gradient, value, pairs: VecDeque::new(), evaluations: 1 })
    }

    /// Adds its vectors of m × n numbers to a state's tensors; returns the rest of the state.
    pub(crate) fn save(&self, [m, n]: [usize; 2], tensors: &mut Tensors) -> Scalars {
        let pairs = self.pairs.len();
        let of = |vector: fn(&Pair) -> &Vec<f64>| self.pairs.iter().flat_map(vector).copied().collect::<Vec<f64>>();
        tensors.put("x", &[m, n], &self.x[..]);
        tensors.put("gradient", &[m, n], &self.gradient[..]);
        tensors.put("pairs.step", &[pairs, m, n], of(|pair| &pair.step));
        tensors.put("pairs.change", &[pairs, m, n], of(|pair| &pair.change));
        Scalars { value: self.value, pairs, evaluations: self.evaluations }
    }

    /// Reads what [`save`](Self::save) wrote; fails if it is not the state of a minimisation of m × n numbers.
    pub(crate) fn restore(scalars: &Scalars, [m, n]: [usize; 2], tensors: &mut Tensors) -> Result<Self> {
        let &Scalars { value, pairs, evaluations } = scalars;
        require(pairs <= PAIRS && evaluations <= MAX_COUNT, "a count of the minimisation is too large")?;
        require(value.is_finite(), "the minimised value is not finite")?;
        let [steps, changes] = ["pairs.step", "pairs.change"].map(|name| tensors.take(name, &[pairs, m, n]));
        let (steps, changes) = (steps?, changes?);
        let size = (m * n).max(1);
        let both = steps.chunks(size).zip(changes.chunks(size));
        let pairs = both.map(|(step, change)| Pair { step: step.to_vec(), change: change.to_vec() }).collect();
        let (x, gradient) = (tensors.take("x", &[m, n])?, tensors.take("gradient", &[m, n])?);
        Ok(Self { x, gradient, value, pairs, evaluations })
    }

    /// The same with every vector made by `make` of what it is.
    pub(crate) fn map(&self, make: impl Fn(&[f64]) -> Vec<f64>) -> Self {
        let pairs = self.pairs.iter().map(|pair| Pair { step: make(&pair.step), change: make(&pair.change) });
        Self { x: make(&self.x), gradient: make(&self.gradient), pairs: pairs.collect(), ..*self }
    }

    /// Where it is, which is the best it has seen.
    pub(crate) fn x(&self) -> &[f64] {
        &self.x
    }

    /// The value there.
    pub(crate) fn value(&self) -> f64 {
        self.value
    }

    /// One iteration; `diagonal` is the initial inverse Hessian, positive where a coordinate can move.
    pub(crate) fn advance(&mut self, function: &mut impl Function, diagonal: &[f64]) -> Result<Moved> {
        let direction = self.direction(function, diagonal);
        let slope = function.dot(&direction, &self.gradient);
        if slope < 0.0 && self.search(function, &direction, slope, TRIES)? {
            return Ok(Moved::Down);
        }
        // Half of the diagonal's own step cannot fail but for rounding; what was learnt does not fit here.
        self.pairs.clear();
        let mut direction = self.gradient.clone();
        scale_by(&mut direction, -0.5, diagonal);
        let slope = function.dot(&direction, &self.gradient);
        let moved = slope < 0.0 && self.search(function, &direction, slope, 3)?;
        Ok(if moved { Moved::Down } else { Moved::Stuck })
    }

    /// −H·g by the two loops.
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

    /// Goes along `direction` as far as Armijo allows, by parabolas through what was seen; whether it went.
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
                self.remember(function, pair);
                (self.x, self.gradient, self.value) = (x, gradient, value);
                return Ok(true);
            }
            let bent = value - self.value - slope * length;
            let lowest = -slope * length * length / (2.0 * bent);
            length = if lowest.is_finite() { lowest.clamp(0.1 * length, 0.5 * length) } else { 0.1 * length };
        }
        Ok(false)
    }

    /// Keeps a pair that tells of positive curvature.
    fn remember(&mut self, function: &impl Function, pair: Pair) {
        let along = function.dot(&pair.step, &pair.change);
        let lengths = (function.dot(&pair.step, &pair.step) * function.dot(&pair.change, &pair.change)).sqrt();
        if along > 1e-10 * lengths {
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
        let mut last = run.value();
        for iteration in 0..most {
            if run.advance(&mut function, diagonal).unwrap() == Moved::Stuck {
                return (run, iteration);
            }
            assert!(run.value() < last);
            last = run.value();
        }
        (run, most)
    }

    #[test]
    fn a_curved_valley_is_followed_to_its_end() {
        let (run, iterations) = minimise(Of(rosenbrock), vec![-1.2, 1.0, -1.2, 1.0], &[1.0; 4], 500);
        assert!(run.x().iter().all(|x| (x - 1.0).abs() < 1e-6), "{:?}", run.x());
        assert!(iterations < 150 && run.evaluations < 300, "{iterations} {}", run.evaluations);
    }

    #[test]
    fn the_true_diagonal_solves_a_diagonal_problem_at_once() {
        let curvature: Vec<f64> = (0..50).map(|i| 10f64.powf(f64::from(i) / 25.0)).collect();
        let quadratic = |x: &[f64]| {
            let gradient: Vec<f64> = x.iter().zip(&curvature).map(|(x, c)| c * x).collect();
            (0.5 * dot(x, &gradient), gradient)
        };
        let diagonal: Vec<f64> = curvature.iter().map(|c| 1.0 / c).collect();
        let (run, _) = minimise(Of(quadratic), vec![1.0; 50], &diagonal, 3);
        assert!(run.value() < 1e-20, "{}", run.value());
        let (run, _) = minimise(Of(quadratic), vec![1.0; 50], &[1e-3; 50], 400);
        assert!(run.value() < 1e-10, "{}", run.value());
    }

    #[test]
    fn a_run_goes_on_from_its_own_bits() {
        let mut function = Of(rosenbrock);
        let mut whole = Lbfgs::new(&mut function, vec![-1.2, 1.0, 0.5]).unwrap();
        for _ in 0..7 {
            whole.advance(&mut function, &[1.0; 3]).unwrap();
        }
        let mut tensors = Tensors::default();
        let scalars = whole.save([1, 3], &mut tensors);
        let mut again = Lbfgs::restore(&scalars, [1, 3], &mut tensors).unwrap();
        assert_eq!(again, whole);
        for run in [&mut whole, &mut again] {
            for _ in 0..5 {
                run.advance(&mut function, &[1.0; 3]).unwrap();
            }
        }
        assert_eq!(again, whole);
    }

    #[test]
    fn numbers_that_are_none_are_backed_away_from() {
        let log = |x: &[f64]| (x[0] - x[0].ln(), vec![1.0 - 1.0 / x[0]]);
        let (run, _) = minimise(Of(log), vec![0.01], &[1.0], 100);
        assert!((run.x()[0] - 1.0).abs() < 1e-5, "{:?}", run.x());
    }
}
