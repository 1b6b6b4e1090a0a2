//! Weights, strengths and steps in all variants against the reference.

use std::ops::Range;

use burn::tensor::ops::FloatTensor;
use firebox_core::Share;

use super::{
    compare::{check_close, transposed},
    problem::{Problem, RANKS, Shape, rounded},
    reference,
};
use crate::{
    ops::{OcnnOps, Suite},
    solve::morton::morton_order,
    types::{Matvec, Network, Parts, rows},
};

/// Runs a check with `rows` neurons per row of units and `span` per tile on CubeCL backends, 0 for the default.
fn with_overrides<R>(rows: u32, span: u32, check: impl FnOnce() -> R) -> R {
    #[cfg(feature = "cube")]
    let set = |rows, span| {
        use crate::ops::cube::step::launch::TEST_OVERRIDES;
        TEST_OVERRIDES.rows.store(rows, std::sync::atomic::Ordering::Relaxed);
        TEST_OVERRIDES.span.store(span, std::sync::atomic::Ordering::Relaxed);
    };
    #[cfg(not(feature = "cube"))]
    let set = |_: u32, _: u32| ();
    set(rows, span);
    let outcome = check();
    set(0, 0);
    outcome
}

/// Inputs and bounds of a check of steps: J, the error bounds of its entries, C and 1/C.
struct StepInputs {
    couplings: Vec<f64>,
    errors: Vec<f64>,
    strengths: Vec<f64>,
    inverse: Vec<f64>,
}

/// Strengths or weights of rows of neurons.
type Couplings<B> = fn(FloatTensor<B>, FloatTensor<B>, bool, Range<usize>) -> FloatTensor<B>;

