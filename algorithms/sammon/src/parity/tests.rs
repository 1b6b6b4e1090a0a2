//! Default bodies pass the checks, and injected faults fail them.

use std::cell::Cell;

use burn::tensor::{Tensor, TensorPrimitive, ops::FloatTensor};
use burn_ndarray::NdArray;
use firebox_core::{Share, tensor::floats};

use super::{
    bounds::{BoundedPairs, Places, Rate},
    shapes::Origin,
    *,
};
use crate::{
    ops::{
        SammonOps,
        tensor::{self as tensor_ops, primitive},
    },
    types::{self, Epoch, Forces, Metric, Source, Steps, Variant},
};

/// Results of the cases whose names begin with `prefix`, on the shapes whose n is in `sizes`, or on all if that is
/// empty.
fn run<B: SammonOps>(suite: fn() -> Suite<B>, prefix: &str, sizes: &[usize], seed: u64) -> Vec<Result<(), String>> {
    let device = B::Device::default();
    let mut results = Vec::new();
    for (k, shape) in shapes().into_iter().enumerate().filter(|(_, s)| sizes.is_empty() || sizes.contains(&s.n)) {
        for case in cases::<B>(&device).into_iter().filter(|case| case.name.starts_with(prefix)) {
            let seed = seed + k as u64;
            let problem = Problem::new(suite(), &device, shape, seed);
            results.push((case.check)(&problem).map_err(|what| format!("{}, {shape}, {seed}: {what}", case.name)));
        }
    }
    results
}

fn passes<B: SammonOps>(suite: fn() -> Suite<B>) {
    for seed in [1, 1000] {
        let failed: Vec<String> = run(suite, "", &[], seed).into_iter().filter_map(Result::err).collect();
        assert!(failed.is_empty(), "{} failed:\n{}", failed.len(), failed.join("\n"));
    }
}

#[test]
fn tensor_operations_in_f32() {
    passes::<NdArray<f32>>(Suite::tensor_operations);
}

#[test]
fn tensor_operations_in_f64() {
    passes::<NdArray<f64>>(Suite::tensor_operations);
}

type F32 = NdArray<f32>;

fn tensor<const D: usize>(tensor: FloatTensor<F32>) -> Tensor<F32, D> {
    Tensor::from_primitive(TensorPrimitive::Float(tensor))
}

/// 1/δ of all pairs `[n, n]`.
fn matrix(problem: &types::Problem<F32>) -> Tensor<F32, 2> {
    match &problem.source {
        Source::Features { points, metric, .. } => {
            tensor(tensor_ops::inverse::<F32>(points.clone(), points.clone(), Some(0), *metric))
        }
        Source::Inverse(parts) => Tensor::cat(parts.iter().cloned().map(tensor).collect(), 0),
    }
}

fn with(problem: &types::Problem<F32>, inverse: Tensor<F32, 2>) -> types::Problem<F32> {
    types::Problem { source: Source::Inverse(vec![primitive(inverse)]), ..problem.clone() }
}

fn alike(multiplicity: &FloatTensor<F32>) -> FloatTensor<F32> {
    primitive(tensor::<1>(multiplicity.clone()).ones_like())
}

/// A fault injected into an operation: the cases that should detect it, and the faulty suite.
struct Fault {
    what: &'static str,
    prefix: &'static str,
    suite: fn() -> Suite<F32>,
}

macro_rules! fault {
    ($what:literal, $field:ident, $prefix:literal, $body:expr) => {
        Fault { what: $what, prefix: $prefix, suite: || Suite { $field: $body, ..Suite::tensor_operations() } }
    };
}

