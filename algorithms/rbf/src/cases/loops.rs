//! Whole loops: gradient steps on the shape, conjugate gradients on the weights.
//!
//! Steps: where s steps lead is compared with one step of the reference from where s − 1 of them led, as far as an
//! implementation may hold it otherwise than it gave it: c as it stands, ln a off by the rounding of a.
//!
//! Conjugate gradients: the reference takes the iterations with an error beside each number, to first order in u:
//! δ(Bp) = |B|·δp and what the product rounds, δ(p·Bp) = 2|Bp|·δp and the rounding (B is symmetric), quotients and sums
//! as usual. That grows with every iteration, by a condition of B. Once a tenth of ρ·ρ or p·Bp is uncertain the
//! rest of the series is not small any more, and only that numbers are numbers is asked for.

use super::{
    Problem,
    bounds::{Known, Rounding, Wanted},
    inputs::{Inputs, Kind},
    tensors::{near, same},
};
use crate::{
    Conditions,
    device::turned,
    ops::{Aim, RbfOps},
};

/// Iterations that are tried, at most.
const STEPS: usize = 3;

/// Conditions of one kind as the loops know them.
struct Part<'a> {
    conditions: &'a Conditions,
    known: Known,
    /// 1/N or λ/K.
    share: f64,
}

/// What a gradient step starts with and leads to.
struct Step {
    objective: (f64, f64),
    /// ∂I/∂(c, a) `[d + 1, m]`
    gradient: Wanted,
}

impl<B: RbfOps> Problem<B> {
    /// `inside` and `edge`, as they are and, should there be nothing inside, the other way round too.
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
            let known = Known::new(self.rounding(), conditions, centres, widths, off, slopes);
            Part { conditions, known, share: factor / conditions.len() as f64 }
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
        let mut wanted = [Wanted::exact(&c), Wanted::exact(&a)];
        let mut history = Wanted::default();
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
            c = self.compare(&what("c"), first.0.centres, [d, m], &wanted[0])?;
            a = self.compare(&what("a"), first.0.widths, [m], &wanted[1])?;
            same(&c, &self.floats(second.0.centres, [d, m])?).map_err(|why| what(&why))?;
            same(&a, &self.floats(second.0.widths, [m])?).map_err(|why| what(&why))?;
            same(&objectives, &self.floats(second.1, [steps])?).map_err(|why| what(&why))?;
            self.untouched("the old c", shape.centres, [d, m], &self.inputs.major(centres))?;
            self.untouched("the old a", shape.widths, [m], widths)?;

            let parts = self.parts(kinds, &turned(&c, m), &a, &off, true);
            let step = step(&parts, weights, self.inputs.size.d, u);
            if steps == 0 {
                // Two different ones, so that who takes one for the other is found out.
                rates = [1.0, 0.75].map(|share| self.inputs.exact(share * rate_for(&step.gradient, &a)));
            }
            history.push(step.objective);
            let (next_a, next_off) = self.next_widths(&a, &off, &step.gradient.of(d * m..(d + 1) * m), rates[1]);
            wanted = [next_centres(&c, &step.gradient.of(0..d * m), rates[0], u), next_a];
            off = next_off;
        }
        Ok(())
    }

    /// a·exp(−η·a·∂I/∂a), and how well an implementation that goes on knows it.
    fn next_widths(&self, widths: &[f64], off: &[f64], by_width: &Wanted, rate: f64) -> (Wanted, Vec<f64>) {
        let rounding = self.rounding();
        let (u, mut next, mut known) = (rounding.u, Wanted::default(), Vec::new());
        for (k, a) in widths.iter().enumerate() {
            let (slope, error) = (by_width.values[k], by_width.errors[k]);
            let z = -rate * a * slope;
            let (q, to) = (a.ln(), a * z.exp());
            let in_z = rate * a * error + 5.0 * u * z.abs();
            let rounded = in_log(q, u) + u * (q.abs() + to.ln().abs()) + rounding.of_exp(z) + rounding.of_exp(to.ln());
            next.push((to, to * (in_z + rounded + 4.0 * u + off.get(k).copied().unwrap_or(0.0))));
            known.push(in_log(to.ln(), u) + u * to.ln().abs() + rounding.of_exp(to.ln()) + 2.0 * u);
        }
        (next, known)
    }

    pub(super) fn check_conjugate(&self, inside: Kind, edge: Kind) -> Result<(), String> {
        self.aims(inside, edge).into_iter().try_for_each(|aim| self.check_iterations(aim))
    }

    /// Iterations after which results are compared.
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
        let mut history = Wanted::default();
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

/// How far ln a may be off: 3 units in the last place, and 2⁻²¹ in f32 (Vulkan).
fn in_log(q: f64, u: f64) -> f64 {
    (6.0 * u * q.abs()).max(8.0 * u)
}

/// A rate with which the fastest moves by a twentieth.
fn rate_for(gradient: &Wanted, widths: &[f64]) -> f64 {
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
    let mut gradient = Wanted::zeros((d + 1) * weights.len());
    let mut objective = (0.0, 0.0);
    for Part { conditions, known, share } in parts {
        let residual = known.residual(&Wanted::exact(weights), &conditions.target);
        gradient.add(*share, 4.0 * u, &known.gradient(weights, &residual));
        for (r, off) in residual.values.iter().zip(&residual.errors) {
            objective.0 += 0.5 * share * r * r;
            objective.1 += 0.5 * share * (2.0 * r.abs() * off + off * off);
            objective.1 += 0.5 * share * (conditions.len() + 6) as f64 * u * r * r;
        }
    }
    Step { objective, gradient }
}

