//! A problem on its device, asked from the host: stress, gradient, sums over pairs.

use burn::tensor::{Transaction, ops::FloatTensor};
use firebox_core::{
    Context, Error, Result,
    tensor::{failed, primitive, read_floats, tensor},
};
use rayon::prelude::*;

use crate::{
    SammonOps,
    lbfgs::Function,
    ops::{Forces, MEASURES, Problem, Variant},
};

/// A problem and what does not change while it is solved.
pub(crate) struct Work<'a, B: SammonOps> {
    pub(crate) problem: Problem<B>,
    pub(crate) context: &'a Context<B>,
    pub(crate) n: usize,
    pub(crate) m: usize,
    variant: Variant,
    counts: Vec<f64>,
    /// Σ_j μ_j·w_ij of every point.
    pub(crate) weights: Vec<f64>,
    /// c = Σ_{i<j} μ_i·μ_j·w_ij·δ_ij².
    pub(crate) scale: f64,
}

/// Sums over all pairs i < j, each μ_i·μ_j times.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Sums {
    /// Σ w·δ².
    pub(crate) source: f64,
    /// Σ w·δ·d.
    pub(crate) mixed: f64,
    /// Σ w·d².
    pub(crate) target: f64,
    /// Σ (δ − d)² of pairs that are not missing.
    pub(crate) plain_miss: f64,
    /// Σ d² of the same.
    pub(crate) plain_target: f64,
}

impl Sums {
    /// The stress E of what was measured, to within the rounding of the sums.
    pub(crate) fn stress(&self) -> f64 {
        ((self.source - 2.0 * self.mixed + self.target) / self.source).max(0.0)
    }

    /// β*, the factor of the embedding that leaves the least stress.
    pub(crate) fn best_factor(&self) -> Option<f64> {
        Some(self.mixed / self.target).filter(|beta| *beta > 0.0 && beta.is_finite())
    }

    /// Kruskal's stress-1.
    pub(crate) fn stress_1(&self) -> f64 {
        (self.plain_miss / self.plain_target).sqrt()
    }
}

impl<'a, B: SammonOps> Work<'a, B> {
    /// A problem of points that occur `counts` times, and the sums over its pairs at an embedding `[m, n]`.
    pub(crate) fn new(
        problem: Problem<B>,
        counts: &[u32],
        variant: Variant,
        context: &'a Context<B>,
        start: &[f64],
    ) -> Result<(Self, Sums)> {
        let n = counts.len();
        let counts: Vec<f64> = counts.iter().map(|&count| f64::from(count)).collect();
        let m = start.len() / n;
        let mut work = Self { problem, context, n, m, variant, counts, weights: Vec::new(), scale: 1.0 };
        let (sums, weights) = work.measure(start)?;
        work.weights = weights;
        work.scale = sums.source;
        if !(sums.source > 0.0 && sums.source.is_finite()) {
            let what = "no weights can be made of these distances: their sizes lie too far apart, or are all 0 in the precision";
            let help =
                "give points that differ by more than their precision, or leave out those that are beyond all others";
            return Err(Error::input(what, help));
        }
        Ok((work, sums))
    }

    fn embedding(&self, x: &[f64]) -> FloatTensor<B> {
        primitive::<B, 2>(x.to_vec(), [self.m, self.n], &self.context.device)
    }

    fn failed(&self, error: impl std::fmt::Display) -> Error {
        failed(B::limits(&self.context.device).device, "mapping", error)
    }

    /// Force-like results on the host: rows of `[k, n]`, and rows of stresses.
    fn fetch(&self, forces: Forces<B>, rows: usize) -> Result<(Vec<f64>, Vec<f64>)> {
        B::finish(&self.context.device, "mapping")?;
        let transaction = Transaction::default().register(tensor::<B, 2>(forces.force));
        let transaction = if rows == 0 {
            transaction.register(tensor::<B, 1>(forces.stress))
        } else {
            transaction.register(tensor::<B, 2>(forces.stress))
        };
        let read = transaction.try_execute().map_err(|error| self.failed(error))?;
        let mut read = read.iter().map(|data| data.iter::<f64>().collect::<Vec<f64>>());
        match (read.next(), read.next()) {
            (Some(force), Some(stress)) => Ok((force, stress)),
            _ => Err(self.failed("less came back than was asked for")),
        }
    }

