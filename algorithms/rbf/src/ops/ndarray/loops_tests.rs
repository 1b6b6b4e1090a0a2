//! Loops at every SIMD level against the reference, and their independence of threads and storage.

use std::cell::Cell;

use burn_ndarray::NdArray;
use firebox_backends::cpu::{LEAST_GAIN, Real, SimdLevel, gain};
use firebox_core::{random::Random, watch::watched};

use super::{
    conjugate::{conjugate, conjugate_within},
    descend::{AimSlices, descend},
    level,
    pack::{RowSlices, ShapeSlices},
    residual::residual,
    rows::matrix,
    slopes::slopes,
    sums::{gradient, normal, transposed},
};
use crate::{
    ops::{RbfOps, transfer::to_dimension_major},
    parity::{Problem, Suite, cases, shapes, sizes},
    tests::samples::{self, StopAfter},
    types::{Form, Term},
};

/// Loops are compute-bound, so that wider instruction sets are faster.
#[test]
fn every_loop_gains_by_its_instruction_set() {
    for form in FORMS {
        let numbers = Numbers::<f32>::new(form, 1500, 200, 2);
        let (rows, shape, weights, target) = (numbers.rows(), numbers.shape(), &numbers.weights, &numbers.target);
        let (n, m, d) = (target.len(), weights.len(), numbers.d);
        let of = |count: usize| vec![0.0f32; count];
        let (mut a, mut r, mut t, mut g) = (of(n * m), of(n), of(m), of((d + 1) * m));
        let gains = [
            ("matrix", gain(|level| matrix(level, &rows, &shape, weights, &mut a, &mut r))),
            ("residual", gain(|level| residual(level, &rows, &shape, weights, &mut r))),
            ("transposed", gain(|level| transposed(level, &rows, &shape, target, &mut t))),
            ("normal", gain(|level| normal(level, &rows, &shape, None, weights, &mut t))),
            ("gradient", gain(|level| gradient(level, &rows, &shape, weights, target, &mut g))),
            ("slopes", gain(|level| slopes(level, &rows, &shape, weights, &mut vec![0.0; d * n]))),
        ];
        println!("{form:?}: {gains:?}");
        assert!(gains.iter().all(|(_, gain)| gain.is_none_or(|gain| gain > LEAST_GAIN)), "{form:?}: {gains:?}");
    }
}

thread_local! {
    /// Overrides [`level`] in tests.
    pub(super) static LEVEL: Cell<Option<SimdLevel>> = const { Cell::new(None) };
}

fn passes<B: RbfOps>() {
    let device = B::Device::default();
    for level in SimdLevel::all() {
        LEVEL.set(Some(level));
        let mut failed = Vec::new();
        for (k, size) in
            sizes().into_iter().chain(shapes().into_iter().filter(|size| size.n * size.m < 100_000)).enumerate()
        {
            for case in cases::<B>(&device) {
                let problem = Problem::<B>::new(Suite::backend(), &device, size, k as u64);
                if let Err(what) = (case.check)(&problem) {
                    failed.push(format!("{}, {}, {size}, {k}: {what}", level.name(), case.name));
                }
            }
        }
        assert!(failed.is_empty(), "{} failed:\n{}", failed.len(), failed.join("\n"));
    }
}

#[test]
fn every_level_in_f32() {
    passes::<NdArray<f32>>();
}

#[test]
fn every_level_in_f64() {
    passes::<NdArray<f64>>();
}

const FORMS: [Form; 3] =
    [Form::LAPLACIAN, Form::VALUE, Form { laplacian: Term::Each, gradient: true, value: Term::One }];

/// Deterministic inputs of some size.
struct Numbers<E> {
    form: Form,
    d: usize,
    points: Vec<E>,
    coefficients: Vec<E>,
    target: Vec<E>,
    centres: Vec<E>,
    widths: Vec<E>,
    weights: Vec<E>,
}

impl<E: Real> Numbers<E> {
    fn new(form: Form, n: usize, m: usize, d: usize) -> Self {
        let mut random = Random::new(n as u64, m as u64);
        let mut draw = |count: usize, low: f64, high: f64| -> Vec<E> {
            (0..count).map(|_| E::from_f64(random.uniform(low, high))).collect()
        };
        let spacing = 2.0 / (m as f64).powf(1.0 / d as f64);
        let terms = if form.gradient { d + 1 } else { 0 };
        Self {
            form,
            d,
            points: draw(d * n, -1.0, 1.0),
            coefficients: draw(terms * n, -0.1, 0.1),
            target: draw(n, -1.0, 1.0),
            centres: draw(d * m, -1.0, 1.0),
            widths: draw(m, 2.0 * spacing, 3.0 * spacing),
            weights: draw(m, -1.0, 1.0),
        }
    }

    fn rows(&self) -> RowSlices<'_, E> {
        RowSlices { points: &self.points, form: self.form, coefficients: &self.coefficients, target: &self.target }
    }

    fn shape(&self) -> ShapeSlices<'_, E> {
        ShapeSlices { centres: &self.centres, widths: &self.widths }
    }

    /// The results of all loops.
    fn all(&self, level: SimdLevel) -> Vec<Vec<E>> {
        let (n, m, poison) = (self.target.len(), self.widths.len(), E::from_f64(f64::NAN));
        let of = |count: usize| vec![poison; count];
        let (rows, shape) = (self.rows(), self.shape());
        let (mut a, mut r, mut s, mut t, mut q) = (of(n * m), of(n), of(n), of(m), of(m));
        matrix(level, &rows, &shape, &self.weights, &mut a, &mut r);
        residual(level, &rows, &shape, &self.weights, &mut s);
        transposed(level, &rows, &shape, &self.target, &mut t);
        normal(level, &rows, &shape, None, &self.weights, &mut q);
        let (mut stored, mut g, mut x) = (of(m), of((self.d + 1) * m), of(self.d * n));
        normal(level, &rows, &shape, Some(&a), &self.weights, &mut stored);
        gradient(level, &rows, &shape, &self.weights, &self.target, &mut g);
        slopes(level, &rows, &shape, &self.weights, &mut x);
        vec![a, r, s, t, q, stored, g, x]
    }
}

