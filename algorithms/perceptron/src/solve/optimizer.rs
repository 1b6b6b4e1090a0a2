//! Steps of Adam and of stochastic gradient descent, on all parameters at once.

use burn::tensor::{backend::Backend, ops::FloatTensor};
use firebox_core::tensor::{add, divide, multiply, scale, shift};

use crate::config::{Optimizer, TrainConfig};

/// Decay rates of Adam's moments, and ε, which bounds its steps where gradients vanish.
const BETAS: [f64; 2] = [0.9, 0.999];
const EPSILON: f64 = 1e-5;

/// Parameters and the optimiser's moments, vectors `[p]`.
#[derive(Debug, Clone)]
pub(crate) struct Iterate<B: Backend> {
    pub(crate) parameters: FloatTensor<B>,
    /// Adam's first and second moment, or the velocity, then the average of the parameters if they are averaged; 0 before
    /// the first step.
    pub(crate) moments: Vec<FloatTensor<B>>,
    /// Steps taken.
    pub(crate) steps: usize,
}

impl TrainConfig {
    /// Names of the moments.
    pub(crate) fn moments(&self) -> &'static [&'static str] {
        match (self.optimizer, self.averaging_epochs() > 0.0) {
            (Optimizer::Adam, true) => &["moment_1", "moment_2", "average"],
            (Optimizer::Adam, false) => &["moment_1", "moment_2"],
            (Optimizer::Sgd, true) => &["velocity", "average"],
            (Optimizer::Sgd, false) => &["velocity"],
        }
    }
}

impl<B: Backend> Iterate<B> {
    /// Parameters `[p]` of the network that is the result: their average if they are averaged.
    pub(crate) fn result(&self, config: &TrainConfig) -> &FloatTensor<B> {
        match self.moments.last() {
            Some(average) if config.averaging_epochs() > 0.0 && self.steps > 0 => average,
            _ => &self.parameters,
        }
    }
}

/// Takes a step: with the gradient g, to which λ·θ is added for the weight decay λ,
///
/// - Adam (Kingma and Ba 2015): m ← β₁·m + (1 − β₁)·g, v ← β₂·v + (1 − β₂)·g², θ ← θ − r·m̂/(√v̂ + ε) with
///   m̂ = m/(1 − β₁ᵗ), v̂ = v/(1 − β₂ᵗ) in step t;
/// - SGD with momentum μ: v ← μ·v + g, θ ← θ − r·v.
///
/// The parameters are averaged over the last `span` steps, exponentially: θ̄ ← θ̄ + α·(θ − θ̄) with α = max(1/t, 1/`span`).
pub(crate) fn step<B: Backend>(
    config: &TrainConfig,
    span: f64,
    at: Iterate<B>,
    gradient: FloatTensor<B>,
) -> Iterate<B> {
    let Iterate { parameters, moments, steps } = at;
    let steps = steps + 1;
    let gradient = match config.weight_decay.unwrap_or(0.0) {
        0.0 => gradient,
        decay => add::<B>(scale::<B>(parameters.clone(), decay), gradient),
    };
    let rate = config.learning_rate;
    let mut old = moments.into_iter();
    // Both optimisers begin with moments of 0, whose number a state file has been checked for.
    let mut average = |kept: f64, new: FloatTensor<B>| match old.next() {
        Some(old) => add::<B>(scale::<B>(old, kept), new),
        None => new,
    };
    let (mut moments, change) = match config.optimizer {
        Optimizer::Sgd => {
            let velocity = average(config.momentum, gradient);
            (vec![velocity.clone()], scale::<B>(velocity, -rate))
        }
        Optimizer::Adam => {
            let [beta_1, beta_2] = BETAS;
            let squares = multiply::<B>(gradient.clone(), gradient.clone());
            let first = average(beta_1, scale::<B>(gradient, 1.0 - beta_1));
            let second = average(beta_2, scale::<B>(squares, 1.0 - beta_2));
            let [correction_1, correction_2] = BETAS.map(|beta| 1.0 - beta.powf(steps as f64));
            // Both sides of the quotient are multiplied by √(1 − β₂ᵗ), which spares an operation.
            let root = correction_2.sqrt();
            let step = scale::<B>(first.clone(), -rate * root / correction_1);
            let size = shift::<B>(B::float_sqrt(second.clone()), EPSILON * root);
            (vec![first, second], divide::<B>(step, size))
        }
    };
    let parameters = add::<B>(parameters, change);
    if config.averaging_epochs() > 0.0 {
        let share = (steps as f64).recip().max(span.recip()).min(1.0);
        moments.push(average(1.0 - share, scale::<B>(parameters.clone(), share)));
    }
    Iterate { parameters, moments, steps }
}

