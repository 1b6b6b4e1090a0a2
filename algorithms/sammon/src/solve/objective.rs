//! Objective function of a mapping on its device: stress, gradient, sums over pairs.

use std::ops::Range;

use burn::tensor::{TensorData, ops::FloatTensor};
use firebox_core::{
    Communicator, Context, Error, Result,
    tensor::{all_float_data, all_sum, failed, float_values, primitive, widened},
};

use super::{
    lbfgs::Function,
    vector::{self, CHUNK},
};
use crate::{
    ops::SammonOps,
    types::{MEASURES, Problem, Variant},
};

/// Objective function E of a problem. Each rank computes the pairs of its share, and results are summed over ranks.
pub(crate) struct Objective<'a, B: SammonOps> {
    pub(crate) problem: Problem<B>,
    pub(crate) context: &'a Context<B>,
    pub(crate) n: usize,
    pub(crate) m: usize,
    variant: Variant,
    counts: Vec<f64>,
    /// Range of a vector of m × n numbers that each rank holds: whole chunks of [`vector::products`].
    parts: Vec<Range<usize>>,
    /// μ of each number of this rank's part.
    multiplicities: Vec<f64>,
    /// Σ_j μ_j·w_ij of each point `[n]`.
    pub(crate) weights: Vec<f64>,
    /// c = Σ_{i<j} μ_i·μ_j·w_ij·δ_ij².
    pub(crate) scale: f64,
}

/// Sums over all pairs i < j with factor μ_i·μ_j.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct PairSums {
    /// Σ w·δ².
    pub(crate) source: f64,
    /// Σ w·δ·d.
    pub(crate) mixed: f64,
    /// Σ w·d².
    pub(crate) target: f64,
    /// Σ (δ − d)² over pairs that are not missing.
    pub(crate) unweighted_residual: f64,
    /// Σ d² over pairs that are not missing.
    pub(crate) unweighted_target: f64,
}

impl PairSums {
    /// Stress E, up to the rounding of the sums.
    pub(crate) fn stress(&self) -> f64 {
        ((self.source - 2.0 * self.mixed + self.target) / self.source).max(0.0)
    }

    /// Scale β* of the embedding that minimizes the stress, eq. (6).
    pub(crate) fn optimal_scale(&self) -> Option<f64> {
        Some(self.mixed / self.target).filter(|beta| *beta > 0.0 && beta.is_finite())
    }

    /// Kruskal's stress-1.
    pub(crate) fn stress_1(&self) -> f64 {
        (self.unweighted_residual / self.unweighted_target).sqrt()
    }
}

impl<'a, B: SammonOps> Objective<'a, B> {
    /// Objective of a problem whose points have multiplicities `counts`, and the sums over its pairs at the embedding
    /// `start` `[m, n]`.
    ///
    /// # Errors
    /// If c is not positive and finite.
    pub(crate) fn new(
        problem: Problem<B>,
        counts: &[f64],
        variant: Variant,
        context: &'a Context<B>,
        start: &[f64],
    ) -> Result<(Self, PairSums)> {
        let n = counts.len();
        let m = start.len() / n;
        let parts = context.communicator.share().all(m * n, CHUNK);
        let multiplicities = counts.repeat(m)[parts[context.communicator.rank()].clone()].to_vec();
        let (weights, scale) = (Vec::new(), 1.0);
        let counts = counts.to_vec();
        let unscaled = Self { problem, context, n, m, variant, counts, parts, multiplicities, weights, scale };
        let (sums, weights) = unscaled.measure(start)?;
        if !(sums.source > 0.0 && sums.source.is_finite()) {
            let what =
                "these distances have no finite weights: they differ too much in size, or are all 0 in this precision";
            let help = "give points that differ by more than the precision, or leave out outliers";
            return Err(Error::input(what, help));
        }
        Ok((Self { weights, scale: sums.source, ..unscaled }, sums))
    }

    /// The objective of embeddings with the dimensions of `x` `[m, n]`.
    pub(crate) fn in_dimensions(&self, x: &[f64]) -> Result<Self> {
        Ok(Self::new(self.problem.clone(), &self.counts, self.variant, self.context, x)?.0)
    }

