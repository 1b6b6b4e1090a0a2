//! That the default bodies pass, and that what is wrong does not.

use std::cell::Cell;

use burn::tensor::{Tensor, TensorPrimitive};
use burn_ndarray::NdArray;
use firebox_core::tensor::floats;

use super::{tensors::primitive, *};

/// What cases whose names begin with `prefix` have to say on the shapes of `sizes`, none for all.
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
fn matrix(problem: &ops::Problem<F32>) -> Tensor<F32, 2> {
    match &problem.source {
        Source::Features { points, metric, .. } => {
            tensor(tensor_ops::inverse::<F32>(points.clone(), points.clone(), Some(0), *metric))
        }
        Source::Inverse(parts) => Tensor::cat(parts.iter().cloned().map(tensor).collect(), 0),
    }
}

fn with(problem: &ops::Problem<F32>, inverse: Tensor<F32, 2>) -> ops::Problem<F32> {
    ops::Problem { source: Source::Inverse(vec![primitive(inverse)]), ..problem.clone() }
}

fn alike(multiplicity: &FloatTensor<F32>) -> FloatTensor<F32> {
    primitive(tensor::<1>(multiplicity.clone()).ones_like())
}

/// A fault of an operation: the cases that should find it, and the suite that has it.
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
            let p = ops::Problem { multiplicity: alike(&p.multiplicity), ..p.clone() };
            tensor_ops::forces::<F32>(&p, y)
        }),
        fault!("p off by 1e-3", forces, "forces", |p, y, _| {
            tensor_ops::forces::<F32>(&ops::Problem { power: p.power + 1e-3, ..p.clone() }, y)
        }),
        fault!("every part is the whole", forces, "parts, euclidean", |p, y, _| {
            tensor_ops::forces::<F32>(&ops::Problem { share: Share::WHOLE, ..p.clone() }, y)
        }),
        fault!("force the other way", forces, "forces", |p, y, _| {
            let found = tensor_ops::forces::<F32>(p, y);
            Forces { force: primitive(tensor::<2>(found.force).neg()), ..found }
        }),
        fault!("last point left out", forces, "forces", |p, y, _| {
            let found = tensor_ops::forces::<F32>(p, y);
            let force = tensor::<2>(found.force);
            let [m, n] = force.dims();
            let force = force.slice_fill([0..m, n - 1..n], 0.0);
            Forces { force: primitive(force), ..found }
        }),
        fault!("blocks from the last", forces, "forces, auto, blocks", |p, y, _| {
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
        fault!("euclidean whatever is asked for", forces, "forces, auto, cosine", |p, y, _| {
            let mut p = p.clone();
            if let Source::Features { metric, .. } = &mut p.source {
                *metric = Metric::Euclidean;
            }
            tensor_ops::forces::<F32>(&p, y)
        }),
        fault!("a step too many", steps, "steps", |p, y, rates, steps, _| {
            let right = tensor_ops::steps::<F32>(p, y.clone(), rates.clone(), steps);
            Forces { stress: right.stress, ..tensor_ops::steps::<F32>(p, y, rates, steps + 1) }
        }),
        fault!("stress after a step", steps, "steps", |p, y, rates, steps, _| {
            let next = tensor_ops::steps::<F32>(p, y.clone(), rates.clone(), steps + 1);
            let [all, n] = tensor::<2>(next.stress.clone()).dims();
            let stress = primitive(tensor::<2>(next.stress).slice([1..all, 0..n]));
            Forces { stress, ..tensor_ops::steps::<F32>(p, y, rates, steps) }
        }),
        fault!("one rate for all", steps, "steps", |p, y, rates, steps, _| {
            let rates = tensor::<1>(rates);
            let mean = rates.clone().mean().expand(rates.dims());
            tensor_ops::steps::<F32>(p, y, primitive(mean), steps)
        }),
        fault!("sums of a measure exchanged", measure, "measure", |p, y| {
            primitive(tensor::<2>(tensor_ops::measure::<F32>(p, y)).flip([0]))
        }),
        fault!("a measure without multiplicities", measure, "measure", |p, y| {
            tensor_ops::measure::<F32>(&ops::Problem { multiplicity: alike(&p.multiplicity), ..p.clone() }, y)
        }),
        fault!("another point is the own one", inverse, "inverse", |rows, points, first, metric| {
            tensor_ops::inverse::<F32>(rows, points, first.map(|first| first + 1), metric)
        }),
        fault!("epochs backwards", sampled, "sampled", |points, metric, mu, p, y, epochs, block| {
            let epochs: Vec<Epoch> = epochs.iter().rev().cloned().collect();
            tensor_ops::sampled::<F32>(points, metric, mu, p, y, &epochs, block)
        }),
        fault!("full steps in epochs", sampled, "sampled", |points, metric, mu, p, y, epochs, block| {
            let epochs: Vec<Epoch> = epochs.iter().map(|epoch| Epoch { alpha: 1.0, ..epoch.clone() }).collect();
            tensor_ops::sampled::<F32>(points, metric, mu, p, y, &epochs, block)
        }),
        fault!("points not shuffled", sampled, "sampled", |points, metric, mu, p, y, epochs, block| {
            let sorted = |epoch: &Epoch| Epoch { order: (0..epoch.order.len() as u32).collect(), alpha: epoch.alpha };
            let epochs: Vec<Epoch> = epochs.iter().map(sorted).collect();
            tensor_ops::sampled::<F32>(points, metric, mu, p, y, &epochs, block)
        }),
        fault!("blocks one larger", sampled, "sampled", |points, metric, mu, p, y, epochs, block| {
            tensor_ops::sampled::<F32>(points, metric, mu, p, y, epochs, block + 1)
        }),
        fault!("placed among equals", place, "place", |inverse, mu, p, fixed, y, steps| {
            tensor_ops::place::<F32>(inverse, alike(&mu), p, fixed, y, steps)
        }),
        fault!("a last step not taken", place, "place", |inverse, mu, p, fixed, y, steps| {
            let right = tensor_ops::place::<F32>(inverse.clone(), mu.clone(), p, fixed.clone(), y.clone(), steps);
            let short = tensor_ops::place::<F32>(inverse, mu, p, fixed, y, steps.saturating_sub(1));
            Forces { force: short.force, stress: right.stress }
        }),
    ]
}

