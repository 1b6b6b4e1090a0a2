//! Descent through one more dimension, in which groups of points pass each other that block each other in fewer.
//!
//! A map that L-BFGS cannot improve gets one more dimension, in random coordinates z, and a penalty
//! λ·Σ_i μ_i·W_i·z_i²/c, W_i = Σ_j μ_j·w_ij, added to the stress. While λ grows, z is pressed to 0, and the other
//! coordinates settle in a minimum that is most often lower than that of a direct descent. Cf. energy
//! embedding (Crippen 1982, J. Comput. Chem. 3, 471).

use firebox_core::{Result, random::Random};

use super::{
    lbfgs::{Function, IterationOutcome, Lbfgs},
    objective::Objective,
};
use crate::ops::SammonOps;

/// The stream of [`Random`] that z is drawn from.
const STREAM: u64 = u64::from_be_bytes(*b"sam-lift");
/// Standard deviation of z at the start, in units of the typical distance.
const LIFT: f64 = 0.2;
/// λ of the phases.
const PENALTIES: [f64; 5] = [0.02, 0.05, 0.1, 0.2, 0.4];
/// Iterations of a phase.
const ITERATIONS: usize = 25;

/// Stress of an embedding in one more dimension, with a penalty on its coordinates.
struct Relaxed<'a, B: SammonOps> {
    stress: &'a Objective<'a, B>,
    /// λ·μ_i·W_i/c of this rank's part of the coordinates z, 0 for the others.
    penalty: Vec<f64>,
}

impl<B: SammonOps> Function for Relaxed<'_, B> {
    fn evaluate(&mut self, x: &[f64]) -> Result<(f64, Vec<f64>)> {
        let (value, mut gradient) = (&mut &*self.stress).evaluate(x)?;
        let pressed: Vec<f64> = self.penalty.iter().zip(x).map(|(p, x)| p * x).collect();
        gradient.iter_mut().zip(&pressed).for_each(|(g, p)| *g += 2.0 * p);
        Ok((value + self.dot(&pressed, x), gradient))
    }

    fn round(&self, x: &mut [f64]) {
        (&self.stress).round(x);
    }

    fn dot(&self, a: &[f64], b: &[f64]) -> f64 {
        (&self.stress).dot(a, b)
    }
}

/// Relaxes a map `x` `[m, n]` through one more dimension; `run` selects the random numbers. Ends early once `late`.
pub(crate) fn relaxed<B: SammonOps>(
    objective: &Objective<'_, B>,
    x: &[f64],
    run: usize,
    late: &dyn Fn() -> bool,
) -> Result<Vec<f64>> {
    let (n, context) = (objective.n, objective.context);
    let mut random = Random::new(context.seed, STREAM.wrapping_add(run as u64));
    let z = (0..n).map(|_| LIFT * random.normal());
    let lifted: Vec<f64> = x.iter().copied().chain(z).collect();
    let wide = objective.in_dimensions(&lifted)?;
    let diagonal = wide.diagonal();
    let press = |lambda: f64| {
        let by_point = wide.weights.iter().zip(objective.counts()).map(|(w, mu)| lambda * mu * w / wide.scale);
        let whole: Vec<f64> = vec![0.0; x.len()].into_iter().chain(by_point).collect();
        wide.local_part(&whole)
    };
    let mut own = wide.local_part(&lifted);
    for lambda in PENALTIES {
        let mut function = Relaxed { stress: &wide, penalty: press(lambda) };
        let mut lbfgs = Lbfgs::new(&mut function, own)?;
        for _ in 0..ITERATIONS {
            context.go_on()?;
            if late() || lbfgs.advance(&mut function, &diagonal)? == IterationOutcome::Stalled {
                break;
            }
        }
        own = lbfgs.x;
    }
    let mut whole = wide.gather(&own);
    whole.truncate(x.len());
    Ok(whole)
}

#[cfg(test)]
mod tests {
    use burn_ndarray::NdArray;
    use firebox_core::{Context, data::Points};

    use super::*;
    use crate::{
        Metric, SammonConfig, Variant,
        solve::{memory_plan::Plan, nondimensional::Prepared},
        types::Data,
    };

    type B = NdArray<f64>;

    fn cloud(n: usize, d: usize, seed: u64) -> Points {
        let mut random = Random::new(seed, 9);
        Points::new((0..n * d).map(|_| random.normal()).collect(), d).unwrap()
    }

    #[test]
    fn the_gradient_agrees_with_central_differences() {
        let (n, m) = (12, 2);
        let mut points = cloud(n, 4, 1);
        points.values.extend_from_within(..8);
        points.rows += 2;
        let (config, context) = (SammonConfig::new(m), Context::<B>::new(Default::default()));
        let prepared = Prepared::new(Data::Features(points), Metric::Euclidean, false).unwrap();
        let plan = Plan::new(&config, crate::Memory::Cached, &prepared, m, &context).unwrap();
        let problem = plan.problem(&prepared, 1.0, &context).unwrap();
        let mut random = Random::new(2, 2);
        let x: Vec<f64> = (0..(m + 1) * n).map(|_| random.normal()).collect();
        let (stress, _) = Objective::new(problem, &prepared.counts, Variant::Auto, &context, &x).unwrap();
        let penalty = (0..x.len()).map(|at| if at < m * n { 0.0 } else { 0.1 + at as f64 }).collect();
        let mut function = Relaxed { stress: &stress, penalty };
        let (value, gradient) = function.evaluate(&x).unwrap();
        let plain = (&mut &stress).evaluate(&x).unwrap().0;
        let pressed: f64 = (m * n..x.len()).map(|at| (0.1 + at as f64) * x[at] * x[at]).sum();
        assert!((value - plain - pressed).abs() < 1e-12 * value);
        for at in 0..x.len() {
            let mut moved = |by: f64| {
                let mut x = x.clone();
                x[at] += by;
                function.evaluate(&x).unwrap().0
            };
            let slope = (moved(1e-5) - moved(-1e-5)) / 2e-5;
            assert!((slope - gradient[at]).abs() < 1e-5 * (1.0 + slope.abs()), "{at}: {slope} {}", gradient[at]);
        }
    }

    #[test]
    fn relaxed_maps_have_less_stress() {
        let fit = |seed: u64, dims: usize, restarts: usize| {
            let config = SammonConfig::new(dims).with_quality(false).with_restarts(Some(restarts));
            config.init().unwrap().fit_with(cloud(60, 5, seed), &Context::<B>::new(Default::default())).unwrap().stress
        };
        let mut lower = 0;
        for (seed, dims) in [(1, 1), (2, 1), (3, 1), (4, 2), (5, 2), (6, 2)] {
            let (without, with) = (fit(seed, dims, 0), fit(seed, dims, 1));
            assert!(with <= without, "{seed}: {with} {without}");
            lower += u32::from(with < 0.999 * without);
        }
        assert!(lower >= 3, "{lower} of 6");
    }
}