/// c − η·∂I/∂c.
fn next_centres(centres: &[f64], by_centre: &Wanted, rate: f64, u: f64) -> Wanted {
    let mut next = Wanted::default();
    for (c, (slope, error)) in centres.iter().zip(by_centre.values.iter().zip(&by_centre.errors)) {
        let to = c - rate * slope;
        next.push((to, rate * (error + 3.0 * u * slope.abs()) + u * to.abs()));
    }
    next
}

/// An iteration's numbers, each with its error.
struct Conjugate {
    weights: Wanted,
    left: Wanted,
    direction: Wanted,
    /// ρ·ρ.
    norm: (f64, f64),
    rounding: Rounding,
}

impl Conjugate {
    /// ρ = Σ share·Aᵀ(t − A·w), whether that is what is computed or the difference of two sums.
    fn new(parts: &[Part<'_>], weights: &[f64], rounding: Rounding) -> Self {
        let (m, u) = (weights.len(), rounding.u);
        let weights = Wanted::exact(weights);
        let mut left = Wanted::zeros(m);
        for Part { conditions, known, share } in parts {
            let residual = known.residual(&weights, &conditions.target);
            let mut part = known.turned(&residual);
            let both: Vec<f64> = known
                .row_sizes(&weights.values)
                .iter()
                .zip(&conditions.target)
                .map(|(product, target)| product + target.abs())
                .collect();
            let terms = (conditions.len() + m + 6) as f64 * u;
            part.errors.iter_mut().zip(known.sizes(&both)).for_each(|(error, size)| *error += terms * size);
            left.add(-share, 5.0 * u, &part);
        }
        let norm = square(&left, u);
        Self { weights, direction: left.clone(), left, norm, rounding }
    }

    /// The next iteration's; none once too little is certain.
    fn next(&self, parts: &[Part<'_>]) -> Option<Self> {
        let (p, u) = (&self.direction, self.rounding.u);
        let m = p.values.len();
        if self.norm == (0.0, 0.0) {
            return Some(Self {
                weights: self.weights.clone(),
                left: self.left.clone(),
                direction: p.clone(),
                ..*self
            });
        }
        let (mut product, mut rounded) = (Wanted::zeros(m), Wanted::zeros(m));
        let exact = Wanted::exact(&p.values);
        let mut curvature = (0.0, 0.0);
        for Part { conditions, known, share } in parts {
            product.add(*share, 5.0 * u, &known.turned(&known.times(p)));
            let rows = known.times(&exact);
            rounded.add(*share, 5.0 * u, &known.turned(&rows));
            // As |A·p|² it has as many terms.
            let terms = (conditions.len() + m + 6) as f64 * u;
            let sizes = known.row_sizes(&p.values);
            curvature.1 += share * terms * sizes.iter().zip(&rows.values).map(|(s, y)| s * y.abs()).sum::<f64>();
        }
        for k in 0..m {
            let (p, q) = (p.values[k], product.values[k]);
            curvature.0 += p * q;
            curvature.1 += p.abs() * rounded.errors[k] + 2.0 * q.abs() * self.direction.errors[k];
            curvature.1 += (m + 2) as f64 * u * (p * q).abs();
        }
        let length = quotient(self.norm, curvature, u)?;
        let (mut weights, mut left) = (self.weights.clone(), self.left.clone());
        advance(&mut weights, length, p, u);
        advance(&mut left, (-length.0, length.1), &product, u);
        let norm = square(&left, u);
        let turn = quotient(norm, self.norm, u)?;
        let mut direction = left.clone();
        advance(&mut direction, turn, p, u);
        Some(Self { weights, left, direction, norm, rounding: self.rounding })
    }
}

/// x·x.
fn square(x: &Wanted, u: f64) -> (f64, f64) {
    let terms = (x.values.len() + 2) as f64 * u;
    let squares = x.values.iter().zip(&x.errors);
    squares.fold((0.0, 0.0), |sum, (x, e)| (sum.0 + x * x, sum.1 + e * (2.0 * x.abs() + e) + terms * x * x))
}

/// a/b, if both are certain to a tenth.
fn quotient(a: (f64, f64), b: (f64, f64), u: f64) -> Option<(f64, f64)> {
    let certain = |x: (f64, f64)| x.1 < 0.1 * x.0;
    let value = a.0 / b.0;
    (certain(a) && certain(b)).then(|| (value, value * (a.1 / a.0 + b.1 / b.0 + 10.0 * u)))
}

/// x + factor·y.
fn advance(x: &mut Wanted, factor: (f64, f64), y: &Wanted, u: f64) {
    for k in 0..x.values.len() {
        let step = factor.0 * y.values[k];
        x.values[k] += step;
        x.errors[k] += factor.0.abs() * y.errors[k] + factor.1 * (y.values[k].abs() + y.errors[k]);
        x.errors[k] += u * (step.abs() + 2.0 * x.values[k].abs());
    }
}
