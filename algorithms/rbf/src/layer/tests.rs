//! Gradients against differences of plain loops and against Burn's own differentiation, training, records.

use burn::{
    module::AutodiffModule,
    nn::Linear,
    optim::{AdamConfig, GradientsParams, Optimizer},
    record::{BinBytesRecorder, DoublePrecisionSettings, Recorder},
    tensor::backend::AutodiffBackend,
};
use burn_autodiff::{Autodiff, checkpoint::strategy::BalancedCheckpointing};
use burn_ndarray::NdArray;

use super::*;
use crate::{ops::Term, reference::Functional};

type Double = Autodiff<NdArray<f64>>;
type Single = Autodiff<NdArray<f32>>;

/// α·Δu + β·∇u + γ·u.
const ALL: Form = Form { laplacian: Term::Each, gradient: true, value: Term::Each };

/// What is asked of a layer.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Asked {
    Value,
    Gradient,
    Laplacian,
    All,
}

const ASKED: [Asked; 4] = [Asked::Value, Asked::Gradient, Asked::Laplacian, Asked::All];

/// A layer of 6 neurons and 2 outputs, 5 points, and a loss Σ v·(what is asked).
#[derive(Clone)]
struct Numbers {
    d: usize,
    /// c, d × m.
    centres: Vec<f64>,
    log_widths: Vec<f64>,
    /// Outputs × m.
    weights: Vec<f64>,
    /// n × d.
    points: Vec<f64>,
    /// α, β, γ, n × (d + 2).
    coefficients: Vec<f64>,
    /// v, n × outputs × d; × 1 but for gradients.
    values: Vec<f64>,
}

const M: usize = 6;
const N: usize = 5;
const OUTPUTS: usize = 2;

impl Numbers {
    fn new(d: usize, seed: u64) -> Self {
        let mut random = Random::new(seed, d as u64);
        let mut draw = |count: usize| -> Vec<f64> { (0..count).map(|_| random.uniform(-1.0, 1.0)).collect() };
        Self {
            d,
            centres: draw(d * M),
            log_widths: draw(M).into_iter().map(|q| 0.3 * q).collect(),
            weights: draw(OUTPUTS * M),
            points: draw(N * d),
            coefficients: draw(N * (d + 2)),
            values: draw(N * OUTPUTS * d),
        }
    }

    fn layer<B: Backend>(&self, device: &B::Device) -> RbfLayer<B> {
        RbfLayer {
            centres: Param::from_tensor(floats(self.centres.clone(), [self.d, M], device)),
            log_widths: Param::from_tensor(floats(self.log_widths.clone(), [M], device)),
            weights: Param::from_tensor(floats(self.weights.clone(), [OUTPUTS, M], device)),
        }
    }

    fn points<B: Backend>(&self, device: &B::Device) -> Tensor<B, 2> {
        floats(self.points.clone(), [N, self.d], device)
    }

    /// Σ v·(what is asked) of `found` `[n, outputs · each]`.
    fn weighed<B: Backend>(&self, found: Tensor<B, 2>) -> Tensor<B, 1> {
        let count = found.dims()[1];
        (found.clone() * floats(self.values[..N * count].to_vec(), [N, count], &found.device())).sum()
    }

    /// The loss by plain loops.
    fn loss(&self, asked: Asked) -> f64 {
        let units: Vec<Vec<f64>> =
            (0..self.d).map(|k| (0..self.d).map(|l| f64::from(u8::from(k == l))).collect()).collect();
        let mut terms = Vec::new();
        for (x, own) in self.points.chunks(self.d).zip(self.coefficients.chunks(self.d + 2)) {
            let functionals: Vec<Functional> = match asked {
                Asked::Value => vec![Functional { alpha: 0.0, beta: &[], gamma: 1.0 }],
                Asked::Laplacian => vec![Functional { alpha: 1.0, beta: &[], gamma: 0.0 }],
                Asked::Gradient => units.iter().map(|beta| Functional { alpha: 0.0, beta, gamma: 0.0 }).collect(),
                Asked::All => {
                    vec![Functional { alpha: own[0], beta: &own[1..=self.d], gamma: own[self.d + 1] }]
                }
            };
            for weights in self.weights.chunks(M) {
                for functional in &functionals {
                    let neuron = |k: usize| {
                        let centre: Vec<f64> = (0..self.d).map(|axis| self.centres[axis * M + k]).collect();
                        weights[k] * functional.of(x, &centre, self.log_widths[k].exp())
                    };
                    terms.push((0..M).map(neuron).sum::<f64>());
                }
            }
        }
        terms.iter().zip(&self.values).map(|(term, v)| term * v).sum()
    }

