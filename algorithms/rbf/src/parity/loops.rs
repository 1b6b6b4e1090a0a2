//! Iterations: gradient steps on centres and widths, conjugate gradients on the weights.
//!
//! Gradient steps: the result of s steps is compared with one step of the reference from the result of s − 1 steps,
//! whose c is exact and whose ln a has the rounding of a.
//!
//! Conjugate gradients: the reference iterates with an error bound for each number, to first order in u: δ(Bp) = |B|·δp
//! plus rounding, δ(p·Bp) = 2|Bp|·δp plus rounding (B is symmetric), quotients and sums as usual. Errors grow by a
//! condition number of B per iteration. Once ρ·ρ or p·Bp is uncertain by a tenth, first order does not suffice, and
//! results only have to be finite.

use super::{
    bounds::{BoundedMatrix, Expected, Rounding},
    inputs::{Inputs, Kind},
    problem::Problem,
    tensors::{near, same},
};
use crate::{
    ops::{RbfOps, transfer::to_dimension_major},
    types::{Aim, Conditions},
};

/// Maximum number of iterations.
const STEPS: usize = 3;

/// Conditions of one kind with their bounds.
struct Part<'a> {
    conditions: &'a Conditions,
    bounded: BoundedMatrix,
    /// 1/N or λ/K.
    share: f64,
}

/// I and its gradient at the start of a step.
struct Step {
    objective: (f64, f64),
    /// ∂I/∂(c, a) `[d + 1, m]`
    gradient: Expected,
}

impl<B: RbfOps> Problem<B> {
    /// The forms `inside` and `edge` for interior and boundary; without interior conditions also exchanged.
    fn aims(&self, inside: Kind, edge: Kind) -> Vec<[(Kind, bool); 2]> {
        let mut aims = vec![[(inside, false), (edge, true)]];
        if self.inputs.size.n == 0 {
            aims.push([(inside, true), (edge, false)]);
        }
        aims
    }

    fn aim(&self, aim: [(Kind, bool); 2]) -> Aim<B> {
        let [interior, boundary] = aim.map(|(kind, edge)| self.rows(kind, edge));
        Aim { interior, boundary, penalty: self.inputs.penalty, whole: None }
    }

