//! Gradients against finite differences and Burn's differentiation, training, records.

mod numbers;

use burn::{
    module::AutodiffModule,
    nn::Linear,
    optim::{AdamConfig, GradientsParams, Optimizer},
    record::{BinBytesRecorder, DoublePrecisionSettings, Recorder},
    tensor::backend::AutodiffBackend,
};
use burn_autodiff::{Autodiff, checkpoint::strategy::BalancedCheckpointing};
use burn_ndarray::NdArray;

use super::tests::numbers::{ALL, M, N, Numbers, OUTPUT_KINDS, OUTPUTS, OutputKind, apart, host};
use super::*;

type Double = Autodiff<NdArray<f64>>;
type Single = Autodiff<NdArray<f32>>;

const NAMES: [&str; 4] = ["c", "q", "w", "x"];

/// Gradients match elementwise within 1e-6, or 1e-9 of the largest where terms cancel.
#[test]
fn gradients_are_those_of_differences() {
    let mut worst: f64 = 0.0;
    for (d, seed) in [2, 3].into_iter().flat_map(|d| (0..10).map(move |seed| (d, seed))) {
        let numbers = Numbers::new(d, seed);
        for kind in OUTPUT_KINDS {
            let (loss, found) = numbers.gradients::<Double>(|layer, points| numbers.evaluate(kind, layer, points));
            let plain = numbers.loss(kind);
            assert!((loss - plain).abs() < 1e-12 * (1.0 + plain.abs()), "{kind:?}, {d}, seed {seed}: {loss} {plain}");
            for ((name, found), wanted) in NAMES.into_iter().zip(found).zip(numbers.differences(kind)) {
                let scale = wanted.iter().fold(0.0f64, |most, x| most.max(x.abs()));
                for (a, b) in found.iter().zip(&wanted) {
                    let (off, most) = ((a - b).abs(), 1e-6 * b.abs() + 1e-9 * scale);
                    assert!(off <= most, "{kind:?} by {name}, {d} dimensions, seed {seed}: {a:e} {b:e}");
                }
                worst = worst.max(apart(&found, &wanted));
            }
        }
    }
    println!("seeds 0 to 9, 2 and 3 dimensions: at most {worst:.1e} of the largest of a gradient");
}

/// Some hundred roundings of 2⁻⁵³, of terms about ten times their sum.
#[test]
fn gradients_are_those_of_burn() {
    for (d, seed) in [(2, 20), (3, 21)] {
        let numbers = Numbers::new(d, seed);
        for kind in OUTPUT_KINDS {
            let (loss, found) = numbers.gradients::<Double>(|layer, points| numbers.evaluate(kind, layer, points));
            let (plain, wanted) = numbers.gradients::<Double>(|layer, points| numbers.formula(kind, layer, points));
            assert!((loss - plain).abs() < 1e-12 * (1.0 + plain.abs()), "{kind:?}: {loss} {plain}");
            for ((name, found), wanted) in NAMES.into_iter().zip(found).zip(wanted) {
                let off = apart(&found, &wanted);
                assert!(off < 1e-12, "{kind:?} by {name}, {d} dimensions, seed {seed}: {off:e}");
            }
        }
    }
}

/// Operands of Δu at the points.
fn operands<B: RbfOps>(numbers: &Numbers, layer: &RbfLayer<B>, device: &B::Device) -> (Rows<B>, Shape<B>) {
    let rows = Rows {
        points: primitive(numbers.points::<B>(device).transpose()),
        form: Form::LAPLACIAN,
        coefficients: None,
        target: primitive(Tensor::<B, 1>::zeros([N], device)),
    };
    (rows, Shape { centres: primitive(layer.centres.val()), widths: primitive(layer.log_widths.val().exp()) })
}