    /// Its gradient by c, q, w and x, by central differences of 6th order.
    fn differences(&self, asked: Asked) -> [Vec<f64>; 4] {
        const H: f64 = 2e-3;
        let parts: [fn(&mut Self) -> &mut Vec<f64>; 4] =
            [|it| &mut it.centres, |it| &mut it.log_widths, |it| &mut it.weights, |it| &mut it.points];
        parts.map(|part| {
            let one = |k: usize| {
                let moved = |by: f64| {
                    let mut moved = self.clone();
                    part(&mut moved)[k] += by * H;
                    moved.loss(asked)
                };
                let two = |by: f64| moved(by) - moved(-by);
                (45.0 * two(1.0) - 9.0 * two(2.0) + two(3.0)) / (60.0 * H)
            };
            (0..part(&mut self.clone()).len()).map(one).collect()
        })
    }

    /// The layer's loss and its gradient by c, q, w and x, of what `found` makes of the layer and the points.
    fn gradients<B: AutodiffBackend>(
        &self,
        found: impl Fn(&RbfLayer<B>, Tensor<B, 2>) -> Tensor<B, 2>,
    ) -> (f64, [Vec<f64>; 4]) {
        let device = Default::default();
        let (layer, points) = (self.layer::<B>(&device), self.points::<B>(&device).require_grad());
        let loss = self.weighed(found(&layer, points.clone()));
        let gradients = loss.backward();
        let of = |gradient: Option<Vec<f64>>| gradient.unwrap();
        let all = [
            of(layer.centres.val().grad(&gradients).map(host)),
            of(layer.log_widths.val().grad(&gradients).map(host)),
            of(layer.weights.val().grad(&gradients).map(host)),
            of(points.grad(&gradients).map(host)),
        ];
        (host(loss)[0], all)
    }

    /// What is asked of the layer `[n, outputs · each]`.
    fn ask<B: RbfOps>(&self, asked: Asked, layer: &RbfLayer<B>, points: Tensor<B, 2>) -> Tensor<B, 2> {
        match asked {
            Asked::Value => layer.forward(points),
            Asked::Laplacian => layer.laplacian(points),
            Asked::Gradient => layer.gradient(points).flatten(1, 2),
            Asked::All => {
                let own = floats(self.coefficients.clone(), [N, self.d + 2], &points.device());
                layer.functional(points, ALL, Some(own))
            }
        }
    }