#[cfg(test)]
mod tests {
    use burn::{
        module::{Module, Param},
        optim::{AdamConfig, GradientsParams, SgdConfig, decay::WeightDecayConfig, momentum::MomentumConfig},
        tensor::Tensor,
    };
    use burn_autodiff::Autodiff;
    use burn_ndarray::NdArray;
    use firebox_core::{
        random::Random,
        tensor::{float_values, floats, primitive, read_floats},
    };

    use super::*;

    type B = NdArray<f64>;

    #[derive(Module, Debug)]
    struct Vector<B: Backend> {
        values: Param<Tensor<B, 1>>,
    }

    const COUNT: usize = 7;

    /// Twenty steps on Σ c·θ⁴ by Burn's `optimizer`.
    fn by_burn(
        mut optimizer: impl burn::optim::Optimizer<Vector<Autodiff<B>>, Autodiff<B>>,
        c: &[f64],
        rate: f64,
    ) -> Vec<f64> {
        let device = Default::default();
        let start = floats::<Autodiff<B>, 1>(vec![0.5; COUNT], [COUNT], &device);
        let mut vector = Vector { values: Param::from_tensor(start) };
        for _ in 0..20 {
            let loss = (vector.values.val().powi_scalar(4) * floats(c.to_vec(), [COUNT], &device)).sum();
            let gradients = GradientsParams::from_grads(loss.backward(), &vector);
            vector = optimizer.step(rate, vector, gradients);
        }
        read_floats(vector.values.val(), "test").unwrap()
    }

    #[test]
    fn steps_equal_burns() {
        let mut random = Random::new(3, 0);
        let c: Vec<f64> = (0..COUNT).map(|_| random.uniform(0.2, 2.0)).collect();
        let device = Default::default();
        for (optimizer, decay) in [Optimizer::Adam, Optimizer::Sgd].into_iter().flat_map(|of| [(of, 0.0), (of, 0.25)]) {
            let config = TrainConfig::new()
                .with_optimizer(optimizer)
                .with_weight_decay(Some(decay))
                .with_learning_rate(0.01)
                .with_averaging(Some(1.0));
            let zeros = || primitive::<B, 1>(vec![0.0; COUNT], [COUNT], &device);
            let parameters = primitive::<B, 1>(vec![0.5; COUNT], [COUNT], &device);
            let moments = config.moments().iter().map(|_| zeros()).collect();
            let mut at = Iterate::<B> { parameters, moments, steps: 0 };
            let (mut average, span) = (vec![0.0; COUNT], 4.0);
            for t in 1..=20 {
                let theta = float_values::<B>(at.parameters.clone(), "test").unwrap();
                let gradient = theta.iter().zip(&c).map(|(x, c)| 4.0 * c * x.powi(3)).collect::<Vec<_>>();
                at = step(&config, span, at, primitive::<B, 1>(gradient, [COUNT], &device));
                let share = f64::from(t).min(span).recip();
                let theta = float_values::<B>(at.parameters.clone(), "test").unwrap();
                average.iter_mut().zip(theta).for_each(|(mean, x)| *mean += share * (x - *mean));
                let ours = float_values::<B>(at.result(&config).clone(), "test").unwrap();
                assert!(ours.iter().zip(&average).all(|(a, b)| (a - b).abs() < 1e-14), "{ours:?} {average:?}");
            }
            let ours = float_values::<B>(at.parameters, "test").unwrap();
            let decay = (decay > 0.0).then(|| WeightDecayConfig::new(decay as f32));
            let momentum = MomentumConfig { momentum: config.momentum, dampening: 0.0, nesterov: false };
            let theirs = match optimizer {
                Optimizer::Adam => by_burn(AdamConfig::new().with_weight_decay(decay).init(), &c, 0.01),
                Optimizer::Sgd => {
                    by_burn(SgdConfig::new().with_weight_decay(decay).with_momentum(Some(momentum)).init(), &c, 0.01)
                }
            };
            // Burn's constants are f32.
            assert!(ours.iter().zip(&theirs).all(|(a, b)| (a - b).abs() < 1e-6), "{optimizer:?}: {ours:?} {theirs:?}");
        }
    }
}