/// Gradients have the bits of the operations, also with checkpointing.
#[test]
fn passes_are_the_fused_operations() {
    type Inner = NdArray<f32>;
    type Saving = Autodiff<Inner, BalancedCheckpointing>;
    let numbers = Numbers::new(2, 30);
    for kind in OUTPUT_KINDS {
        let all = numbers.gradients::<Single>(|layer, points| numbers.evaluate(kind, layer, points));
        assert_eq!(all, numbers.gradients::<Saving>(|layer, points| numbers.evaluate(kind, layer, points)));
    }
    let (device, d) = (Default::default(), numbers.d);
    let layer = numbers.layer::<Inner>(&device);
    let values = |k: usize| {
        let values = numbers.values[..N * OUTPUTS].chunks(OUTPUTS).map(|v| v[k]).collect();
        firebox_core::tensor::primitive::<Inner, 1>(values, [N], &device)
    };
    let (rows, shape) = operands(&numbers, &layer, &device);
    let wanted = host(tensor::<Inner, 1>(Inner::rbf_transposed(&rows, &shape, values(1))));
    let laplacian = |layer: &RbfLayer<Single>, points: Tensor<Single, 2>| layer.laplacian(points);
    let (_, [centres, _, weights, _]) = numbers.gradients::<Single>(laplacian);
    assert_eq!(weights[M..], wanted);
    let [first, second] = [0, 1].map(|k| {
        let weights = primitive(layer.weights.val().slice([k..k + 1, 0..M]).reshape([M]));
        tensor::<Inner, 2>(Inner::rbf_gradient(&rows, &shape, weights, values(k)))
    });
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
    // ∂(Δu)/∂x is linear in w: it equals its derivative by w, times w.
    let layer = numbers.layer::<Double>(&device);
    let weights = layer.weights.val().slice([0..1, 0..M]).reshape([M]).detach().require_grad();
    let (rows, shape) = operands(&numbers, &layer, &device);
    let slopes = tensor::<Double, 2>(Double::rbf_slopes(&rows, &shape, primitive(weights.clone()))).transpose();
    let loss = numbers.weighed(slopes);
    let by_weights = host(weights.grad(&loss.backward()).unwrap());
    let sum: f64 = by_weights.iter().zip(host(weights)).map(|(slope, w)| slope * w).sum();
    assert!(by_weights.iter().all(|slope| *slope != 0.0));
    assert!((sum - host(loss)[0]).abs() < 1e-11 * by_weights.iter().map(|slope| slope.abs()).sum::<f64>());
}

/// Linear → layer → linear: the gradient of the first layer matches that through the formula.
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
    let wanted = run(&|x| numbers.formula(OutputKind::Value, &layer, x));
    for (found, wanted) in found.iter().zip(&wanted) {
        assert!(apart(found, wanted) < 1e-12, "{found:?} {wanted:?}");
    }
}

/// Δu = f on [−1, 1]², u = 0 on the boundary, with f of u = cos(πx/2)·cos(πy/2): the loss falls a thousandfold.
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

/// Values are exact in both floats: Burn loads records in the float with which the device was first used, which depends
/// on the order of tests.
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
        (parameters, OUTPUT_KINDS.map(|kind| host(numbers.evaluate(kind, layer, numbers.points(&device)))))
    };
    assert_eq!(all(&again), all(&layer));
}

#[test]
fn without_gradients_it_is_the_same_layer_and_the_same_network() {
    let device = Default::default();
    for d in [2, 3] {
        let numbers = Numbers::new(d, 70);
        let layer = numbers.layer::<Double>(&device);
        for kind in OUTPUT_KINDS {
            let tracked = numbers.evaluate(kind, &layer, numbers.points(&device));
            assert_eq!(host(numbers.evaluate(kind, &layer.valid(), numbers.points(&device))), host(tracked));
        }
        let network = layer.network(1).unwrap();
        let of = |layer: &RbfLayer<Double>, output: usize| {
            host(layer.forward(numbers.points(&device)).slice([0..N, output..output + 1]))
        };
        // Some roundings of terms with φ ≤ 1, |w| ≤ 1.
        assert!(apart(&of(&layer, 1), &network.evaluate(&numbers.points)) < 1e-13);
        let per_axis = RbfNetwork::new(2, vec![0.0; 2], vec![1.0; 2], vec![1.0]).unwrap();
        assert!(
            RbfLayer::<Double>::from_network(&per_axis, &device).unwrap_err().to_string().contains("width per axis")
        );
        assert!(apart(&of(&RbfLayer::from_network(&network, &device).unwrap(), 0), &of(&layer, 1)) < 1e-13);
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