    /// The same in plain tensor operations on arrays of n × m × d, which Burn differentiates.
    fn formula<B: Backend>(&self, asked: Asked, layer: &RbfLayer<B>, points: Tensor<B, 2>) -> Tensor<B, 2> {
        let (d, device) = (self.d, points.device());
        let delta = points.unsqueeze_dim::<3>(1) - layer.centres.val().transpose().unsqueeze::<3>();
        let square = layer.log_widths.val().mul_scalar(2.0).exp().unsqueeze::<2>();
        let s = delta.clone().square().sum_dim(2).squeeze_dim::<2>(2) / square.clone();
        let phi = s.clone().neg().exp();
        let weights = || layer.weights.val().transpose();
        let value = || phi.clone().matmul(weights());
        let laplacian = || {
            let curvature = s.clone().mul_scalar(4.0).sub_scalar(2.0 * d as f64) / square.clone();
            (phi.clone() * curvature).matmul(weights())
        };
        let slope = |axis: usize| {
            let across = delta.clone().slice([0..N, 0..M, axis..axis + 1]).squeeze_dim::<2>(2);
            (phi.clone() * across / square.clone()).mul_scalar(-2.0).matmul(weights())
        };
        match asked {
            Asked::Value => value(),
            Asked::Laplacian => laplacian(),
            Asked::Gradient => Tensor::stack::<3>((0..d).map(slope).collect(), 2).flatten(1, 2),
            Asked::All => {
                let own = floats::<B, 2>(self.coefficients.clone(), [N, d + 2], &device);
                let own = |k: usize| own.clone().slice([0..N, k..k + 1]);
                let drift = (0..d).map(|axis| slope(axis) * own(axis + 1));
                drift.fold(laplacian() * own(0) + value() * own(d + 1), |sum, term| sum + term)
            }
        }
    }
}

fn host<B: Backend, const D: usize>(tensor: Tensor<B, D>) -> Vec<f64> {
    read_floats(tensor, "a test").unwrap()
}

/// The largest difference over the largest number of those wanted.
fn apart(found: &[f64], wanted: &[f64]) -> f64 {
    assert_eq!(found.len(), wanted.len());
    let largest = |values: &mut dyn Iterator<Item = f64>| values.fold(0.0, f64::max);
    let off = largest(&mut found.iter().zip(wanted).map(|(a, b)| if a == b { 0.0 } else { (a - b).abs() }));
    assert!(found.iter().all(|x| x.is_finite()));
    off / largest(&mut wanted.iter().map(|x| x.abs()))
}

const NAMES: [&str; 4] = ["c", "q", "w", "x"];

/// Every gradient, each number of it, to 1e-6 of itself; 1e-9 of the largest for those that nearly cancel.
#[test]
fn gradients_are_those_of_differences() {
    let mut worst: f64 = 0.0;
    for (d, seed) in [2, 3].into_iter().flat_map(|d| (0..10).map(move |seed| (d, seed))) {
        let numbers = Numbers::new(d, seed);
        for asked in ASKED {
            let (loss, found) = numbers.gradients::<Double>(|layer, points| numbers.ask(asked, layer, points));
            let plain = numbers.loss(asked);
            assert!((loss - plain).abs() < 1e-12 * (1.0 + plain.abs()), "{asked:?}, {d}, seed {seed}: {loss} {plain}");
            for ((name, found), wanted) in NAMES.into_iter().zip(found).zip(numbers.differences(asked)) {
                let scale = wanted.iter().fold(0.0f64, |most, x| most.max(x.abs()));
                for (a, b) in found.iter().zip(&wanted) {
                    let off = (a - b).abs();
                    let say = || format!("{asked:?} by {name}, {d} dimensions, seed {seed}: {a:e} {b:e}");
                    assert!(off <= 1e-6 * b.abs() + 1e-9 * scale, "{}", say());
                }
                worst = worst.max(apart(&found, &wanted));
            }
        }
    }
    println!("seeds 0 to 9, 2 and 3 dimensions: at most {worst:.1e} of the largest of a gradient");
}

/// Some hundred roundings of 2⁻⁵³ each, of terms some ten times what they add up to.
#[test]
fn gradients_are_those_of_burn() {
    for (d, seed) in [(2, 20), (3, 21)] {
        let numbers = Numbers::new(d, seed);
        for asked in ASKED {
            let (loss, found) = numbers.gradients::<Double>(|layer, points| numbers.ask(asked, layer, points));
            let (plain, wanted) = numbers.gradients::<Double>(|layer, points| numbers.formula(asked, layer, points));
            assert!((loss - plain).abs() < 1e-12 * (1.0 + plain.abs()), "{asked:?}: {loss} {plain}");
            for ((name, found), wanted) in NAMES.into_iter().zip(found).zip(wanted) {
                let off = apart(&found, &wanted);
                assert!(off < 1e-12, "{asked:?} by {name}, {d} dimensions, seed {seed}: {off:e}");
            }
        }
    }
}