fn faults() -> Vec<Fault> {
    vec![
        fault!("multiplicities ignored", forces, "forces", |p, y, _| {
            let p = types::Problem { multiplicity: alike(&p.multiplicity), ..p.clone() };
            tensor_ops::forces::<F32>(&p, y)
        }),
        fault!("p wrong by 1e-3", forces, "forces", |p, y, _| {
            tensor_ops::forces::<F32>(&types::Problem { power: p.power + 1e-3, ..p.clone() }, y)
        }),
        fault!("shares ignored", forces, "parts, euclidean", |p, y, _| {
            tensor_ops::forces::<F32>(&types::Problem { share: Share::WHOLE, ..p.clone() }, y)
        }),
        fault!("sign of the force reversed", forces, "forces", |p, y, _| {
            let found = tensor_ops::forces::<F32>(p, y);
            Forces { force: primitive(tensor::<2>(found.force).neg()), ..found }
        }),
        fault!("last point omitted", forces, "forces", |p, y, _| {
            let found = tensor_ops::forces::<F32>(p, y);
            let force = tensor::<2>(found.force);
            let [m, n] = force.dims();
            let force = force.slice_fill([0..m, n - 1..n], 0.0);
            Forces { force: primitive(force), ..found }
        }),
        fault!("blocks in reverse order", forces, "forces, auto, blocks", |p, y, _| {
            let mut p = p.clone();
            if let Source::Inverse(parts) = &mut p.source {
                parts.reverse();
            }
            tensor_ops::forces::<F32>(&p, y)
        }),
        fault!("dot products not recomputed", forces, "forces, auto, euclidean of dot products", |p, y, _| {
            let Source::Features { points, .. } = &p.source else { return tensor_ops::forces::<F32>(p, y) };
            let points = tensor::<2>(points.clone());
            let n = points.dims()[1];
            let norms = (points.clone() * points.clone()).sum_dim(0);
            let dot = points.clone().transpose().matmul(points);
            let square = norms.clone().reshape([n, 1]) + norms - dot.mul_scalar(2.0);
            let there = matrix(p).equal_elem(0.0);
            let inverse = square.clone().ones_like() / square.clamp_min(1e-12).sqrt();
            tensor_ops::forces::<F32>(&with(p, inverse.mask_fill(there, 0.0)), y)
        }),
        fault!("metric ignored", forces, "forces, auto, cosine", |p, y, _| {
            let mut p = p.clone();
            if let Source::Features { metric, .. } = &mut p.source {
                *metric = Metric::Euclidean;
            }
            tensor_ops::forces::<F32>(&p, y)
        }),
        fault!("one step too many", steps, "steps", |p, y, rates, steps, _| {
            let right = tensor_ops::steps::<F32>(p, y.clone(), rates.clone(), steps);
            Steps { stresses: right.stresses, ..tensor_ops::steps::<F32>(p, y, rates, steps + 1) }
        }),
        fault!("stress after a step", steps, "steps", |p, y, rates, steps, _| {
            let next = tensor_ops::steps::<F32>(p, y.clone(), rates.clone(), steps + 1);
            let [all, n] = tensor::<2>(next.stresses.clone()).dims();
            let stresses = primitive(tensor::<2>(next.stresses).slice([1..all, 0..n]));
            Steps { stresses, ..tensor_ops::steps::<F32>(p, y, rates, steps) }
        }),
        fault!("mean rate for all points", steps, "steps", |p, y, rates, steps, _| {
            let rates = tensor::<1>(rates);
            let mean = rates.clone().mean().expand(rates.dims());
            tensor_ops::steps::<F32>(p, y, primitive(mean), steps)
        }),
        fault!("measures in reverse order", measure, "measure", |p, y| {
            primitive(tensor::<2>(tensor_ops::measure::<F32>(p, y)).flip([0]))
        }),
        fault!("measures without multiplicities", measure, "measure", |p, y| {
            tensor_ops::measure::<F32>(&types::Problem { multiplicity: alike(&p.multiplicity), ..p.clone() }, y)
        }),
        fault!("wrong point excluded", inverse, "inverse", |rows, points, first, metric| {
            tensor_ops::inverse::<F32>(rows, points, first.map(|first| first + 1), metric)
        }),
        fault!("epochs in reverse order", sampled, "sampled", |points, metric, mu, p, y, epochs, block| {
            let epochs: Vec<Epoch> = epochs.iter().rev().cloned().collect();
            tensor_ops::sampled::<F32>(points, metric, mu, p, y, &epochs, block)
        }),
        fault!("step length ignored", sampled, "sampled", |points, metric, mu, p, y, epochs, block| {
            let epochs: Vec<Epoch> = epochs.iter().map(|epoch| Epoch { alpha: 1.0, ..epoch.clone() }).collect();
            tensor_ops::sampled::<F32>(points, metric, mu, p, y, &epochs, block)
        }),
        fault!("points not shuffled", sampled, "sampled", |points, metric, mu, p, y, epochs, block| {
            let sorted = |epoch: &Epoch| Epoch { order: (0..epoch.order.len() as u32).collect(), alpha: epoch.alpha };
            let epochs: Vec<Epoch> = epochs.iter().map(sorted).collect();
            tensor_ops::sampled::<F32>(points, metric, mu, p, y, &epochs, block)
        }),
        fault!("blocks too large by one", sampled, "sampled", |points, metric, mu, p, y, epochs, block| {
            tensor_ops::sampled::<F32>(points, metric, mu, p, y, epochs, block + 1)
        }),
        fault!("placement without multiplicities", place, "place", |inverse, mu, p, fixed, y, steps| {
            tensor_ops::place::<F32>(inverse, alike(&mu), p, fixed, y, steps)
        }),
        fault!("last step omitted", place, "place", |inverse, mu, p, fixed, y, steps| {
            let right = tensor_ops::place::<F32>(inverse.clone(), mu.clone(), p, fixed.clone(), y.clone(), steps);
            let short = tensor_ops::place::<F32>(inverse, mu, p, fixed, y, steps.saturating_sub(1));
            Steps { embedding: short.embedding, stresses: right.stresses }
        }),
    ]
}

#[test]
fn injected_faults_are_detected() {
    for fault in faults() {
        // Sizes with p = 1: for larger p the error bounds after some epochs are too wide.
        let results = run(fault.suite, fault.prefix, &[16, 33, 48, 100, 127], 7);
        let found = results.iter().filter(|result| result.is_err()).count();
        assert!(2 * found > results.len(), "{}: detected in {found} of {} cases", fault.what, results.len());
    }
}

