//! Descent through one more dimension, in which groups of points pass each other that block each other in fewer.
//!
//! A map that L-BFGS cannot improve gets one more dimension, in small random coordinates z, and a penalty
//! λ·Σ_i μ_i·W_i·z_i²/c, W_i = Σ_j μ_j·w_ij, added to the stress. While λ grows, z is pressed to 0, and the other
//! coordinates settle in a minimum that is most often lower than the first. Cf. the dimension continuation of
//! distance geometry (Crippen and Havel 1988, *Distance Geometry and Molecular Conformation*).

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

/// Relaxes a map `x` `[m, n]` through one more dimension; `run` selects the random numbers.
pub(crate) fn relaxed<B: SammonOps>(objective: &Objective<'_, B>, x: &[f64], run: usize) -> Result<Vec<f64>> {
    let (n, context) = (objective.n, objective.context);
    let mut random = Random::new(context.seed, STREAM.wrapping_add(run as u64));
    let lift = (0..n).map(|_| LIFT * random.normal());
    let lifted: Vec<f64> = x.iter().copied().chain(lift).collect();
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
            if lbfgs.advance(&mut function, &diagonal)? == IterationOutcome::Stalled {
                break;
            }
        }
        own = lbfgs.x;
    }
    let mut whole = wide.gather(&own);
    whole.truncate(x.len());
    Ok(whole)
}
