//! Steps of Adam and of stochastic gradient descent, on all parameters at once.

use burn::tensor::{backend::Backend, ops::FloatTensor};
use firebox_core::tensor::{add, scale};

use crate::config::{Optimizer, TrainConfig};
use crate::ops::PerceptronOps;
use crate::types::AdamStep;

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

/// Takes a step with the `gradient` g of the loss, to which λ·θ is added for the weight decay λ:
///
/// - Adam: [`perceptron_adam`](PerceptronOps::perceptron_adam) with a = r·√(1 − β₂ᵗ)/(1 − β₁ᵗ) in step t, and ε times the
///   same root, which is θ ← θ − r·m̂/(√v̂ + ε) with m̂ = m/(1 − β₁ᵗ), v̂ = v/(1 − β₂ᵗ);
/// - SGD with momentum μ: v ← μ·v + g, θ ← θ − r·v.
///
/// The parameters are averaged over the last `span` steps, exponentially: θ̄ ← (1 − s)·θ̄ + s·θ with s = max(1/t, 1/`span`).
pub(crate) fn step<B: PerceptronOps>(
    config: &TrainConfig,
    span: f64,
    at: Iterate<B>,
    gradient: FloatTensor<B>,
) -> Iterate<B> {
    let Iterate { parameters, moments, steps } = at;
    let steps = steps + 1;
    let (decay, rate) = (config.weight_decay.unwrap_or(0.0), config.learning_rate);
    let is_averaged = config.averaging_epochs() > 0.0;
    let share = if is_averaged { (steps as f64).recip().max(span.recip()).min(1.0) } else { 1.0 };
    // A state file has been checked for the number of moments; the average is absent if it is not used.
    let mut moments = moments.into_iter();
    let mut next = || moments.next().unwrap_or_else(|| parameters.clone());
    let (parameters, mut moments) = match config.optimizer {
        Optimizer::Sgd => {
            let (velocity, average) = (next(), next());
            let gradient =
                if decay > 0.0 { add::<B>(scale::<B>(parameters.clone(), decay), gradient) } else { gradient };
            let velocity = add::<B>(scale::<B>(velocity, config.momentum), gradient);
            let parameters = add::<B>(parameters, scale::<B>(velocity.clone(), -rate));
            let average = add::<B>(scale::<B>(average, 1.0 - share), scale::<B>(parameters.clone(), share));
            (parameters, vec![velocity, average])
        }
        Optimizer::Adam => {
            let (first, second, average) = (next(), next(), next());
            let [correction_1, correction_2] = BETAS.map(|beta| 1.0 - beta.powf(steps as f64));
            // Both sides of the quotient are multiplied by √(1 − β₂ᵗ).
            let root = correction_2.sqrt();
            let step =
                AdamStep { betas: BETAS, decay, rate: rate * root / correction_1, epsilon: EPSILON * root, share };
            let (parameters, first, second, average) =
                B::perceptron_adam(parameters, gradient, first, second, average, step);
            (parameters, vec![first, second, average])
        }
    };
    moments.truncate(config.moments().len());
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
