//! Gradients against the reference; the layer in a network of Burn's modules.

use burn::optim::{AdamConfig, GradientsParams, Optimizer};
use burn_autodiff::Autodiff;
use burn_ndarray::NdArray;
use firebox_core::{Error, tensor::read_floats};

use super::*;
use crate::{parity::reference::layer_gradients, types::Sign};

type Double = Autodiff<NdArray<f64>>;

fn host<B: Backend, const D: usize>(tensor: Tensor<B, D>) -> Vec<f64> {
    read_floats(tensor, "test").unwrap()
}

/// Largest difference relative to the largest magnitude.
fn relative_error(actual: &[f64], expected: &[f64]) -> f64 {
    assert_eq!(actual.len(), expected.len());
    let largest = expected.iter().fold(0.0f64, |max, x| max.max(x.abs()));
    actual.iter().zip(expected).fold(0.0f64, |max, (a, b)| max.max((a - b).abs())) / largest.max(1e-300)
}

/// Gradients of Σ g·y by A, B and b.
#[test]
fn gradients_agree_with_the_reference() {
    let (size @ [n, k, m], device) = ([7, 5, 18], Default::default());
    for (seed, has_bias) in (0..10).flat_map(|seed| [(seed, true), (seed, false)]) {
        let mut random = Random::new(seed, 0);
        let mut draw = |count: usize| (0..count).map(|_| random.uniform(-1.0, 1.0)).collect::<Vec<f64>>();
        let (a, b, bias, g) = (draw(n * k), draw(k * m), has_bias.then(|| draw(m)), draw(n * m));
        let sign = if seed.is_multiple_of(2) { Sign::Rising } else { Sign::Literal };
        let sigmoid = Sigmoid { location: 0.25, slope: 1.5, sign };
        let linear = Linear::<Double>::new((b.clone(), bias.clone()), [k, m], Matmul::Auto, &device);
        let layer = SigmoidLayer { linear, sigmoid };
        let inputs = floats::<Double, 2>(a.clone(), [n, k], &device).require_grad();
        let loss = (layer.forward(inputs.clone()) * floats(g.clone(), [n, m], &device)).sum();
        let grads = loss.backward();
        let expected = layer_gradients(&a, &b, bias.as_deref(), sigmoid, &g, size);
        let by_weights = host(layer.linear.weights.val().grad(&grads).unwrap());
        assert!(relative_error(&host(inputs.grad(&grads).unwrap()), &expected.inputs) < 1e-12);
        assert!(relative_error(&by_weights, &expected.weights) < 1e-12);
        if let Some(bias) = &layer.linear.bias {
            assert!(relative_error(&host(bias.val().grad(&grads).unwrap()), &expected.bias) < 1e-12);
        }
    }
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
    assert_eq!(field(SigmoidLayerConfig::new(1, 1).with_slope(0.0)), "slope");
    assert_eq!(field(SigmoidLayerConfig::new(1, 1).with_location(f64::INFINITY)), "location");
}
