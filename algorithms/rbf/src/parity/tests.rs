//! The default bodies pass all checks; implementations with injected faults fail.

use std::cell::Cell;

use burn::tensor::{Tensor, ops::FloatTensor};
use burn_ndarray::NdArray;
use firebox_core::tensor::{floats, tensor};

use super::{
    bounds::Expected,
    inputs::{Inputs, KINDS, Kind},
    *,
};
use crate::{
    ops::{
        RbfOps, operators,
        tensor::{self as bodies, primitive},
    },
    types::{Aim, Ellipsoids, Mixed, OperatorRows, RowSums, Rows, Shape},
};

/// Results of the checks whose names begin with `prefix`, at the sizes of `neurons` or all if that is empty.
fn run<B: RbfOps>(suite: fn() -> Suite<B>, prefix: &str, neurons: &[usize], seed: u64) -> Vec<Result<(), String>> {
    let device = B::Device::default();
    let mut results = Vec::new();
    for (k, size) in sizes().into_iter().enumerate().filter(|(_, s)| neurons.is_empty() || neurons.contains(&s.m)) {
        for case in cases::<B>(&device).into_iter().filter(|case| case.name.starts_with(prefix)) {
            let seed = seed + k as u64;
            let problem = Problem::new(suite(), &device, size, seed);
            results.push((case.check)(&problem).map_err(|what| format!("{}, {size}, {seed}: {what}", case.name)));
        }
    }
    results
}