    /// Multiplicity of each point.
    pub(crate) fn counts(&self) -> &[f64] {
        &self.counts
    }

    fn ranks(&self) -> &(dyn Communicator + 'static) {
        &*self.context.communicator
    }

    /// Returns true if the pairs are distributed over several ranks.
    pub(crate) fn is_distributed(&self) -> bool {
        self.ranks().size() > 1
    }

    /// This rank's part of a vector of m × n numbers.
    pub(crate) fn local_part(&self, whole: &[f64]) -> Vec<f64> {
        whole[self.parts[self.ranks().rank()].clone()].to_vec()
    }

    /// Gathers the whole vector from all ranks' parts.
    pub(crate) fn gather(&self, own: &[f64]) -> Vec<f64> {
        self.ranks().all_gather_known(own, self.parts.iter().map(Range::len))
    }

    fn embedding(&self, x: &[f64]) -> FloatTensor<B> {
        primitive::<B, 2>(x.to_vec(), [self.m, self.n], &self.context.device)
    }

    fn failed(&self, error: impl std::fmt::Display) -> Error {
        failed(B::limits(&self.context.device).device, "mapping", error)
    }

    /// Reads an embedding or forces `[m, n]` and stresses to the host in one transaction.
    fn read(&self, values: FloatTensor<B>, stresses: FloatTensor<B>) -> Result<(TensorData, TensorData)> {
        B::finish(&self.context.device, "mapping")?;
        let read = all_float_data::<B>(vec![values, stresses], "mapping")?;
        let [values, stresses] = read.try_into().map_err(|_| self.failed("the device returned too few values"))?;
        Ok((values, stresses))
    }

    /// Contribution of this rank's pairs to F `[m, n]` and e `[n]`.
    fn local_forces(&self, embedding: FloatTensor<B>) -> Result<(TensorData, TensorData)> {
        let forces = B::sammon_forces(&self.problem, embedding, self.variant);
        self.read(forces.force, forces.stress)
    }

    /// F `[m, n]` and e `[n]` at an embedding.
    pub(crate) fn forces(&self, x: &[f64]) -> Result<(Vec<f64>, Vec<f64>)> {
        let (mut force, mut stress) = self.local_forces(self.embedding(x))?;
        if self.is_distributed() {
            all_sum(&mut force, self.ranks())?;
            all_sum(&mut stress, self.ranks())?;
        }
        Ok((widened(&force), widened(&stress)))
    }

    /// E from the points' stresses, summed in f64.
    pub(crate) fn stress(&self, points: &[f64]) -> f64 {
        vector::dot(points, &self.counts) / (2.0 * self.scale)
    }

    /// Embedding after `steps` steps, and E before each.
    pub(crate) fn steps(&self, x: &[f64], rates: &[f64], steps: usize) -> Result<(Vec<f64>, Vec<f64>)> {
        if self.is_distributed() {
            return self.distributed_steps(x, rates, steps);
        }
        let rates = primitive::<B, 1>(rates.to_vec(), [self.n], &self.context.device);
        let taken = B::sammon_steps(&self.problem, self.embedding(x), rates, steps, self.variant);
        let (x, stresses) = self.read(taken.embedding, taken.stresses)?;
        Ok((widened(&x), widened(&stresses).chunks(self.n).map(|points| self.stress(points)).collect()))
    }