impl<B: OcnnOps> Problem<B> {
    /// J, and an error bound for each entry.
    ///
    /// s = Σ_k Δ_k² has a relative error of at most (d + 4)u from d differences, squares and sums. The CPU scales
    /// coordinates first, with an error of 2u·V per operand, V the largest, hence 8u·V·Σ|Δ_k| in s. An absolute error
    /// in s is a relative one in e^−s. The exponential has an error of at most 3 + 2s units in the last place (Vulkan's
    /// bound; CUDA's is 2 + 1.16s) of 2u each; the factor m and stores add 3u. Values below the smallest normal f32 may
    /// be flushed to 0.
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
        let (wanted, errors) = self.couplings();
        self.check_rows(self.suite.weights, |rows| [rows, self.shape.n], &wanted, |k| errors[k])
    }

    /// A sum of n terms in any order has an error of at most n·u times the sum of magnitudes.
    pub(super) fn check_strengths(&self) -> Result<(), String> {
        let (n, u) = (self.shape.n, self.unit());
        let (couplings, errors) = self.couplings();
        let wanted = reference::strengths(&couplings, n);
        let allowed = |i: usize| errors[i * n..(i + 1) * n].iter().sum::<f64>() + (n + 2) as f64 * u * wanted[i];
        self.check_rows(self.suite.strengths, |rows| [rows], &wanted, allowed)
    }

    /// Checks an operation on the points whose rows ranks share; `shape` is that of a number of rows.
    fn check_rows<const D: usize>(
        &self,
        operation: Couplings<B>,
        shape: impl Fn(usize) -> [usize; D],
        wanted: &[f64],
        allowed: impl Fn(usize) -> f64,
    ) -> Result<(), String> {
        let Shape { n, d, .. } = self.shape;
        for size in RANKS {
            self.poison();
            let found = self.by_ranks(size, |range| {
                let (points, multiplicity) = (self.float2(&self.points, [d, n]), self.float1(&self.multiplicity));
                let shape = shape(range.len());
                self.floats(operation(points, multiplicity, self.self_coupling, range), shape)
            });
            check_close(&found?, wanted, &allowed).map_err(|what| format!("{size} ranks: {what}"))?;
        }
        Ok(())
    }

    /// The concatenated results of all ranks, each for its rows.
    fn by_ranks(
        &self,
        size: usize,
        part: impl Fn(Range<usize>) -> Result<Vec<f64>, String>,
    ) -> Result<Vec<f64>, String> {
        let own = (0..size).map(|rank| part(rows(Share { rank, size }, self.shape.n)));
        Ok(own.collect::<Result<Vec<_>, _>>()?.concat())
    }

    fn step_inputs(&self) -> StepInputs {
        let (couplings, errors) = self.couplings();
        let strengths = reference::strengths(&couplings, self.shape.n);
        let tiny = f64::from(f32::MIN_POSITIVE);
        let inverse = strengths.iter().map(|&c| if c < tiny { 0.0 } else { rounded::<B>(1.0 / c) }).collect();
        StepInputs { couplings, errors, strengths, inverse }
    }

    fn network(&self, inputs: &StepInputs, stored: bool, rows: Range<usize>) -> Network<B> {
        let Shape { n, d, .. } = self.shape;
        let own = &inputs.couplings[rows.start * n..rows.end * n];
        let own: Vec<f64> = own.iter().map(|&j| rounded::<B>(j)).collect();
        Network::new(Parts {
            weights: (stored && !rows.is_empty()).then(|| self.float2(&own, [rows.len(), n])),
            points: self.float2(&self.points, [d, n]),
            multiplicity: self.float1(&self.multiplicity),
            inverse_strength: self.float1(&inputs.inverse),
            self_coupling: self.self_coupling,
            rows,
        })
    }

    /// Compares a step from `x` with the reference's.
    ///
    /// Error bound: 4u for |f| ≤ 1; J as above; n·u·Σ J|f| for the sum; 6u for 1/C and the rest.
    fn check_step(&self, inputs: &StepInputs, x: &[f64], next: &[f64]) -> Result<(), String> {
        let (n, u) = (self.shape.n, self.unit());
        let StepInputs { couplings, errors, strengths, inverse } = inputs;
        let wanted = reference::step(couplings, strengths, x, f64::from(f32::MIN_POSITIVE));
        let allowed = |i: usize| {
            if inverse[i] == 0.0 {
                return 4.0 * u;
            }
            let row = i * n..(i + 1) * n;
            let from_weights: f64 = errors[row.clone()].iter().zip(x).map(|(e, &x)| e * reference::map(x).abs()).sum();
            let terms: f64 = couplings[row.clone()].iter().zip(x).map(|(j, &x)| j * reference::map(x).abs()).sum();
            let all: f64 = couplings[row].iter().sum();
            inverse[i] * (from_weights + (n + 2) as f64 * u * terms + 4.0 * u * all) + 6.0 * u
        };
        check_close(next, &wanted, allowed)
    }

    /// Chaos amplifies rounding errors within some steps, so each step is compared with the reference's from the
    /// backend's previous state. The results of ranks are bit-identical where steps are deterministic.
    pub(super) fn check_steps(&self, matvec: Matvec, stored: bool) -> Result<(), String> {
        let n = self.shape.n;
        let steps = self.shape.steps.min(5);
        let inputs = self.step_inputs();
        let network = self.network(&inputs, stored, 0..n);
        self.poison();
        let trajectory = (self.suite.steps)(&network, self.float1(&self.state), steps, matvec);
        let found = self.floats(trajectory, [steps + 1, n])?;
        check_close(&found[..n], &self.state, |_| 0.0).map_err(|what| format!("row 0, the state: {what}"))?;
        for step in 0..steps {
            let (x, next) = (&found[step * n..(step + 1) * n], &found[(step + 1) * n..(step + 2) * n]);
            self.check_step(&inputs, x, next).map_err(|what| format!("step {step}: {what}"))?;
        }
        let (size, x) = (RANKS[1], &found[..n]);
        self.poison();
        let next = self.by_ranks(size, |range| {
            let (shape, network) = ([range.len()], self.network(&inputs, stored, range));
            self.floats((self.suite.step_rows)(&network, self.float1(x), matvec), shape)
        })?;
        self.check_step(&inputs, x, &next).map_err(|what| format!("{size} ranks: {what}"))?;
        if self.suite.name == Suite::<B>::KERNELS && !stored && matvec != Matvec::YThreads && steps > 0 {
            check_close(&next, &found[n..2 * n], |_| 0.0)
                .map_err(|what| format!("{size} ranks, to the bit: {what}"))?;
        }
        Ok(())
    }

    /// [`Problem::check_steps`] by X-threads with `rows` neurons per row of units.
    pub(super) fn check_shared(&self, rows: u32, stored: bool) -> Result<(), String> {
        with_overrides(rows, 0, || self.check_steps(Matvec::XThreads, stored))
    }

    /// Strengths and steps of points in Morton order spread so wide that tiles of `span` neurons are out of reach of
    /// each other.
    pub(super) fn check_reach(&self, rows: u32, span: u32) -> Result<(), String> {
        let far = self.spread(12.0);
        with_overrides(rows, span, || far.check_strengths().and_then(|()| far.check_steps(Matvec::Auto, false)))
    }

    /// This problem with points scaled by `factor`, in Morton order.
    fn spread(&self, factor: f64) -> Self {
        let Shape { n, d, .. } = self.shape;
        let by_row = transposed(&self.points, n);
        let order = morton_order(&by_row, d);
        let place = |k: usize| order.iter().map(move |&i| (k, i as usize));
        let points = (0..d).flat_map(place).map(|(k, i)| rounded::<B>(factor * self.points[k * n + i])).collect();
        Self { points, ..self.clone() }
    }
}
