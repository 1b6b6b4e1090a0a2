//! A problem on its device, asked from the host: stress, gradient, sums over pairs.

use std::ops::Range;

use burn::tensor::{TensorData, Transaction, ops::FloatTensor};
use firebox_core::{
    Communicator, Context, Error, Result,
    tensor::{all_sum, failed, primitive, read_floats, tensor, widened},
};

use crate::{
    SammonOps,
    lbfgs::Function,
    ops::{Forces, MEASURES, Problem, Variant},
    vector::{self, CHUNK},
};

/// A problem and what does not change while it is solved. Ranks have the pairs of their share each, and what is found of
/// them is added up here.
pub(crate) struct Work<'a, B: SammonOps> {
    pub(crate) problem: Problem<B>,
    pub(crate) context: &'a Context<B>,
    pub(crate) n: usize,
    pub(crate) m: usize,
    variant: Variant,
    counts: Vec<f64>,
    /// What each rank has of a vector m × n of the solver's: whole chunks of its products.
    parts: Vec<Range<usize>>,
    /// μ of each number of this rank's part.
    multiples: Vec<f64>,
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
        let parts = context.communicator.share().all(m * n, CHUNK);
        let multiples = counts.repeat(m)[parts[context.communicator.rank()].clone()].to_vec();
        let (weights, scale) = (Vec::new(), 1.0);
        let mut work = Self { problem, context, n, m, variant, counts, parts, multiples, weights, scale };
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

    fn ranks(&self) -> &(dyn Communicator + 'static) {
        &*self.context.communicator
    }

    /// Whether others have parts of all this too.
    pub(crate) fn shared(&self) -> bool {
        self.ranks().size() > 1
    }

    /// This rank's part of a vector of m × n numbers.
    pub(crate) fn own(&self, whole: &[f64]) -> Vec<f64> {
        whole[self.parts[self.ranks().rank()].clone()].to_vec()
    }

    /// The whole vector, of all ranks' parts.
    pub(crate) fn gather(&self, own: &[f64]) -> Vec<f64> {
        self.ranks().all_gather_known(own, self.parts.iter().map(Range::len))
    }

    fn embedding(&self, x: &[f64]) -> FloatTensor<B> {
        primitive::<B, 2>(x.to_vec(), [self.m, self.n], &self.context.device)
    }

    fn failed(&self, error: impl std::fmt::Display) -> Error {
        failed(B::limits(&self.context.device).device, "mapping", error)
    }

    /// Force-like results on the host: rows of `[k, n]`, and rows of stresses.
    fn fetch(&self, forces: Forces<B>, rows: usize) -> Result<(TensorData, TensorData)> {
        B::finish(&self.context.device, "mapping")?;
        let transaction = Transaction::default().register(tensor::<B, 2>(forces.force));
        let transaction = if rows == 0 {
            transaction.register(tensor::<B, 1>(forces.stress))
        } else {
            transaction.register(tensor::<B, 2>(forces.stress))
        };
        let read = transaction.try_execute().map_err(|error| self.failed(error))?;
        let mut read = read.into_iter();
        match (read.next(), read.next()) {
            (Some(force), Some(stress)) => Ok((force, stress)),
            _ => Err(self.failed("less came back than was asked for")),
        }
    }

    /// What the pairs of this rank add to F `[m, n]` and e `[n]` at an embedding.
    fn found(&self, embedding: FloatTensor<B>) -> Result<(TensorData, TensorData)> {
        self.fetch(B::sammon_forces(&self.problem, embedding, self.variant), 0)
    }

    /// F `[m, n]` and e `[n]` at an embedding.
    pub(crate) fn forces(&self, x: &[f64]) -> Result<(Vec<f64>, Vec<f64>)> {
        let (mut force, mut stress) = self.found(self.embedding(x))?;
        if self.shared() {
            all_sum(&mut force, self.ranks())?;
            all_sum(&mut stress, self.ranks())?;
        }
        Ok((widened(&force), widened(&stress)))
    }

    /// E from the points' stresses, summed in f64.
    pub(crate) fn stress(&self, points: &[f64]) -> f64 {
        vector::dot(points, &self.counts) / (2.0 * self.scale)
    }

    /// The embedding after `steps` steps, and E before each.
    pub(crate) fn steps(&self, x: &[f64], rates: &[f64], steps: usize) -> Result<(Vec<f64>, Vec<f64>)> {
        if self.shared() {
            return self.steps_shared(x, rates, steps);
        }
        let rates = primitive::<B, 1>(rates.to_vec(), [self.n], &self.context.device);
        let moved = B::sammon_steps(&self.problem, self.embedding(x), rates, steps, self.variant);
        let (x, stresses) = self.fetch(moved, steps)?;
        Ok((widened(&x), widened(&stresses).chunks(self.n).map(|points| self.stress(points)).collect()))
    }

    /// The same where every step needs what all ranks found.
    fn steps_shared(&self, x: &[f64], rates: &[f64], steps: usize) -> Result<(Vec<f64>, Vec<f64>)> {
        let (mut x, mut stresses) = (x.to_vec(), Vec::with_capacity(steps));
        for _ in 0..steps {
            let (force, stress) = self.forces(&x)?;
            stresses.push(self.stress(&stress));
            for (x, force) in x.chunks_mut(self.n).zip(force.chunks(self.n)) {
                x.iter_mut().zip(force).zip(rates).for_each(|((x, force), rate)| *x += rate * force);
            }
            self.round(&mut x);
        }
        Ok((x, stresses))
    }

    /// Rounds places to what the device's numbers can be.
    fn round(&self, x: &mut [f64]) {
        if !Self::wide() {
            x.iter_mut().for_each(|x| *x = f64::from(*x as f32));
        }
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
        let mut half = [1, 2, 3, 4, 5].map(|k| 0.5 * vector::dot(row(k), &self.counts));
        self.ranks().all_sum(&mut half);
        let [source, mixed, target, plain_miss, plain_target] = half;
        let mut weights = row(0).to_vec();
        self.ranks().all_sum(&mut weights);
        Ok((Sums { source, mixed, target, plain_miss, plain_target }, weights))
    }

    /// The embedding `[m, n]` on the device, of all ranks' parts; they are numbers that the device's can be.
    fn gathered(&self, own: &[f64]) -> FloatTensor<B> {
        if Self::wide() {
            return self.embedding(&self.gather(own));
        }
        let own: Vec<f32> = own.iter().map(|&x| x as f32).collect();
        let whole = self.ranks().all_gather_known(&own, self.parts.iter().map(Range::len));
        primitive::<B, 2>(whole, [self.m, self.n], &self.context.device)
    }

    /// This rank's part of the sum of what the ranks have `[m, n]`.
    fn sum_parts(&self, values: &TensorData) -> Result<Vec<f64>> {
        let error = |error| self.failed(format!("{error:?}"));
        Ok(if Self::wide() {
            self.ranks().sum_parts(values.as_slice::<f64>().map_err(error)?, &self.parts)
        } else {
            self.ranks().sum_parts(values.as_slice::<f32>().map_err(error)?, &self.parts)
        })
    }

    /// This rank's part of the diagonal of the inverse Hessian that makes a gradient step the Jacobi step with α = 1: with
    /// ∂E/∂y_i = −(2/c)·μ_i·F_i, y_i ← y_i + F_i/W_i is y − (c/(2·μ_i·W_i))·∂E/∂y.
    pub(crate) fn diagonal(&self) -> Vec<f64> {
        let one = self
            .weights
            .iter()
            .zip(&self.counts)
            .map(|(w, mu)| if *w > 0.0 { 0.5 * self.scale / (mu * w) } else { 0.0 });
        let one: Vec<f64> = one.collect();
        self.own(&one.repeat(self.m))
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
        let shared = self.shared();
        let (force, stress) = self.found(if shared { self.gathered(x) } else { self.embedding(x) })?;
        let mut value = [self.stress(&widened(&stress))];
        self.ranks().all_sum(&mut value);
        let [value] = value;
        let mut force = if shared { self.sum_parts(&force)? } else { widened(&force) };
        vector::scale_by(&mut force, -2.0 / self.scale, &self.multiples);
        Ok((if value.is_finite() { value } else { f64::INFINITY }, force))
    }

    fn round(&self, x: &mut [f64]) {
        Work::round(self, x);
    }

    fn dot(&self, a: &[f64], b: &[f64]) -> f64 {
        if !self.shared() {
            return vector::dot(a, b);
        }
        let counts = self.parts.iter().map(|part| vector::chunks(part.len()));
        self.ranks().all_gather_known(&vector::products(a, b), counts).iter().sum()
    }
}