fn passes<B: RbfOps>(suite: fn() -> Suite<B>) {
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
type Primitive = FloatTensor<F32>;

fn float<const D: usize>(primitive: Primitive) -> Tensor<F32, D> {
    tensor::<F32, D>(primitive)
}

/// `of` after `change`.
fn changed<const D: usize>(of: &Primitive, change: impl FnOnce(Tensor<F32, D>) -> Tensor<F32, D>) -> Primitive {
    primitive(change(float::<D>(of.clone())))
}

/// `values` with the last one set to 0.
fn without_last(values: Tensor<F32, 1>) -> Tensor<F32, 1> {
    let [n] = values.dims();
    if n == 0 { values } else { values.slice_fill(n - 1..n, 0.0) }
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
        fault!("widths off by 1e-4", matrix, "matrix", |rows, shape, w| {
            let widths = changed::<1>(&shape.widths, |a| a.mul_scalar(1.0001));
            bodies::matrix::<F32>(rows, &Shape { widths, ..shape.clone() }, w)
        }),
        fault!("neurons in another order", matrix, "matrix", |rows, shape, w| {
            let (a, r) = bodies::matrix::<F32>(rows, shape, w);
            (changed::<2>(&a, |a| a.flip([1])), r)
        }),
        fault!("target added", residual, "residual", |rows, shape, w| {
            let target = changed::<1>(&rows.target, Tensor::neg);
            bodies::residual::<F32>(&Rows { target, ..rows.clone() }, shape, w)
        }),
        fault!("last condition left out", residual, "residual", |rows, shape, w| {
            changed(&bodies::residual::<F32>(rows, shape, w), without_last)
        }),
        fault!("coefficients in another order", residual, "residual, all", |rows, shape, w| {
            let coefficients = rows.coefficients.as_ref().map(|all| changed::<2>(all, |all| all.flip([0])));
            bodies::residual::<F32>(&Rows { coefficients, ..rows.clone() }, shape, w)
        }),
        fault!("slope the other way", residual, "residual, robin", |rows, shape, w| {
            let coefficients = rows.coefficients.as_ref().map(|all| changed::<2>(all, Tensor::neg));
            bodies::residual::<F32>(&Rows { coefficients, ..rows.clone() }, shape, w)
        }),
        fault!("last value left out", transposed, "transposed", |rows, shape, v| {
            bodies::transposed::<F32>(rows, shape, changed(&v, without_last))
        }),
        fault!("last neuron left out", normal, "normal", |rows, shape, matrix, p| {
            bodies::normal::<F32>(rows, shape, matrix, changed(&p, without_last))
        }),
        fault!("A computed again", normal, "normal, stored", |rows, shape, _, p| {
            bodies::normal::<F32>(rows, shape, None, p)
        }),
        fault!("c and a exchanged", gradient, "gradient", |rows, shape, w, v| {
            changed::<2>(&bodies::gradient::<F32>(rows, shape, w, v), |slopes| slopes.flip([0]))
        }),
        fault!("w forgotten", gradient, "gradient", |rows, shape, w, v| {
            bodies::gradient::<F32>(rows, shape, changed::<1>(&w, |w| w.ones_like()), v)
        }),
        fault!("by c, not by x", slopes, "slopes", |rows, shape, w| {
            changed::<2>(&bodies::slopes::<F32>(rows, shape, w), Tensor::neg)
        }),
        fault!("axes exchanged", slopes, "slopes", |rows, shape, w| {
            changed::<2>(&bodies::slopes::<F32>(rows, shape, w), |slopes| slopes.flip([0]))
        }),
        fault!("widths of other axes", operators, "operators, 5", |rows, neurons| {
            let widths = changed::<2>(&neurons.widths, |widths| widths.flip([0]));
            operators::matrix::<F32>(rows, &Ellipsoids { widths, ..neurons.clone() })
        }),
        fault!("first derivatives the other way", operators, "operators, 3", |rows, neurons| {
            let coefficients = changed::<2>(&rows.coefficients, |all| {
                let [_, n] = all.dims();
                let first = all.clone().slice([1..4, 0..n]).neg();
                all.slice_assign([1..4, 0..n], first)
            });
            operators::matrix::<F32>(&OperatorRows { coefficients, ..rows.clone() }, neurons)
        }),
        fault!("no mixed derivatives", operators, "operators, 4", |rows, neurons| {
            operators::matrix::<F32>(&OperatorRows { mixed: Mixed::default(), ..rows.clone() }, neurons)
        }),
        fault!("sums without the last term", operators, "operators, 2", |rows, neurons| {
            let sums = rows.sums.clone().map(|sums| {
                let factors = changed(&sums.factors, without_last);
                RowSums { factors, ..sums }
            });
            operators::matrix::<F32>(&OperatorRows { sums, ..rows.clone() }, neurons)
        }),
        fault!("derivatives of u alone", operator_values, "operator values, u", |rows, neurons, w| {
            let coefficients = changed::<2>(&rows.coefficients, |all| all.clone().mask_fill(all.is_nan(), 1e-3));
            let rows = OperatorRows { coefficients, has_derivatives: true, ..rows.clone() };
            operators::values::<F32>(&rows, neurons, w)
        }),
        fault!("last weight left out", operator_values, "operator values", |rows, neurons, w| {
            operators::values::<F32>(rows, neurons, changed(&w, without_last))
        }),
        fault!("a step too many", descend, "descend", |aim, shape, w, rates, steps| {
            let (_, history) = bodies::descend::<F32>(aim, shape.clone(), w.clone(), rates, steps);
            (bodies::descend::<F32>(aim, shape, w, rates, steps + 1).0, history)
        }),
        fault!("I after a step", descend, "descend", |aim, shape, w, rates, steps| {
            let (_, history) = bodies::descend::<F32>(aim, shape.clone(), w.clone(), rates, steps + 1);
            let history = changed::<1>(&history, |all| all.slice(1..steps + 1));
            (bodies::descend::<F32>(aim, shape, w, rates, steps).0, history)
        }),
        fault!("steps of a, not of ln a", descend, "descend", |aim, shape, w, rates, steps| {
            let before = shape.widths.clone();
            let (after, history) = bodies::descend::<F32>(aim, shape, w, rates, steps);
            let widths = changed::<1>(&after.widths, |a| {
                let from = float::<1>(before);
                let moved = (a / from.clone()).log();
                from.clone() + moved / from
            });
            (Shape { widths, ..after }, history)
        }),
        fault!("rate off by 1e-3", descend, "descend", |aim, shape, w, rates, steps| {
            bodies::descend::<F32>(aim, shape, w, rates.map(|rate| rate * 1.001), steps)
        }),
        fault!("one rate for both", descend, "descend", |aim, shape, w, rates, steps| {
            bodies::descend::<F32>(aim, shape, w, [rates[0]; 2], steps)
        }),
        fault!("boundary as the inside", descend, "descend", |aim, shape, w, rates, steps| {
            bodies::descend::<F32>(&Aim { penalty: 1.0, ..aim.clone() }, shape, w, rates, steps)
        }),
        fault!("boundary as the inside", conjugate, "conjugate", |aim, shape, w, iterations| {
            bodies::conjugate::<F32>(&Aim { penalty: 1.0, ..aim.clone() }, shape, w, iterations)
        }),
        fault!("steepest descent", conjugate, "conjugate", |aim, shape, mut w, iterations| {
            let mut history = vec![float::<1>(bodies::conjugate::<F32>(aim, shape, w.clone(), 0).1)];
            for _ in 0..iterations {
                let (next, norms) = bodies::conjugate::<F32>(aim, shape, w, 1);
                w = next;
                history.push(float::<1>(norms).slice(1..2));
            }
            (w, primitive(Tensor::cat(history, 0)))
        }),
        fault!("a last iteration not taken", conjugate, "conjugate", |aim, shape, w, iterations| {
            let (_, history) = bodies::conjugate::<F32>(aim, shape, w.clone(), iterations);
            (bodies::conjugate::<F32>(aim, shape, w, iterations.saturating_sub(1)).0, history)
        }),
        fault!("norms, not squared", conjugate, "conjugate", |aim, shape, w, iterations| {
            let (w, history) = bodies::conjugate::<F32>(aim, shape, w, iterations);
            (w, changed::<1>(&history, Tensor::sqrt))
        }),
    ]
}

#[test]
fn faults_are_found() {
    for fault in faults() {
        let results = run(fault.suite, fault.prefix, &[16, 17, 63, 64, 100], 7);
        let found = results.iter().filter(|result| result.is_err()).count();
        assert!(2 * found > results.len(), "{}: found in {found} of {} cases", fault.what, results.len());
    }
}