    /// F `[m, n]` and e `[n]` at an embedding.
    pub(crate) fn forces(&self, x: &[f64]) -> Result<(Vec<f64>, Vec<f64>)> {
        self.fetch(B::sammon_forces(&self.problem, self.embedding(x), self.variant), 0)
    }

    /// E from the points' stresses, summed in f64.
    pub(crate) fn stress(&self, points: &[f64]) -> f64 {
        crate::vector::dot(points, &self.counts) / (2.0 * self.scale)
    }

    /// The embedding after `steps` steps, and E before each.
    pub(crate) fn steps(&self, x: &[f64], rates: &[f64], steps: usize) -> Result<(Vec<f64>, Vec<f64>)> {
        let rates = primitive::<B, 1>(rates.to_vec(), [self.n], &self.context.device);
        let moved = B::sammon_steps(&self.problem, self.embedding(x), rates, steps, self.variant);
        let (x, stresses) = self.fetch(moved, steps)?;
        Ok((x, stresses.chunks(self.n).map(|points| self.stress(points)).collect()))
    }

    /// The sums over all pairs, and Σ_j μ_j·w_ij of every point.
    pub(crate) fn measure(&self, x: &[f64]) -> Result<(Sums, Vec<f64>)> {
        let rows = tensor::<B, 2>(B::sammon_measure(&self.problem, self.embedding(x)));
        B::finish(&self.context.device, "measuring")?;
        let rows = read_floats(rows, "measuring")?;
        if rows.len() != MEASURES * self.n {
            return Err(self.failed("less came back than was asked for"));
        }
        let row = |k: usize| &rows[k * self.n..(k + 1) * self.n];
        let half = |k: usize| 0.5 * crate::vector::dot(row(k), &self.counts);
        let sums =
            Sums { source: half(1), mixed: half(2), target: half(3), plain_miss: half(4), plain_target: half(5) };
        Ok((sums, row(0).to_vec()))
    }

    /// The diagonal of the inverse Hessian that makes a gradient step the Jacobi step with α = 1: with
    /// ∂E/∂y_i = −(2/c)·μ_i·F_i, y_i ← y_i + F_i/W_i is y − (c/(2·μ_i·W_i))·∂E/∂y.
    pub(crate) fn diagonal(&self) -> Vec<f64> {
        let one = self
            .weights
            .iter()
            .zip(&self.counts)
            .map(|(w, mu)| if *w > 0.0 { 0.5 * self.scale / (mu * w) } else { 0.0 });
        let one: Vec<f64> = one.collect();
        one.repeat(self.m)
    }

    /// By how much rounding of the sums may raise a stress, relatively.
    pub(crate) fn noise() -> f64 {
        if Self::wide() { 1e-12 } else { 1e-5 }
    }

    /// Whether numbers on the device have 64 bits.
    pub(crate) fn wide() -> bool {
        size_of::<B::FloatElem>() == 8
    }
}

impl<B: SammonOps> Function for &Work<'_, B> {
    fn evaluate(&mut self, x: &[f64]) -> Result<(f64, Vec<f64>)> {
        let (mut force, stress) = self.forces(x)?;
        let value = self.stress(&stress);
        let outward = -2.0 / self.scale;
        force.par_chunks_mut(self.n).for_each(|row| {
            row.iter_mut().zip(&self.counts).for_each(|(f, mu)| *f *= outward * mu);
        });
        Ok((if value.is_finite() { value } else { f64::INFINITY }, force))
    }

    fn round(&self, x: &mut [f64]) {
        if !Work::<B>::wide() {
            x.iter_mut().for_each(|x| *x = f64::from(*x as f32));
        }
    }
}