/// The operations' own bits, and with checkpoints the same.
#[test]
fn passes_are_the_fused_operations() {
    type Inner = NdArray<f32>;
    type Saving = Autodiff<Inner, BalancedCheckpointing>;
    let numbers = Numbers::new(2, 30);
    for asked in ASKED {
        let all = numbers.gradients::<Single>(|layer, points| numbers.ask(asked, layer, points));
        assert_eq!(all, numbers.gradients::<Saving>(|layer, points| numbers.ask(asked, layer, points)));
    }
    let (device, d) = (Default::default(), numbers.d);
    let layer = numbers.layer::<Inner>(&device);
    let values = numbers.values[..N * OUTPUTS].chunks(OUTPUTS).map(|v| v[1]).collect();
    let values = firebox_core::tensor::primitive::<Inner, 1>(values, [N], &device);
    let target = Tensor::<Inner, 1>::zeros([N], &device);
    let rows = Rows::<Inner> {
        points: primitive(numbers.points::<Inner>(&device).transpose()),
        form: Form::LAPLACIAN,
        coefficients: None,
        target: primitive(target),
    };
    let shape = Shape { centres: primitive(layer.centres.val()), widths: primitive(layer.log_widths.val().exp()) };
    let wanted = host(tensor::<Inner, 1>(Inner::rbf_transposed(&rows, &shape, values.clone())));
    let laplacian = |layer: &RbfLayer<Single>, points: Tensor<Single, 2>| layer.laplacian(points);
    let (_, [centres, _, weights, _]) = numbers.gradients::<Single>(laplacian);
    assert_eq!(weights[M..], wanted);
    let parts = [0, 1].map(|k| {
        let values = numbers.values[..N * OUTPUTS].chunks(OUTPUTS).map(|v| v[k]).collect();
        let values = firebox_core::tensor::primitive::<Inner, 1>(values, [N], &device);
        let weights = primitive(layer.weights.val().slice([k..k + 1, 0..M]).reshape([M]));
        tensor::<Inner, 2>(Inner::rbf_gradient(&rows, &shape, weights, values))
    });
    let [first, second] = parts;
    assert_eq!(centres, host((first + second).slice([0..d, 0..M])));
}

#[test]
fn coefficients_and_slopes_of_other_forms_are_differentiated_too() {
    let numbers = Numbers::new(3, 40);
    let device = Default::default();
    let (layer, points) = (numbers.layer::<Double>(&device), numbers.points::<Double>(&device));
    let own = floats::<Double, 2>(numbers.coefficients.clone(), [N, 5], &device).require_grad();
    let sum = layer.functional(points.clone(), ALL, Some(own.clone())).sum_dim(1);
    let found = own.grad(&numbers.weighed(sum).backward()).unwrap();
    let values: Vec<f64> = numbers.values[..N].to_vec();
    let by_alpha = host(layer.laplacian(points.clone()).sum_dim(1));
    let by_gamma = host(layer.forward(points).sum_dim(1));
    for (i, own) in host(found).chunks(5).enumerate() {
        assert!((own[0] - values[i] * by_alpha[i]).abs() < 1e-12);
        assert!((own[4] - values[i] * by_gamma[i]).abs() < 1e-12);
    }
    // ∂(Δu)/∂x is linear in w, so it is what it is by w, times w.
    let layer = numbers.layer::<Double>(&device);
    let weights = layer.weights.val().slice([0..1, 0..M]).reshape([M]).detach().require_grad();
    let rows = Rows::<Double> {
        points: primitive(numbers.points::<Double>(&device).transpose()),
        form: Form::LAPLACIAN,
        coefficients: None,
        target: primitive(Tensor::<Double, 1>::zeros([N], &device)),
    };
    let shape = Shape { centres: primitive(layer.centres.val()), widths: primitive(layer.log_widths.val().exp()) };
    let slopes = tensor::<Double, 2>(Double::rbf_slopes(&rows, &shape, primitive(weights.clone()))).transpose();
    let loss = numbers.weighed(slopes);
    let by_weights = host(weights.grad(&loss.backward()).unwrap());
    let sum: f64 = by_weights.iter().zip(host(weights)).map(|(slope, w)| slope * w).sum();
    assert!(by_weights.iter().all(|slope| *slope != 0.0));
    assert!((sum - host(loss)[0]).abs() < 1e-11 * by_weights.iter().map(|slope| slope.abs()).sum::<f64>());
}