    fn parts(
        &self,
        aim: [(Kind, bool); 2],
        centres: &[f64],
        widths: &[f64],
        off: &[f64],
        slopes: bool,
    ) -> Vec<Part<'_>> {
        let of = |((kind, edge), factor): ((Kind, bool), f64)| {
            let conditions = self.inputs.conditions(kind, edge);
            let bounded = BoundedMatrix::new(self.rounding(), conditions, centres, widths, off, slopes);
            Part { conditions, bounded, share: factor / conditions.len() as f64 }
        };
        let parts = aim.into_iter().zip([1.0, self.inputs.penalty]);
        parts.map(of).filter(|part| !part.conditions.is_empty()).collect()
    }

    pub(super) fn check_descend(&self, inside: Kind, edge: Kind) -> Result<(), String> {
        self.aims(inside, edge).into_iter().try_for_each(|aim| self.check_steps(aim))
    }

    fn check_steps(&self, kinds: [(Kind, bool); 2]) -> Result<(), String> {
        let Inputs { centres, widths, weights, size, .. } = &self.inputs;
        let (m, d, u) = (size.m, size.d, self.inputs.unit());
        let aim = self.aim(kinds);
        let (mut c, mut a, mut off) = (self.inputs.major(centres), widths.clone(), Vec::new());
        let mut expected = [Expected::exact(&c), Expected::exact(&a)];
        let mut history = Expected::default();
        let mut rates = [0.0; 2];
        for steps in 0..=STEPS {
            let shape = self.shape(centres, widths);
            let run = || {
                self.poison();
                (self.suite.descend)(&aim, shape.clone(), self.float1(weights), rates, steps)
            };
            let (first, second) = (run(), run());
            let what = |part: &str| format!("{steps} steps, {part}");
            let objectives = self.compare(&what("I"), first.1, [steps], &history)?;
            c = self.compare(&what("c"), first.0.centres, [d, m], &expected[0])?;
            a = self.compare(&what("a"), first.0.widths, [m], &expected[1])?;
            same(&c, &self.floats(second.0.centres, [d, m])?).map_err(|why| what(&why))?;
            same(&a, &self.floats(second.0.widths, [m])?).map_err(|why| what(&why))?;
            same(&objectives, &self.floats(second.1, [steps])?).map_err(|why| what(&why))?;
            self.untouched("the old c", shape.centres, [d, m], &self.inputs.major(centres))?;
            self.untouched("the old a", shape.widths, [m], widths)?;

            let parts = self.parts(kinds, &to_dimension_major(&c, m), &a, &off, true);
            let step = step(&parts, weights, self.inputs.size.d, u);
            if steps == 0 {
                // Two different rates, which detects implementations that mix them up.
                rates = [1.0, 0.75].map(|share| self.inputs.exact(share * rate_for(&step.gradient, &a)));
            }
            history.push(step.objective);
            let (next_a, next_off) = self.next_widths(&a, &off, &step.gradient.of(d * m..(d + 1) * m), rates[1]);
            expected = [next_centres(&c, &step.gradient.of(0..d * m), rates[0], u), next_a];
            off = next_off;
        }
        Ok(())
    }

    /// a·exp(−η·a·∂I/∂a), and the relative error with which an implementation that keeps ln a holds it.
    fn next_widths(&self, widths: &[f64], off: &[f64], by_width: &Expected, rate: f64) -> (Expected, Vec<f64>) {
        let rounding = self.rounding();
        let (u, mut next, mut errors) = (rounding.u, Expected::default(), Vec::new());
        for (k, a) in widths.iter().enumerate() {
            let (slope, error) = (by_width.values[k], by_width.errors[k]);
            let z = -rate * a * slope;
            let (q, to) = (a.ln(), a * z.exp());
            let in_z = rate * a * error + 5.0 * u * z.abs();
            let rounded = in_log(q, u) + u * (q.abs() + to.ln().abs()) + rounding.of_exp(z) + rounding.of_exp(to.ln());
            next.push((to, to * (in_z + rounded + 4.0 * u + off.get(k).copied().unwrap_or(0.0))));
            errors.push(in_log(to.ln(), u) + u * to.ln().abs() + rounding.of_exp(to.ln()) + 2.0 * u);
        }
        (next, errors)
    }

    pub(super) fn check_conjugate(&self, inside: Kind, edge: Kind) -> Result<(), String> {
        self.aims(inside, edge).into_iter().try_for_each(|aim| self.check_iterations(aim))
    }

    /// Number of iterations whose results are compared.
    #[cfg(test)]
    pub(super) fn certain(&self, inside: Kind, edge: Kind) -> usize {
        let Inputs { centres, widths, weights, .. } = &self.inputs;
        let parts = self.parts([(inside, false), (edge, true)], centres, widths, &[], false);
        let first = Conjugate::new(&parts, weights, self.rounding());
        std::iter::successors(Some(first), |now| now.next(&parts)).take(STEPS + 1).count() - 1
    }

    fn check_iterations(&self, kinds: [(Kind, bool); 2]) -> Result<(), String> {
        let Inputs { centres, widths, weights, size, .. } = &self.inputs;
        let (aim, shape) = (self.aim(kinds), self.shape(centres, widths));
        let parts = self.parts(kinds, centres, widths, &[], false);
        let mut state = Some(Conjugate::new(&parts, weights, self.rounding()));
        let mut history = Expected::default();
        for iterations in 0..=STEPS {
            let start = self.float1(weights);
            let run = || {
                self.poison();
                (self.suite.conjugate)(&aim, &shape, start.clone(), iterations)
            };
            let ((w, norms), again) = (run(), run());
            let what = |part: &str| format!("{iterations} iterations, {part}");
            let [w, norms, again_w, again_norms] = [
                self.floats(w, [size.m]),
                self.floats(norms, [iterations + 1]),
                self.floats(again.0, [size.m]),
                self.floats(again.1, [iterations + 1]),
            ];
            let (w, norms) = (w?, norms?);
            same(&w, &again_w?).map_err(|why| what(&why))?;
            same(&norms, &again_norms?).map_err(|why| what(&why))?;
            self.untouched("the old w", start, [size.m], weights)?;
            if !w.iter().chain(&norms).all(|x| x.is_finite()) {
                return Err(what("not finite"));
            }
            let Some(now) = &state else { continue };
            history.push(now.norm);
            near(&w, &now.weights).map_err(|why| what(&format!("w{why}")))?;
            near(&norms, &history).map_err(|why| what(&format!("norm{why}")))?;
            state = now.next(&parts);
        }
        Ok(())
    }
}