/// One of many left out is found every time: the tolerances are that narrow.
#[test]
fn one_of_many_is_missed() {
    let suite = || Suite {
        transposed: |rows, shape, v| bodies::transposed::<F32>(rows, shape, changed(&v, without_last)),
        residual: |rows, shape, w| bodies::residual::<F32>(rows, shape, changed(&w, without_last)),
        slopes: |rows, shape, w| bodies::slopes::<F32>(rows, shape, changed(&w, without_last)),
        ..Suite::<F32>::tensor_operations()
    };
    for prefix in ["transposed", "residual", "slopes"] {
        for result in run(suite, prefix, &[7, 64, 65, 100, 128], 7) {
            assert!(result.is_err(), "not found: {prefix}");
        }
    }
}

thread_local! {
    /// Which element of a result an operation gets wrong, and by how much.
    static NUDGE: Cell<(usize, f64)> = const { Cell::new((0, 0.0)) };
}

fn nudged<const D: usize>(found: Primitive) -> Primitive {
    changed::<D>(&found, |found| {
        let shape = found.dims();
        let mut values: Vec<f64> = found.into_data().iter::<f64>().collect();
        let (at, amount) = NUDGE.get();
        if let Some(value) = values.get_mut(at) {
            *value += amount;
        }
        floats::<F32, D>(values, shape, &Default::default())
    })
}

type Run<'a> = &'a dyn Fn() -> Result<(), String>;

/// Ten times the tolerance is too much, in any element.
#[test]
fn ten_tolerances_are_too_much() {
    let suite = || Suite::<F32> {
        matrix: |rows, shape, w| {
            let (a, r) = bodies::matrix::<F32>(rows, shape, w);
            (nudged::<2>(a), r)
        },
        residual: |rows, shape, w| nudged::<1>(bodies::residual::<F32>(rows, shape, w)),
        transposed: |rows, shape, v| nudged::<1>(bodies::transposed::<F32>(rows, shape, v)),
        normal: |rows, shape, matrix, p| nudged::<1>(bodies::normal::<F32>(rows, shape, matrix, p)),
        gradient: |rows, shape, w, v| nudged::<2>(bodies::gradient::<F32>(rows, shape, w, v)),
        slopes: |rows, shape, w| nudged::<2>(bodies::slopes::<F32>(rows, shape, w)),
        ..Suite::tensor_operations()
    };
    for size in sizes().into_iter().filter(|size| [16, 33, 64].contains(&size.m)) {
        for kind in KINDS {
            let p = Problem::new(suite(), &Default::default(), size, 3);
            let bounded = p.bounded(kind, true);
            let Inputs { weights, values, vector, .. } = &p.inputs;
            let checks: [(&str, Run, Expected); 6] = [
                ("matrix", &|| p.check_matrix(kind), bounded.matrix()),
                ("residual", &|| p.check_residual(kind), p.expected_residual(kind, &bounded)),
                ("transposed", &|| p.check_transposed(kind), bounded.transposed_times(&Expected::exact(values))),
                (
                    "normal",
                    &|| p.check_normal(kind),
                    bounded.transposed_times(&bounded.times(&Expected::exact(vector))),
                ),
                ("gradient", &|| p.check_gradient(kind), bounded.gradient(weights, &Expected::exact(values))),
                ("slopes", &|| p.check_slopes(kind), bounded.slopes(weights)),
            ];
            for (what, check, expected) in checks {
                let last = expected.values.len() - 1;
                for at in [0, last / 3, last / 2, last] {
                    // At least the resolution of the float.
                    NUDGE.set((at, (10.0 * expected.errors[at]).max(1e-6 * expected.values[at].abs())));
                    assert!(check().is_err(), "{what}, {size}: element {at} off by {:?}", NUDGE.get());
                }
                NUDGE.set((0, 0.0));
                assert_eq!(check(), Ok(()), "{what}, {size}");
            }
        }
    }
}

/// Shares of the cases whose conjugate gradients are compared after 0, 1, 2 and 3 iterations, before bounds are too wide.
fn compared<B: RbfOps>() -> [f64; 4] {
    let mut compared = [0.0; 4];
    let sizes: Vec<Size> = shapes().into_iter().chain(sizes()).filter(|size| size.n > 0).collect();
    for (k, size) in sizes.iter().enumerate() {
        for (inside, edge) in [(Kind::Laplacian, Kind::Value), (Kind::All, Kind::Robin)] {
            let p = Problem::<B>::new(Suite::tensor_operations(), &Default::default(), *size, k as u64);
            (0..=p.certain(inside, edge)).for_each(|done| compared[done] += 0.5 / sizes.len() as f64);
        }
    }
    compared
}

/// Bounds in f32 cover one iteration, sometimes two; f64, whose loops are the same, covers the third.
#[test]
fn conjugate_gradients_are_compared() {
    let (single, double) = (compared::<F32>(), compared::<NdArray<f64>>());
    println!("{single:?} {double:?}");
    assert!(single[1] > 0.8 && single[2] > 0.25, "{single:?}");
    assert!(double[3] > 0.8, "{double:?}");
}