/// Linear → layer → linear: the gradient that reaches the first is that of the formula in the layer's place.
#[test]
fn gradients_go_through_the_layer() {
    let device = Default::default();
    let numbers = Numbers::new(2, 50);
    let linear = |values: &[f64], shape: [usize; 2]| -> Linear<Double> {
        let weight = Param::from_tensor(floats(values.to_vec(), shape, &device));
        Linear { weight, bias: None }
    };
    let (first, last) = (linear(&[0.7, -0.4, 0.3, 0.9], [2, 2]), linear(&[0.8, -0.5], [OUTPUTS, 1]));
    let layer = numbers.layer::<Double>(&device);
    let run = |middle: &dyn Fn(Tensor<Double, 2>) -> Tensor<Double, 2>| {
        let inputs = first.forward(numbers.points(&device)).tanh();
        let gradients = numbers.weighed(last.forward(middle(inputs).tanh())).backward();
        [host(first.weight.val().grad(&gradients).unwrap()), host(last.weight.val().grad(&gradients).unwrap())]
    };
    let found = run(&|x| layer.forward(x));
    let wanted = run(&|x| numbers.formula(Asked::Value, &layer, x));
    for (found, wanted) in found.iter().zip(&wanted) {
        assert!(apart(found, wanted) < 1e-12, "{found:?} {wanted:?}");
    }
}

/// Δu = f on [−1, 1]², u = 0 on its edge, with f of u = cos(πx/2)·cos(πy/2): the loss falls a thousandfold.
fn trains<B: RbfOps + AutodiffBackend>() {
    let device = Default::default();
    let mut random = Random::new(60, 0);
    let inside: Vec<f64> = (0..200).map(|_| random.uniform(-1.0, 1.0)).collect();
    let exact = |x: &[f64]| x.iter().map(|x| (0.5 * std::f64::consts::PI * x).cos()).product::<f64>();
    let right = inside.chunks(2).map(|x| -0.5 * std::f64::consts::PI.powi(2) * exact(x)).collect();
    let edge = (0..40).flat_map(|k| {
        let (along, side) = (random.uniform(-1.0, 1.0), if k % 4 < 2 { -1.0 } else { 1.0 });
        if k % 2 == 0 { [along, side] } else { [side, along] }
    });
    let edge = floats::<B, 2>(edge.collect(), [40, 2], &device);
    let (inside, right) = (floats::<B, 2>(inside, [100, 2], &device), floats::<B, 2>(right, [100, 1], &device));
    let mut layer = RbfLayerConfig::new(2, 25).init::<B>(&device).unwrap();
    let mut adam = AdamConfig::new().init();
    let mut losses = Vec::new();
    for _ in 0..600 {
        let residual = layer.laplacian(inside.clone()) - right.clone();
        let loss = residual.square().mean() + layer.forward(edge.clone()).square().mean().mul_scalar(100.0);
        losses.push(host(loss.clone())[0]);
        layer = adam.step(2e-2, layer.clone(), GradientsParams::from_grads(loss.backward(), &layer));
    }
    let trained = layer.valid().network(0).unwrap();
    let middle = trained.evaluate(&[0.0, 0.0])[0];
    println!("{}: loss {:.2e} to {:.2e}, u(0, 0) = {middle:.4}", B::name(&device), losses[0], losses[599]);
    assert!(losses[599] < 1e-3 * losses[0]);
}

