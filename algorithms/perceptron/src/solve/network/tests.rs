//! Losses and gradients against Burn's automatic differentiation.

use burn::{
    nn::loss::{CrossEntropyLossConfig, MseLoss, Reduction},
    tensor::{Int, Tensor, TensorData, activation},
};
use burn_autodiff::Autodiff;
use burn_ndarray::NdArray;
use firebox_core::{
    random::Random,
    tensor::{float_values, floats, primitive, read_floats},
};

use crate::config::{MlpConfig, Task};
use crate::solve::losses;
use crate::types::{Activation, Sigmoid, Sign};

type Plain = NdArray<f64>;
type Tracked = Autodiff<Plain>;

/// The network by Burn's own operations, from the same parameters.
fn by_burn(config: &MlpConfig, parameters: &Tensor<Tracked, 1>, x: Tensor<Tracked, 2>) -> Tensor<Tracked, 2> {
    let (mut from, widths) = (0, [&[config.inputs], config.hidden.as_slice(), &[config.outputs]].concat());
    let mut next = |count: usize| {
        from += count;
        parameters.clone().narrow(0, from - count, count)
    };
    let sigmoid = |x: Tensor<Tracked, 2>| {
        let t = (x - config.sigmoid.location) * config.sigmoid.steepness();
        let one = t.ones_like();
        one.clone() / (one + t.neg().exp())
    };
    widths.windows(2).enumerate().fold(x, |x, (at, pair)| {
        let sums = x.matmul(next(pair[0] * pair[1]).reshape([pair[0], pair[1]]));
        let sums = if config.bias { sums + next(pair[1]).unsqueeze() } else { sums };
        match config.activation {
            _ if at + 2 == widths.len() => {
                if config.squash_outputs {
                    sigmoid(sums)
                } else {
                    sums
                }
            }
            Activation::Sigmoid => sigmoid(sums),
            Activation::Relu => activation::relu(sums),
            Activation::Tanh => activation::tanh(sums),
            // Burn's backward pass of its GELU is an approximation, and that of a division by a number rounds it to f32.
            Activation::Gelu => sums.clone() * ((sums * std::f64::consts::FRAC_1_SQRT_2).erf() + 1.0) * 0.5,
        }
    })
}

/// Large outputs must not overflow, for which the last parameters are scaled.
#[test]
fn losses_and_gradients_equal_burns() {
    let (device, n) = (Default::default(), 9);
    let sigmoid = Sigmoid { location: 0.25, slope: 1.5, sign: Sign::Literal };
    let activations = [Activation::Sigmoid, Activation::Relu, Activation::Tanh, Activation::Gelu];
    let tasks = [(Task::Classification, 4), (Task::Regression, 1), (Task::Regression, 3)];
    for (at, (activation, (task, outputs))) in
        activations.into_iter().flat_map(|activation| tasks.map(|task| (activation, task))).enumerate()
    {
        let config = MlpConfig::new(3, vec![6, 5], outputs).with_activation(activation).with_sigmoid(sigmoid);
        let config = config.with_bias(at % 3 > 0).with_squash_outputs(at % 4 == 1);
        let mut random = Random::new(at as u64, 0);
        let (large, count) = (if at % 2 == 0 { 300.0 } else { 1.0 }, config.parameters() as usize);
        let mut draw =
            |count: usize, bound: f64| (0..count).map(|_| random.uniform(-bound, bound)).collect::<Vec<f64>>();
        let (mut values, x) = (draw(count, 1.0), draw(3 * n, 2.0));
        values[count - 5 * outputs..].iter_mut().for_each(|value| *value *= large);
        let targets: Vec<f64> = match task {
            Task::Classification => (0..n).map(|row| ((row * row) % outputs) as f64).collect(),
            Task::Regression => draw(n * outputs, 1.0),
        };

        let parameters = floats::<Tracked, 1>(values.clone(), [count], &device).require_grad();
        let y = by_burn(&config, &parameters, floats(x.clone(), [n, 3], &device));
        let loss = match task {
            Task::Classification => {
                let codes: Vec<i64> = targets.iter().map(|&code| code as i64).collect();
                let codes = Tensor::<Tracked, 1, Int>::from_data(TensorData::new(codes, [n]), &device);
                CrossEntropyLossConfig::new().init(&device).forward(y, codes)
            }
            Task::Regression => {
                MseLoss::new().forward(y, floats(targets.clone(), [n, outputs], &device), Reduction::Mean)
            }
        };
        let theirs = parameters.grad(&loss.backward()).unwrap();
        let theirs = [read_floats(loss, "test").unwrap(), read_floats(theirs, "test").unwrap()].concat();

        let parameters = primitive::<Plain, 1>(values, [count], &device);
        let targets = primitive::<Plain, 2>(targets.clone(), [n, targets.len() / n], &device);
        let instances = primitive::<Plain, 2>(x, [n, 3], &device);
        let (mean, gradient) = config.with_parameters::<Plain>(&parameters).gradient(instances, |outputs| {
            let (losses, gradient) = losses::<Plain>(task, outputs, targets, None, 1.0 / n as f64);
            let losses = float_values::<Plain>(losses, "test").unwrap();
            (vec![losses.iter().sum::<f64>() / n as f64], gradient)
        });
        let ours = [mean, float_values::<Plain>(gradient, "test").unwrap()].concat();
        let largest = theirs.iter().fold(1.0f64, |max, x| max.max(x.abs()));
        let near = ours.iter().zip(&theirs).all(|(a, b)| (a - b).abs() <= 1e-12 * largest);
        assert!(ours.len() == theirs.len() && near, "{activation:?} {task:?}: {ours:?} {theirs:?}");
    }
}
