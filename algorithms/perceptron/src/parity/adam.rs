//! The check of steps of Adam.

use burn::tensor::DType;
use firebox_core::random::Random;

use super::bounds::{Rounding, near, rounding};
use super::problem::{Problem, Shape};
use super::reference;
use crate::ops::{PerceptronOps, tensor::primitive};
use crate::types::AdamStep;

/// Bounds on the errors of θ, m, v and θ̄ for a gradient of magnitude |g| + λ·|θ| = `h`, from the numbers `before` and
/// `after` the step, each constant rounded to the float: h is wrong by 3u, m by 6u of the magnitudes it sums, v by 10u, and
/// the root by 10u of its own and by half the error of v relative to v, or the root of that error where v is smaller.
/// The quotient adds 5u (2.5 ulp on Vulkan), each other operation u.
fn errors(before: [f64; 4], after: [f64; 4], h: f64, step: AdamStep, of: &Rounding) -> [f64; 4] {
    let (u, tiny) = (of.u, of.tiny);
    let AdamStep { betas: [beta_1, beta_2], rate, epsilon, share, .. } = step;
    let in_m = 6.0 * u * (beta_1 * before[1].abs() + (1.0 - beta_1) * h) + tiny;
    let in_v = 10.0 * u * (beta_2 * before[2] + (1.0 - beta_2) * h * h) + tiny;
    let root = after[2].sqrt();
    let in_root = (in_v / root).min(in_v.sqrt());
    let in_root = in_root + 10.0 * u * (root + in_root);
    let size = root + epsilon;
    let in_size = in_root + 2.0 * u * (size + in_root);
    let least = (size - in_size).max(epsilon * (1.0 - 3.0 * u));
    let product = rate * after[1].abs();
    let in_product = rate * in_m + 2.0 * u * (product + rate * in_m);
    let in_step = (in_product + 5.0 * u * (product + in_product) + product * in_size / size) / least;
    let in_theta = in_step + u * (after[0].abs() + in_step);
    let parts = (1.0 - share) * before[3].abs() + share * (after[0].abs() + in_theta);
    let in_mean = share * in_theta + 3.0 * u * parts;
    [in_theta, in_m, in_v, in_mean].map(|error| 1.01 * error + tiny)
}

impl<B: PerceptronOps> Problem<B> {
    pub(super) fn check_adam(&self, dtype: DType) -> Result<(), String> {
        let Shape { n, m, .. } = self.shape;
        let mut random = Random::new(self.seed, 6);
        let step = AdamStep {
            betas: [0.9, 0.999],
            decay: if random.below(2) == 0 { 0.0 } else { random.uniform(1e-4, 0.1) },
            rate: random.uniform(1e-3, 0.1),
            epsilon: 10f64.powf(random.uniform(-8.0, -2.0)),
            share: if random.below(4) == 0 { 1.0 } else { random.uniform(0.01, 1.0) },
        };
        let (theta, parameters) = self.draw(1, [n, m], 1.0, dtype, self.transposed[0])?;
        let (g, gradient) = self.draw(2, [n, m], 1.0, dtype, self.transposed[1])?;
        let (first, first_tensor) = self.draw(3, [n, m], 1.0, dtype, false)?;
        let (second, second_tensor) = self.draw(4, [n, m], 1.0, dtype, false)?;
        let (second, second_tensor) = (second.iter().map(|it| it.abs()).collect::<Vec<_>>(), second_tensor.abs());
        let (mean, mean_tensor) = self.draw(5, [n, m], 1.0, dtype, self.transposed[0])?;
        self.poison(n * m);
        let kept = parameters.clone();
        let [parameters, gradient, first_tensor, second_tensor, mean_tensor] =
            [parameters, gradient, first_tensor, second_tensor, mean_tensor].map(primitive);
        let (a, b, c, d) = (self.suite.adam)(parameters, gradient, first_tensor, second_tensor, mean_tensor, step);
        let before = |at: usize| [theta[at], first[at], second[at], mean[at]];
        let after: Vec<[f64; 4]> = (0..n * m).map(|at| reference::adam(before(at), g[at], step)).collect();
        let of = rounding(dtype);
        // In f64 the reference rounds as much.
        let times = if dtype == DType::F64 { 2.0 } else { 1.0 };
        for (part, (actual, name)) in [a, b, c, d].into_iter().zip(["θ", "m", "v", "θ̄"]).enumerate() {
            let actual = self.read(actual, [n, m])?;
            let expected: Vec<f64> = after.iter().map(|after| after[part]).collect();
            let bound = |at: usize| {
                let h = g[at].abs() + step.decay * theta[at].abs();
                times * errors(before(at), after[at], h, step, &of)[part]
            };
            near(&actual, &expected, bound).map_err(|it| format!("{name}: {it}"))?;
        }
        // The parameters are still in use, as those of the start of an epoch are.
        near(&self.read(primitive(kept), [n, m])?, &theta, |_| 0.0).map_err(|it| format!("input: {it}"))
    }
}