#[test]
fn faults_are_found() {
    for fault in faults() {
        // Sizes at which the weights are Sammon's: what a higher power allows hides more after some epochs.
        let results = run(fault.suite, fault.prefix, &[16, 33, 48, 100, 127], 7);
        let found = results.iter().filter(|result| result.is_err()).count();
        assert!(2 * found > results.len(), "{}: found in {found} of {} cases", fault.what, results.len());
    }
}

/// One pair among all is missing: the tolerances are that narrow, at the largest sizes too.
#[test]
fn a_pair_dropped_is_found() {
    let suite = || Suite {
        forces: |p, y, _| {
            let inverse = matrix(p);
            let n = inverse.dims()[0];
            // A pair that is there.
            let row: Vec<f32> = inverse.clone().slice([n - 1..n, 0..n]).into_data().iter::<f32>().collect();
            let j = row.iter().rposition(|&x| x > 0.0 && x < 5.0).unwrap();
            tensor_ops::forces::<F32>(&with(p, inverse.slice_fill([n - 1..n, j..j + 1], 0.0)), y)
        },
        ..Suite::<F32>::tensor_operations()
    };
    for prefix in ["forces, auto, one block", "forces, auto, blocks", "forces, auto, euclidean"] {
        for result in run(suite, prefix, &[16, 33, 65, 128, 257, 301], 7) {
            assert!(result.is_err(), "not found: {prefix}");
        }
    }
}

thread_local! {
    /// Which element of a result an operation gets wrong, and by how much.
    static NUDGE: Cell<(usize, f64)> = const { Cell::new((0, 0.0)) };
}

fn nudged(found: FloatTensor<F32>) -> FloatTensor<F32> {
    let found = tensor::<2>(found);
    let shape = found.dims();
    let mut values: Vec<f64> = found.into_data().iter::<f64>().collect();
    let (at, amount) = NUDGE.get();
    if let Some(value) = values.get_mut(at) {
        *value += amount;
    }
    primitive(floats::<F32, 2>(values, shape, &Default::default()))
}

type Run<'a> = &'a dyn Fn() -> Result<(), String>;

/// Ten times the tolerance is too much, in any element.
#[test]
fn ten_tolerances_are_too_much() {
    let suite = || Suite::<F32> {
        forces: |p, y, _| {
            let found = tensor_ops::forces::<F32>(p, y);
            Forces { force: nudged(found.force), ..found }
        },
        steps: |p, y, rates, steps, _| {
            let found = tensor_ops::steps::<F32>(p, y, rates, steps);
            if steps == 1 { Forces { force: nudged(found.force), ..found } } else { found }
        },
        measure: |p, y| nudged(tensor_ops::measure::<F32>(p, y)),
        sampled: |points, metric, mu, p, y, epochs, block| {
            let found = tensor_ops::sampled::<F32>(points, metric, mu, p, y, epochs, block);
            if epochs.len() == 1 { nudged(found) } else { found }
        },
        place: |inverse, mu, p, fixed, y, steps| {
            let found = tensor_ops::place::<F32>(inverse, mu, p, fixed, y, steps);
            if steps == 1 { Forces { force: nudged(found.force), ..found } } else { found }
        },
        ..Suite::tensor_operations()
    };
    let origin = Origin::Features { metric: Metric::Euclidean, gram: false };
    for shape in shapes().into_iter().filter(|shape| [17, 33, 64].contains(&shape.n)) {
        let p = Problem::new(suite(), &Default::default(), shape, 3);
        let (_, known) = p.both(origin, Share::WHOLE);
        let (_, y) = p.embedding();
        let features = p.inputs.features(Metric::Euclidean);
        let to = Known::stored(&p.inputs.inverse_to, &p.inputs.multiplicity, shape.power, p.inputs.unit());
        let starts = Places::exact(&p.inputs.starts, p.inputs.q);
        let checks: [(&str, Run, Vec<f64>); 5] = [
            ("forces", &|| p.check_forces(Variant::Auto, origin), known.forces(&y, &y).0.errors),
            (
                "steps",
                &|| p.check_steps(Variant::Auto, origin),
                known.step(&y, &y, Rate::Given(&p.rates(&known))).0.wanted().errors,
            ),
            ("measure", &|| p.check_measure(origin), known.measure(&y).errors),
            (
                "sampled",
                &|| p.check_sampled(Metric::Euclidean),
                p.epoch(&features, Metric::Euclidean, &p.inputs.epochs[0], &y).wanted().errors,
            ),
            ("place", &|| p.check_place(), to.step(&starts, &y, Rate::Share(1.0)).0.wanted().errors),
        ];
        for (what, check, errors) in checks {
            let last = errors.len() - 1;
            for at in [0, 1, last / 3, last / 2, last - 1, last] {
                NUDGE.set((at, 10.0 * errors[at].max(1e-7)));
                assert!(check().is_err(), "{what}, {shape}: element {at} off by {:?}", NUDGE.get());
            }
            NUDGE.set((0, 0.0));
            assert_eq!(check(), Ok(()), "{what}, {shape}");
        }
    }
}