    /// [`steps`](Self::steps) with forces summed over ranks before each step.
    fn distributed_steps(&self, x: &[f64], rates: &[f64], steps: usize) -> Result<(Vec<f64>, Vec<f64>)> {
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

    /// Rounds an embedding to the device's precision.
    fn round(&self, x: &mut [f64]) {
        if !Self::is_f64() {
            x.iter_mut().for_each(|x| *x = f64::from(*x as f32));
        }
    }

    /// Sums over all pairs, and Σ_j μ_j·w_ij of each point.
    pub(crate) fn measure(&self, x: &[f64]) -> Result<(PairSums, Vec<f64>)> {
        let rows = B::sammon_measure(&self.problem, self.embedding(x));
        B::finish(&self.context.device, "measuring")?;
        let rows = float_values::<B>(rows, "measuring")?;
        if rows.len() != MEASURES * self.n {
            return Err(self.failed("the device returned too few values"));
        }
        let row = |k: usize| &rows[k * self.n..(k + 1) * self.n];
        let mut half = [1, 2, 3, 4, 5].map(|k| 0.5 * vector::dot(row(k), &self.counts));
        self.ranks().all_sum(&mut half);
        let [source, mixed, target, unweighted_residual, unweighted_target] = half;
        let mut weights = row(0).to_vec();
        self.ranks().all_sum(&mut weights);
        Ok((PairSums { source, mixed, target, unweighted_residual, unweighted_target }, weights))
    }

    /// Gathers the embedding `[m, n]` on the device from all ranks' parts, which are exact in the device's precision.
    fn gathered(&self, own: &[f64]) -> FloatTensor<B> {
        if Self::is_f64() {
            return self.embedding(&self.gather(own));
        }
        let own: Vec<f32> = own.iter().map(|&x| x as f32).collect();
        let whole = self.ranks().all_gather_known(&own, self.parts.iter().map(Range::len));
        primitive::<B, 2>(whole, [self.m, self.n], &self.context.device)
    }

    /// This rank's part of the sum over ranks of `values` `[m, n]`.
    fn sum_parts(&self, values: &TensorData) -> Result<Vec<f64>> {
        let error = |error| self.failed(format!("{error:?}"));
        Ok(if Self::is_f64() {
            self.ranks().sum_parts(values.as_slice::<f64>().map_err(error)?, &self.parts)
        } else {
            self.ranks().sum_parts(values.as_slice::<f32>().map_err(error)?, &self.parts)
        })
    }

    /// This rank's part of the diagonal inverse Hessian with which a gradient step is the Jacobi step with α = 1: since
    /// ∂E/∂y_i = −(2/c)·μ_i·F_i, y_i + F_i/W_i = y_i − (c/(2·μ_i·W_i))·∂E/∂y_i, with W_i = Σ_j μ_j·w_ij.
    pub(crate) fn diagonal(&self) -> Vec<f64> {
        let by_point = self.weights.iter().zip(&self.counts);
        let by_point = by_point.map(|(w, mu)| if *w > 0.0 { 0.5 * self.scale / (mu * w) } else { 0.0 });
        self.local_part(&by_point.collect::<Vec<f64>>().repeat(self.m))
    }

    /// Relative increase of a stress that rounding of the sums may cause.
    pub(crate) fn rounding_noise() -> f64 {
        if Self::is_f64() { 1e-12 } else { 1e-5 }
    }

    /// Machine epsilon of the device's floats.
    pub(crate) fn epsilon() -> f64 {
        if Self::is_f64() { f64::EPSILON } else { f64::from(f32::EPSILON) }
    }

    /// Returns true if the device computes in f64.
    fn is_f64() -> bool {
        size_of::<B::FloatElem>() == 8
    }
}

impl<B: SammonOps> Function for &Objective<'_, B> {
    fn evaluate(&mut self, x: &[f64]) -> Result<(f64, Vec<f64>)> {
        let distributed = self.is_distributed();
        let (force, stress) = self.local_forces(if distributed { self.gathered(x) } else { self.embedding(x) })?;
        let mut value = [self.stress(&widened(&stress))];
        self.ranks().all_sum(&mut value);
        let [value] = value;
        let mut force = if distributed { self.sum_parts(&force)? } else { widened(&force) };
        vector::scale_by(&mut force, -2.0 / self.scale, &self.multiplicities);
        Ok((if value.is_finite() { value } else { f64::INFINITY }, force))
    }

    fn round(&self, x: &mut [f64]) {
        Objective::round(self, x);
    }

    fn dot(&self, a: &[f64], b: &[f64]) -> f64 {
        let counts = self.parts.iter().map(|part| vector::chunks(part.len()));
        self.ranks().all_gather_known(&vector::products(a, b), counts).iter().sum()
    }
}