#[test]
fn adam_lowers_the_residual_of_poissons_equation() {
    trains::<Double>();
    trains::<Single>();
}

/// Of numbers that are floats of either kind: Burn loads a record in the float that the device was first used with, here
/// by whichever test comes first.
#[test]
fn a_record_has_every_bit() {
    let device = Default::default();
    let mut numbers = Numbers::new(3, 65);
    for values in [&mut numbers.centres, &mut numbers.log_widths, &mut numbers.weights] {
        values.iter_mut().for_each(|x| *x = f64::from(*x as f32));
    }
    let layer = numbers.layer::<Double>(&device);
    let recorder = BinBytesRecorder::<DoublePrecisionSettings>::default();
    let bytes = recorder.record(layer.clone().into_record(), ()).unwrap();
    let other = RbfLayerConfig::new(3, M).with_outputs(OUTPUTS).init::<Double>(&device).unwrap();
    let again = other.load_record(recorder.load(bytes, &device).unwrap());
    let all = |layer: &RbfLayer<Double>| {
        let parameters = [host(layer.centres.val()), host(layer.log_widths.val()), host(layer.weights.val())];
        (parameters, ASKED.map(|asked| host(numbers.ask(asked, layer, numbers.points(&device)))))
    };
    assert_eq!(all(&again), all(&layer));
}

#[test]
fn without_gradients_it_is_the_same_layer_and_the_same_network() {
    let device = Default::default();
    for d in [2, 3] {
        let numbers = Numbers::new(d, 70);
        let layer = numbers.layer::<Double>(&device);
        for asked in ASKED {
            let tracked = numbers.ask(asked, &layer, numbers.points(&device));
            assert_eq!(host(numbers.ask(asked, &layer.valid(), numbers.points(&device))), host(tracked));
        }
        let network = layer.network(1).unwrap();
        let of = |layer: &RbfLayer<Double>, output: usize| {
            host(layer.forward(numbers.points(&device)).slice([0..N, output..output + 1]))
        };
        // Each within some roundings of φ ≤ 1, |w| ≤ 1.
        assert!(apart(&of(&layer, 1), &network.evaluate(&numbers.points)) < 1e-13);
        assert!(apart(&of(&RbfLayer::from_network(&network, &device), 0), &of(&layer, 1)) < 1e-13);
        assert_eq!(layer.network(2).unwrap_err().to_string(), "output 2 of a layer that has 2");
    }
}

#[test]
fn a_field_out_of_its_range_is_named() {
    let base = RbfLayerConfig::new(2, 4);
    for (field, config) in [
        ("dimensions", RbfLayerConfig::new(4, 4)),
        ("neurons", RbfLayerConfig::new(2, 0)),
        ("outputs", base.clone().with_outputs(0)),
        ("low", base.clone().with_low(f64::NAN)),
        ("high", base.clone().with_high(-1.0)),
        ("width", base.with_width(0.0)),
    ] {
        let error = config.init::<NdArray<f32>>(&Default::default()).unwrap_err();
        assert!(matches!(error, Error::Config { field: name, .. } if name == field), "{field}: {error}");
    }
}

#[test]
#[should_panic(expected = "points [1, 3] for a layer of [n, 2], n from 1")]
fn points_of_other_dimensions_are_refused() {
    let device = Default::default();
    let layer = RbfLayerConfig::new(2, 4).init::<NdArray<f32>>(&device).unwrap();
    layer.forward(Tensor::zeros([1, 3], &device));
}

#[test]
#[should_panic(expected = "coefficients None for [1, 4] of the form")]
fn coefficients_that_are_missing_are_refused() {
    let device = Default::default();
    let layer = RbfLayerConfig::new(2, 4).init::<NdArray<f32>>(&device).unwrap();
    layer.functional(Tensor::zeros([1, 2], &device), ALL, None);
}