#[test]
fn bits_do_not_depend_on_threads() {
    // Several tasks, the last one partial.
    let edge = Numbers::<f32>::new(FORMS[1], 300, 70, 2);
    for form in FORMS {
        let numbers = Numbers::<f32>::new(form, 5003, 70, 2);
        let aim = AimSlices { interior: numbers.rows(), boundary: edge.rows(), penalty: 100.0 };
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let mut all = numbers.all(level());
                let (mut centres, mut widths) = (numbers.centres.clone(), numbers.widths.clone());
                let (mut objectives, mut norms) = (vec![f32::NAN; 3], vec![f32::NAN; 4]);
                descend(level(), &aim, &mut centres, &mut widths, &numbers.weights, [1e-7; 2], &mut objectives);
                for limit in [0, usize::MAX] {
                    let mut weights = numbers.weights.clone();
                    conjugate_within(level(), &aim, &numbers.shape(), &mut weights, &mut norms, limit);
                    all.extend([weights, norms.clone()]);
                }
                all.extend([centres, widths, objectives]);
                all
            })
        };
        let once = run(1);
        assert!(once.iter().flatten().all(|x| x.is_finite()));
        assert_eq!(once, run(3));
    }
}

/// Sums over tasks and panels, f32 against f64. The absolute sum of terms is some 50 times their sum; 320 roundings of
/// 2⁻²⁴ each amount to 1e-3, while a missing panel is 0.1.
#[test]
fn sums_over_many_conditions_are_accurate() {
    for form in FORMS {
        let single = Numbers::<f32>::new(form, 20_000, 65, 3);
        let wide = |values: &[f32]| values.iter().map(|&x| f64::from(x)).collect::<Vec<f64>>();
        let double = Numbers::<f64> {
            form,
            d: 3,
            points: wide(&single.points),
            coefficients: wide(&single.coefficients),
            target: wide(&single.target),
            centres: wide(&single.centres),
            widths: wide(&single.widths),
            weights: wide(&single.weights),
        };
        for level in SimdLevel::all() {
            for (single, double) in single.all(level).into_iter().zip(double.all(level)) {
                let size = double.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
                for (a, b) in single.iter().zip(&double) {
                    assert!((f64::from(*a) - b).abs() < 1e-3 * size, "{a} {b}");
                }
            }
        }
    }
}

/// Conjugate gradients converge, with A stored and recomputed.
#[test]
fn conjugate_gradients_converge() {
    let numbers = Numbers::<f64>::new(FORMS[0], 500, 20, 2);
    let edge = Numbers::<f64>::new(FORMS[1], 70, 20, 2);
    let aim = AimSlices { interior: numbers.rows(), boundary: edge.rows(), penalty: 100.0 };
    let run = |limit: usize| {
        let (mut weights, mut norms) = (numbers.weights.clone(), vec![f64::NAN; 401]);
        conjugate_within(level(), &aim, &numbers.shape(), &mut weights, &mut norms, limit);
        norms
    };
    for norms in [run(0), run(usize::MAX)] {
        assert!(norms[400] < 1e-12 * norms[0], "{:e} {:e}", norms[0], norms[400]);
    }
}

#[test]
fn conjugate_gradients_cut_short_have_the_last_whole_iteration() {
    let system = samples::poisson_sine(3000, 200, 0);
    let (centres, widths) = samples::grid(30, 3.0, 0.0, 3.0);
    let across = to_dimension_major(&centres, 2);
    let points = [&system.interior, &system.boundary].map(|of| to_dimension_major(&of.points, 2));
    let aim = AimSlices {
        interior: RowSlices {
            points: &points[0],
            form: Form::LAPLACIAN,
            coefficients: &[],
            target: &system.interior.target,
        },
        boundary: RowSlices {
            points: &points[1],
            form: Form::VALUE,
            coefficients: &[],
            target: &system.boundary.target,
        },
        penalty: system.penalty,
    };
    let shape = ShapeSlices { centres: &across, widths: &widths };
    let conjugate = |iterations: usize| {
        let (mut weights, mut norms) = (vec![0.0f64; widths.len()], vec![0.0; iterations + 1]);
        conjugate(SimdLevel::best(), &aim, &shape, &mut weights, &mut norms);
        (weights, norms)
    };
    let mut partial = 0;
    for at in [1, 40, 100, 200, 400] {
        let mut cut = None;
        let outcome = watched(Some(StopAfter::queries(at)), || cut = Some(conjugate(8)));
        let (weights, norms) = cut.unwrap();
        let complete = norms.iter().take_while(|norm| norm.is_finite()).count().saturating_sub(1);
        assert_eq!(outcome.is_err(), complete < 8);
        assert_eq!(weights, conjugate(complete).0, "stopped at query {at}");
        partial += usize::from((1..8).contains(&complete));
    }
    assert!(partial > 0, "one of the runs ends between its first iteration and its last");
}