/// The bounds are narrow enough to detect one omitted pair, at the largest sizes too.
#[test]
fn an_omitted_pair_is_detected() {
    let suite = || Suite {
        forces: |p, y, _| {
            let inverse = matrix(p);
            let n = inverse.dims()[0];
            // An existing pair.
            let row: Vec<f32> = inverse.clone().slice([n - 1..n, 0..n]).into_data().iter::<f32>().collect();
            let j = row.iter().rposition(|&x| x > 0.0 && x < 5.0).unwrap();
            tensor_ops::forces::<F32>(&with(p, inverse.slice_fill([n - 1..n, j..j + 1], 0.0)), y)
        },
        ..Suite::<F32>::tensor_operations()
    };
    for prefix in ["forces, auto, one block", "forces, auto, blocks", "forces, auto, euclidean"] {
        for result in run(suite, prefix, &[16, 33, 65, 128, 257, 301], 7) {
            assert!(result.is_err(), "not detected: {prefix}");
        }
    }
}

thread_local! {
    /// Index of the element of a result to perturb, and the perturbation.
    static PERTURBATION: Cell<(usize, f64)> = const { Cell::new((0, 0.0)) };
}

fn perturbed(found: FloatTensor<F32>) -> FloatTensor<F32> {
    let found = tensor::<2>(found);
    let shape = found.dims();
    let mut values: Vec<f64> = found.into_data().iter::<f64>().collect();
    let (at, amount) = PERTURBATION.get();
    if let Some(value) = values.get_mut(at) {
        *value += amount;
    }
    primitive(floats::<F32, 2>(values, shape, &Default::default()))
}

type Run<'a> = &'a dyn Fn() -> Result<(), String>;

/// An error of ten times the bound is detected in every element.
#[test]
fn ten_times_the_error_bound_is_detected() {
    let suite = || Suite::<F32> {
        forces: |p, y, _| {
            let found = tensor_ops::forces::<F32>(p, y);
            Forces { force: perturbed(found.force), ..found }
        },
        steps: |p, y, rates, steps, _| {
            let found = tensor_ops::steps::<F32>(p, y, rates, steps);
            if steps == 1 { Steps { embedding: perturbed(found.embedding), ..found } } else { found }
        },
        measure: |p, y| perturbed(tensor_ops::measure::<F32>(p, y)),
        sampled: |points, metric, mu, p, y, epochs, block| {
            let found = tensor_ops::sampled::<F32>(points, metric, mu, p, y, epochs, block);
            if epochs.len() == 1 { perturbed(found) } else { found }
        },
        place: |inverse, mu, p, fixed, y, steps| {
            let found = tensor_ops::place::<F32>(inverse, mu, p, fixed, y, steps);
            if steps == 1 { Steps { embedding: perturbed(found.embedding), ..found } } else { found }
        },
        ..Suite::tensor_operations()
    };
    let origin = Origin::Features { metric: Metric::Euclidean, gram: false };
    for shape in shapes().into_iter().filter(|shape| [17, 33, 64].contains(&shape.n)) {
        let p = Problem::new(suite(), &Default::default(), shape, 3);
        let (_, bounded) = p.problem_and_bounds(origin, Share::WHOLE);
        let (_, y) = p.embedding();
        let features = p.inputs.features(Metric::Euclidean);
        let to = BoundedPairs::stored(&p.inputs.inverse_to, &p.inputs.multiplicity, shape.power, p.inputs.unit());
        let starts = Places::exact(&p.inputs.starts, p.inputs.q);
        let checks: [(&str, Run, Vec<f64>); 5] = [
            ("forces", &|| p.check_forces(Variant::Auto, origin), bounded.forces(&y, &y).0.errors),
            (
                "steps",
                &|| p.check_steps(Variant::Auto, origin),
                bounded.step(&y, &y, Rate::Given(&p.rates(&bounded))).0.expected().errors,
            ),
            ("measure", &|| p.check_measure(origin), bounded.measure(&y).errors),
            (
                "sampled",
                &|| p.check_sampled(Metric::Euclidean),
                p.epoch(&features, Metric::Euclidean, &p.inputs.epochs[0], &y).expected().errors,
            ),
            ("place", &|| p.check_place(), to.step(&starts, &y, Rate::Share(1.0)).0.expected().errors),
        ];
        for (what, check, errors) in checks {
            let last = errors.len() - 1;
            for at in [0, 1, last / 3, last / 2, last - 1, last] {
                PERTURBATION.set((at, 10.0 * errors[at].max(1e-7)));
                assert!(check().is_err(), "{what}, {shape}: element {at} off by {:?}", PERTURBATION.get());
            }
            PERTURBATION.set((0, 0.0));
            assert_eq!(check(), Ok(()), "{what}, {shape}");
        }
    }
}
