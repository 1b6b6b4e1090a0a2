//! Weights, strengths and steps, all ways, against the reference.

use std::sync::atomic::Ordering;

use super::{
    Problem, Shape,
    compare::{near, turned},
    exact,
};
use crate::{Matvec, Network, OcnnOps, kernel::FORCED, reference};

impl<B: OcnnOps> Problem<B> {
    /// J, and for each entry how far a right implementation may be off.
    ///
    /// s = Σ_k Δ_k² has a relative error of at most (d + 4)u from d differences, squares and sums. The CPU scales
    /// coordinates first: 2u·V an operand, V the largest, so 8u·V·Σ|Δ_k| in s. An error in s is one in e^−s, relatively.
    /// e^−s itself is off by at most 3 + 2s units in the last place (the bound Vulkan sets; CUDA's is 2 + 1.16s), 2u
    /// each; the factor m and stores add 3u. Below the smallest normal f32 everything counts as 0 somewhere.
    fn couplings(&self) -> (Vec<f64>, Vec<f64>) {
        let Shape { n, d, .. } = self.shape;
        let tiny = f64::from(f32::MIN_POSITIVE);
        let scale = 1.0 / std::f64::consts::SQRT_2;
        let couplings = reference::couplings(&self.points, &self.multiplicity, scale, self.self_coupling, tiny);
        let largest = self.points.iter().fold(0.0f64, |most, v| most.max(v.abs()));
        let u = self.unit();
        let mut errors = vec![0.0; n * n];
        for i in 0..n {
            for j in 0..n {
                let delta = |k: usize| (self.points[k * n + i] - self.points[k * n + j]).abs();
                let s: f64 = (0..d).map(|k| delta(k) * delta(k)).sum();
                let across: f64 = (0..d).map(delta).sum();
                let in_s = u * ((d + 4) as f64 * s + 8.0 * largest * across);
                let relative = in_s.exp_m1() + (3.0 + 2.0 * s) * 2.0 * u + 3.0 * u;
                let floor = 2.0 * tiny * self.multiplicity[j];
                errors[i * n + j] =
                    if i == j { 4.0 * u * couplings[i * n + j] } else { couplings[i * n + j] * relative + floor };
            }
        }
        (couplings, errors)
    }

    pub(super) fn check_weights(&self) -> Result<(), String> {
        let Shape { n, d, .. } = self.shape;
        self.poison();
        let (points, multiplicity) = (self.float2(&self.points, [d, n]), self.float1(&self.multiplicity));
        let found = self.floats((self.suite.weights)(points, multiplicity, self.self_coupling), [n, n])?;
        let (wanted, errors) = self.couplings();
        near(&found, &wanted, |k| errors[k])
    }

    /// A sum of n terms in any order adds at most n·u of the terms' absolute sum.
    pub(super) fn check_strengths(&self) -> Result<(), String> {
        let Shape { n, d, .. } = self.shape;
        self.poison();
        let (points, multiplicity) = (self.float2(&self.points, [d, n]), self.float1(&self.multiplicity));
        let found = self.floats((self.suite.strengths)(points, multiplicity, self.self_coupling), [n])?;
        let (couplings, errors) = self.couplings();
        let wanted = reference::strengths(&couplings, n);
        let u = self.unit();
        near(&found, &wanted, |i| errors[i * n..(i + 1) * n].iter().sum::<f64>() + (n + 2) as f64 * u * wanted[i])
    }

    /// Chaos carries rounding away within some steps, so each step is compared with the reference's from the state
    /// the backend had before it.
    ///
    /// In a step |f| ≤ 1 has an error of 4u; J as above; the sum n·u of Σ J|f|; 1/C and the rest 6u.
    pub(super) fn check_steps(&self, matvec: Matvec, stored: bool) -> Result<(), String> {
        let Shape { n, d, .. } = self.shape;
        let steps = self.shape.steps.min(5);
        let (couplings, errors) = self.couplings();
        let strengths = reference::strengths(&couplings, n);
        let tiny = f64::from(f32::MIN_POSITIVE);
        let inverse: Vec<f64> = strengths.iter().map(|&c| if c < tiny { 0.0 } else { exact::<B>(1.0 / c) }).collect();
        let points = self.float2(&self.points, [d, n]);
        let couplings_there: Vec<f64> = couplings.iter().map(|&j| exact::<B>(j)).collect();
        let network = Network::<B> {
            weights: stored.then(|| self.float2(&couplings_there, [n, n])),
            points,
            multiplicity: self.float1(&self.multiplicity),
            inverse_strength: self.float1(&inverse),
            self_coupling: self.self_coupling,
        };
        self.poison();
        let trajectory = (self.suite.steps)(&network, self.float1(&self.state), steps, matvec);
        let found = self.floats(trajectory, [steps + 1, n])?;
        near(&found[..n], &self.state, |_| 0.0).map_err(|what| format!("row 0, the state: {what}"))?;
        let u = self.unit();
        for step in 0..steps {
            let x = &found[step * n..(step + 1) * n];
            let next = &found[(step + 1) * n..(step + 2) * n];
            let wanted = reference::step(&couplings, &strengths, x, tiny);
            let allowed = |i: usize| {
                if inverse[i] == 0.0 {
                    return 4.0 * u;
                }
                let row = i * n..(i + 1) * n;
                let from_weights: f64 =
                    errors[row.clone()].iter().zip(x).map(|(e, &x)| e * reference::map(x).abs()).sum();
                let terms: f64 = couplings[row.clone()].iter().zip(x).map(|(j, &x)| j * reference::map(x).abs()).sum();
                let all: f64 = couplings[row].iter().sum();
                inverse[i] * (from_weights + (n + 2) as f64 * u * terms + 4.0 * u * all) + 6.0 * u
            };
            near(next, &wanted, allowed).map_err(|what| format!("step {step}: {what}"))?;
        }
        Ok(())
    }

    /// [`Problem::check_steps`] by X-threads whose rows of units share `rows` neurons.
    pub(super) fn check_shared(&self, rows: u32, stored: bool) -> Result<(), String> {
        FORCED.rows.store(rows, Ordering::Relaxed);
        let outcome = self.check_steps(Matvec::XThreads, stored);
        FORCED.rows.store(0, Ordering::Relaxed);
        outcome
    }

    /// Strengths and steps of points spread so wide, in an order in which near ones follow each other, that tiles of
    /// `span` are out of reach of each other.
    pub(super) fn check_reach(&self, rows: u32, span: u32) -> Result<(), String> {
        let far = self.spread(12.0);
        FORCED.rows.store(rows, Ordering::Relaxed);
        FORCED.span.store(span, Ordering::Relaxed);
        let outcome = far.check_strengths().and_then(|()| far.check_steps(Matvec::Auto, false));
        FORCED.rows.store(0, Ordering::Relaxed);
        FORCED.span.store(0, Ordering::Relaxed);
        outcome
    }

    /// The same with points `factor` times as far apart, along a curve.
    fn spread(&self, factor: f64) -> Self {
        let Shape { n, d, .. } = self.shape;
        let by_row = turned(&self.points, n);
        let order = crate::curve::morton(&by_row, d);
        let place = |k: usize| order.iter().map(move |&i| (k, i as usize));
        let points = (0..d).flat_map(place).map(|(k, i)| exact::<B>(factor * self.points[k * n + i])).collect();
        Self { points, ..self.clone() }
    }
}
