//! A Burn network of two of Firebox's [`SigmoidLayer`]s and a linear layer of Burn, trained by Burn's Adam to separate
//! two spirals. The sigmoid layer is a single operation with its own backward pass.

use std::process::ExitCode;

use burn::{
    module::Module,
    nn::{Linear, LinearConfig, loss::CrossEntropyLossConfig},
    optim::{AdamConfig, GradientsParams, Optimizer},
    tensor::{Int, Tensor, TensorData, backend::Backend},
};
use burn_autodiff::Autodiff;
use burn_ndarray::NdArray;
use firebox_core::random::Random;
use firebox_perceptron::{PerceptronOps, SigmoidLayer, SigmoidLayerConfig};

#[derive(Module, Debug)]
struct Network<B: Backend> {
    first: SigmoidLayer<B>,
    second: SigmoidLayer<B>,
    last: Linear<B>,
}

impl<B: PerceptronOps> Network<B> {
    fn new(device: &B::Device) -> firebox_core::Result<Self> {
        Ok(Self {
            first: SigmoidLayerConfig::new(2, 32).with_slope(4.0).with_seed(1).init(device)?,
            second: SigmoidLayerConfig::new(32, 16).with_slope(4.0).with_seed(2).init(device)?,
            last: LinearConfig::new(16, 2).init(device),
        })
    }

    fn forward(&self, points: Tensor<B, 2>) -> Tensor<B, 2> {
        self.last.forward(self.second.forward(self.first.forward(points)))
    }
}

/// Returns noisy points of two spirals, shape (count, 2), and the spiral of each point, shape (count).
fn spirals<B: Backend>(count: usize, device: &B::Device) -> (Tensor<B, 2>, Tensor<B, 1, Int>) {
    let mut random = Random::new(3, 0);
    let (mut points, mut classes) = (Vec::new(), Vec::new());
    for i in 0..count {
        let (class, turn) = (i % 2, 3.0 * (i as f64 / count as f64) + 0.3);
        let angle = 2.0 * turn + std::f64::consts::PI * class as f64;
        let noise = 0.03 * random.normal();
        points.extend([(turn + noise) * angle.cos() / 3.0, (turn + noise) * angle.sin() / 3.0].map(|x| x as f32));
        classes.push(class as i64);
    }
    let points = Tensor::from_data(TensorData::new(points, [count, 2]), device);
    (points, Tensor::from_data(TensorData::new(classes, [count]), device))
}

fn main() -> ExitCode {
    type B = Autodiff<NdArray<f32>>;
    let device = Default::default();
    B::seed(&device, 5);
    let mut network = match Network::<B>::new(&device) {
        Ok(network) => network,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    let (points, classes) = spirals::<B>(600, &device);
    let mut adam = AdamConfig::new().init();
    let cross_entropy = CrossEntropyLossConfig::new().init(&device);
    for step in 0..=1500 {
        let logits = network.forward(points.clone());
        let predicted: Tensor<B, 1, Int> = logits.clone().argmax(1).squeeze_dim(1);
        let correct: i64 = predicted.equal(classes.clone()).int().sum().into_scalar();
        let loss = cross_entropy.forward(logits, classes.clone());
        if step % 300 == 0 {
            println!("step {step}: loss {:.4}, {correct} of 600 correct", loss.clone().into_scalar());
        }
        if step == 1500 && correct < 590 {
            return ExitCode::FAILURE;
        }
        let gradients = GradientsParams::from_grads(loss.backward(), &network);
        network = adam.step(0.01, network, gradients);
    }
    ExitCode::SUCCESS
}
