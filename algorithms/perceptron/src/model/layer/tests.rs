//! Gradients against central differences of the reference; the layer in a network of Burn's modules.

use burn::optim::{AdamConfig, GradientsParams, Optimizer};
use burn_autodiff::Autodiff;
use burn_ndarray::NdArray;
use firebox_core::tensor::read_floats;

use super::*;
use crate::{parity::reference::layer, types::Sign};

type Double = Autodiff<NdArray<f64>>;

struct Problem {
    size: [usize; 3],
    config: SigmoidLayerConfig,
    a: Vec<f64>,
    b: Vec<f64>,
    bias: Vec<f64>,
    g: Vec<f64>,
}

impl Problem {
    fn new(seed: u64, bias: bool) -> Self {
        let size @ [n, k, m] = [7, 5, 18];
        let mut random = Random::new(seed, 0);
        let mut draw = |count: usize| (0..count).map(|_| f64::from(random.uniform(-1.0, 1.0) as f32)).collect();
        let sign = if seed.is_multiple_of(2) { Sign::Rising } else { Sign::Literal };
        let config = SigmoidLayerConfig::new(k, m).with_bias(bias).with_location(0.25).with_slope(1.5).with_sign(sign);
        Self { size, config, a: draw(n * k), b: draw(k * m), bias: draw(m), g: draw(n * m) }
    }

    fn sigmoid(&self) -> Sigmoid {
        Sigmoid { location: self.config.location, slope: self.config.slope, sign: self.config.sign }
    }

    /// Gradients of Σ g·y by A, B and b.
    fn gradients<B: PerceptronOps>(&self, device: &B::Device) -> [Vec<f64>; 3] {
        let [n, k, m] = self.size;
        let mut of = self.config.init::<Autodiff<B>>(device).unwrap();
        of.linear.weights = Param::from_tensor(floats(self.b.clone(), [k, m], device));
        if let Some(bias) = &mut of.linear.bias {
            *bias = Param::from_tensor(floats(self.bias.clone(), [m], device));
        }
        let inputs = floats::<Autodiff<B>, 2>(self.a.clone(), [n, k], device).require_grad();
        let loss = (of.forward(inputs.clone()) * floats(self.g.clone(), [n, m], device)).sum();
        let grads = loss.backward();
        let by_bias = of.linear.bias.as_ref().map(|bias| host(bias.val().grad(&grads).unwrap()));
        let by_weights = host(of.linear.weights.val().grad(&grads).unwrap());
        [host(inputs.grad(&grads).unwrap()), by_weights, by_bias.unwrap_or_default()]
    }

    /// Central differences of the reference.
    fn differences(&self) -> [Vec<f64>; 3] {
        let h = 1e-5;
        let loss = |which: usize, at: usize, by: f64| -> f64 {
            let mut of = [self.a.clone(), self.b.clone(), self.bias.clone()];
            of[which][at] += by;
            let bias = self.config.bias.then_some(of[2].as_slice());
            layer(&of[0], &of[1], bias, self.sigmoid(), self.size).iter().zip(&self.g).map(|(y, g)| y * g).sum()
        };
        let counts = [self.a.len(), self.b.len(), if self.config.bias { self.bias.len() } else { 0 }];
        [0, 1, 2]
            .map(|which| (0..counts[which]).map(|at| (loss(which, at, h) - loss(which, at, -h)) / (2.0 * h)).collect())
    }
}

fn host<B: Backend, const D: usize>(tensor: Tensor<B, D>) -> Vec<f64> {
    read_floats(tensor, "test").unwrap()
}

/// Largest difference relative to the largest magnitude.
fn relative_error(actual: &[f64], expected: &[f64]) -> f64 {
    assert_eq!(actual.len(), expected.len());
    let largest = expected.iter().fold(0.0f64, |max, x| max.max(x.abs()));
    actual.iter().zip(expected).fold(0.0f64, |max, (a, b)| max.max((a - b).abs())) / largest.max(1e-300)
}

#[test]
fn gradients_agree_with_central_differences() {
    let mut worst = 0.0f64;
    for seed in 0..10 {
        for bias in [true, false] {
            let problem = Problem::new(seed, bias);
            let actual = problem.gradients::<NdArray<f64>>(&Default::default());
            for (actual, expected) in actual.iter().zip(problem.differences()) {
                worst = worst.max(relative_error(actual, &expected));
            }
        }
    }
    println!("ten seeds: at most {worst:.1e} of the largest");
    assert!(worst <= 1e-6);
}

/// x XOR y by Burn's linear layer after ours.
#[test]
fn trains_in_a_network_of_burn_modules() {
    #[derive(Module, Debug)]
    struct Network<B: Backend> {
        hidden: SigmoidLayer<B>,
        last: burn::nn::Linear<B>,
    }
    let device = Default::default();
    // Burn's layers start from random numbers, and in the default float, that all tests of the process share.
    let mut random = Random::new(0, 1);
    let weights = (0..8).map(|_| random.uniform(-0.35, 0.35)).collect();
    let mut network = Network::<Double> {
        hidden: SigmoidLayerConfig::new(2, 8).with_slope(2.0).init(&device).unwrap(),
        last: burn::nn::Linear {
            weight: Param::from_tensor(floats(weights, [8, 1], &device)),
            bias: Some(Param::from_tensor(floats(vec![0.0], [1], &device))),
        },
    };
    let x = floats::<Double, 2>(vec![0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0], [4, 2], &device);
    let y = floats::<Double, 2>(vec![0.0, 1.0, 1.0, 0.0], [4, 1], &device);
    let mut adam = AdamConfig::new().init();
    let mut last = f64::MAX;
    for _ in 0..400 {
        let out = to_backend_float(network.last.forward(network.hidden.forward(x.clone())));
        let loss = (out - y.clone()).square().mean();
        last = host(loss.clone())[0];
        let gradients = GradientsParams::from_grads(loss.backward(), &network);
        network = adam.step(0.05, network, gradients);
    }
    assert!(last < 1e-2, "{last}");
}

#[test]
fn invalid_fields_are_named() {
    let device: <NdArray<f32> as burn::tensor::backend::BackendTypes>::Device = Default::default();
    let field = |config: SigmoidLayerConfig| match config.init::<NdArray<f32>>(&device) {
        Err(Error::Config { field, .. }) => field,
        _ => "none",
    };
    assert_eq!(field(SigmoidLayerConfig::new(0, 1)), "inputs");
    assert_eq!(field(SigmoidLayerConfig::new(1, 0)), "neurons");
    assert_eq!(field(SigmoidLayerConfig::new(1, 1).with_slope(f64::NAN)), "slope");
    assert_eq!(field(SigmoidLayerConfig::new(1, 1).with_location(f64::INFINITY)), "location");
}