/// Error bound of ln a: 3 ulp, and 2⁻²¹ in f32 (Vulkan).
fn in_log(q: f64, u: f64) -> f64 {
    (6.0 * u * q.abs()).max(8.0 * u)
}

/// A rate for which the largest relative step is a twentieth.
fn rate_for(gradient: &Expected, widths: &[f64]) -> f64 {
    let m = widths.len();
    let relative = |(at, slope): (usize, &f64)| {
        let a = widths[at % m];
        if at < gradient.values.len() - m { (slope / a).abs() } else { (slope * a).abs() }
    };
    let fastest = gradient.values.iter().enumerate().map(relative).fold(0.0, f64::max);
    if fastest > 0.0 { 0.05 / fastest } else { 1.0 }
}

/// I and its gradient.
fn step(parts: &[Part<'_>], weights: &[f64], d: usize, u: f64) -> Step {
    let mut gradient = Expected::zeros((d + 1) * weights.len());
    let mut objective = (0.0, 0.0);
    for Part { conditions, bounded, share } in parts {
        let residual = bounded.residual(&Expected::exact(weights), &conditions.target);
        gradient.add(*share, 4.0 * u, &bounded.gradient(weights, &residual));
        for (r, off) in residual.values.iter().zip(&residual.errors) {
            objective.0 += 0.5 * share * r * r;
            objective.1 += 0.5 * share * (2.0 * r.abs() * off + off * off);
            objective.1 += 0.5 * share * (conditions.len() + 6) as f64 * u * r * r;
        }
    }
    Step { objective, gradient }
}

/// c − η·∂I/∂c.
fn next_centres(centres: &[f64], by_centre: &Expected, rate: f64, u: f64) -> Expected {
    let mut next = Expected::default();
    for (c, (slope, error)) in centres.iter().zip(by_centre.values.iter().zip(&by_centre.errors)) {
        let to = c - rate * slope;
        next.push((to, rate * (error + 3.0 * u * slope.abs()) + u * to.abs()));
    }
    next
}

/// The state of an iteration with error bounds.
struct Conjugate {
    weights: Expected,
    normal_residual: Expected,
    direction: Expected,
    /// ρ·ρ.
    norm: (f64, f64),
    rounding: Rounding,
}

impl Conjugate {
    /// ρ = Σ share·Aᵀ(t − A·w), computed as such or as the difference of two sums.
    fn new(parts: &[Part<'_>], weights: &[f64], rounding: Rounding) -> Self {
        let (m, u) = (weights.len(), rounding.u);
        let weights = Expected::exact(weights);
        let mut normal_residual = Expected::zeros(m);
        for Part { conditions, bounded, share } in parts {
            let residual = bounded.residual(&weights, &conditions.target);
            let mut part = bounded.transposed_times(&residual);
            let both: Vec<f64> = bounded
                .row_sizes(&weights.values)
                .iter()
                .zip(&conditions.target)
                .map(|(product, target)| product + target.abs())
                .collect();
            let terms = (conditions.len() + m + 6) as f64 * u;
            part.errors.iter_mut().zip(bounded.sizes(&both)).for_each(|(error, size)| *error += terms * size);
            normal_residual.add(-share, 5.0 * u, &part);
        }
        let norm = square(&normal_residual, u);
        Self { weights, direction: normal_residual.clone(), normal_residual, norm, rounding }
    }

    /// The next iteration; `None` once the bounds are too wide.
    fn next(&self, parts: &[Part<'_>]) -> Option<Self> {
        let (p, u) = (&self.direction, self.rounding.u);
        let m = p.values.len();
        if self.norm == (0.0, 0.0) {
            return Some(Self {
                weights: self.weights.clone(),
                normal_residual: self.normal_residual.clone(),
                direction: p.clone(),
                ..*self
            });
        }
        let (mut product, mut rounded) = (Expected::zeros(m), Expected::zeros(m));
        let exact = Expected::exact(&p.values);
        let mut curvature = (0.0, 0.0);
        for Part { conditions, bounded, share } in parts {
            product.add(*share, 5.0 * u, &bounded.transposed_times(&bounded.times(p)));
            let rows = bounded.times(&exact);
            rounded.add(*share, 5.0 * u, &bounded.transposed_times(&rows));
            // Computed as |A·p|², it has as many terms.
            let terms = (conditions.len() + m + 6) as f64 * u;
            let sizes = bounded.row_sizes(&p.values);
            curvature.1 += share * terms * sizes.iter().zip(&rows.values).map(|(s, y)| s * y.abs()).sum::<f64>();
        }
        for k in 0..m {
            let (p, q) = (p.values[k], product.values[k]);
            curvature.0 += p * q;
            curvature.1 += p.abs() * rounded.errors[k] + 2.0 * q.abs() * self.direction.errors[k];
            curvature.1 += (m + 2) as f64 * u * (p * q).abs();
        }
        let length = quotient(self.norm, curvature, u)?;
        let (mut weights, mut normal_residual) = (self.weights.clone(), self.normal_residual.clone());
        advance(&mut weights, length, p, u);
        advance(&mut normal_residual, (-length.0, length.1), &product, u);
        let norm = square(&normal_residual, u);
        let ratio = quotient(norm, self.norm, u)?;
        let mut direction = normal_residual.clone();
        advance(&mut direction, ratio, p, u);
        Some(Self { weights, normal_residual, direction, norm, rounding: self.rounding })
    }
}

/// x·x.
fn square(x: &Expected, u: f64) -> (f64, f64) {
    let terms = (x.values.len() + 2) as f64 * u;
    let squares = x.values.iter().zip(&x.errors);
    squares.fold((0.0, 0.0), |sum, (x, e)| (sum.0 + x * x, sum.1 + e * (2.0 * x.abs() + e) + terms * x * x))
}

/// a/b, if both are certain within a tenth.
fn quotient(a: (f64, f64), b: (f64, f64), u: f64) -> Option<(f64, f64)> {
    let certain = |x: (f64, f64)| x.1 < 0.1 * x.0;
    let value = a.0 / b.0;
    (certain(a) && certain(b)).then(|| (value, value * (a.1 / a.0 + b.1 / b.0 + 10.0 * u)))
}

/// x + factor·y.
fn advance(x: &mut Expected, factor: (f64, f64), y: &Expected, u: f64) {
    for k in 0..x.values.len() {
        let step = factor.0 * y.values[k];
        x.values[k] += step;
        x.errors[k] += factor.0.abs() * y.errors[k] + factor.1 * (y.values[k].abs() + y.errors[k]);
        x.errors[k] += u * (step.abs() + 2.0 * x.values[k].abs());
    }
}
