//! Every operation at every SIMD level of this machine against the reference of `parity`.

use std::cell::Cell;

use firebox_backends::cpu::{Real, SimdLevel, gain};
use firebox_core::{Share, random::Random};

use super::{
    block_sampling::sampled,
    out_of_sample::place,
    source_distances::{Features, SliceSource, inverse_matrix},
    steps::{SliceProblem, forces, measure, steps},
    *,
};
use crate::parity::{Problem as Parity, Shape, Suite, cases};

thread_local! {
    /// Level that this thread's operations run on, if not the best.
    pub(super) static LEVEL: Cell<Option<SimdLevel>> = const { Cell::new(None) };
}

const SIZES: [usize; 10] = [0, 1, 2, 3, 63, 64, 65, 127, 129, 200];
const SOURCE_DIMENSIONS: [usize; 6] = [1, 2, 3, 5, 64, 200];
/// Dimensions and powers: p = 1 has loops of its own for m = 2, for m = 3 and for other m.
const TERMS: [(usize, f64); 6] = [(2, 1.0), (3, 1.0), (5, 1.0), (1, 0.0), (3, 2.0), (2, 1.5)];
/// Further points, source dimensions, dimensions and powers: many dimensions past one block, and other loops of each m.
const FURTHER: [(usize, usize, usize, f64); 6] =
    [(129, 200, 2, 1.0), (65, 3, 1, 1.0), (64, 5, 2, 0.0), (65, 2, 3, 1.5), (127, 4, 5, 0.5), (63, 200, 1, 2.0)];

fn agrees_at_every_level<B: SammonOps>() {
    let device = B::Device::default();
    assert_eq!(Variant::ALL.map(|variant| B::sammon_strategy(&device, variant).is_ok()), [true; 5]);
    for level in SimdLevel::all() {
        LEVEL.set(Some(level));
        let usual = SIZES.into_iter().enumerate().flat_map(|(i, n)| {
            TERMS.into_iter().enumerate().map(move |(j, (m, power))| {
                // The reference of large matrices takes long.
                (n, if n > 100 { 2 + j } else { SOURCE_DIMENSIONS[(i + j) % 6] }, m, power)
            })
        });
        for (k, (n, d, m, power)) in usual.chain(FURTHER).enumerate() {
            let shape = Shape { n, d, m, power, kernels: 0 };
            let mut problem = Parity::new(Suite::<B>::backend(), &device, shape, k as u64);
            for case in cases::<B>(&device) {
                (case.check)(&problem).unwrap_or_else(|what| panic!("{} {} {shape}: {what}", level.name(), case.name));
            }
            // Once for each size.
            if k % 7 == 0 {
                problem.check_edges().unwrap_or_else(|what| panic!("{} {shape}: {what}", level.name()));
            }
        }
    }
    LEVEL.set(None);
}

#[test]
fn operations_in_f32_agree_at_every_level() {
    agrees_at_every_level::<NdArray<f32>>();
}

#[test]
fn operations_in_f64_agree_at_every_level() {
    agrees_at_every_level::<NdArray<f64>>();
}

/// Reproducible points d × n, embedding m × n, and multiplicities.
fn sized<E: Real>(n: usize, d: usize, m: usize) -> (Vec<E>, Vec<E>, Vec<E>) {
    let mut random = Random::new(n as u64, 7);
    let mut uniform = |count: usize, scale: f64| -> Vec<E> {
        (0..count).map(|_| E::from_f64(random.uniform(-scale, scale))).collect()
    };
    let (points, places) = (uniform(d * n, 1.0 / (d as f64).sqrt()), uniform(m * n, 1.0));
    (points, places, (0..n).map(|i| E::from_f64((1 + i % 3) as f64)).collect())
}

/// Placement in several calls has the same bits as in one, and no step increases the stress.
fn placing<E: Real>() {
    let eps: f64 = E::EPSILON.into();
    for (n, q, m, power) in [
        (1, 1, 2, 0.0),
        (64, 3, 3, 1.0),
        (65, 5, 1, 2.0),
        (65, 0, 2, 1.0),
        (63, 64, 2, 1.0),
        (129, 65, 3, 0.0),
        (200, 70, 5, 1.5),
    ] {
        let mut random = Random::new(n as u64, q as u64);
        let (_, fixed, multiplicity) = sized::<E>(n, 1, m);
        let (_, start, _) = sized::<E>(q, 1, m);
        // The first new point has no pair.
        let inverse: Vec<E> = (0..q * n)
            .map(|at| if at < n || random.below(6) == 0 { 0.0 } else { 1.0 / random.uniform(0.1, 3.0) })
            .map(E::from_f64)
            .collect();
        for level in SimdLevel::all() {
            let what = format!("{} n = {n}, q = {q}, m = {m}, p = {power}", level.name());
            let go = |mut y: Vec<E>, steps: usize| {
                let mut stress = vec![E::from_f64(f64::NAN); steps * q];
                place(level, &inverse, &multiplicity, power, &fixed, &mut y, &mut stress);
                (y, stress)
            };
            let (once, stress) = go(start.clone(), 1);
            let (twice, both) = go(start.clone(), 2);
            let (again, second) = go(once, 1);
            assert_eq!((twice, both), (again, [stress, second].concat()), "{what}");
            let (_, history) = go(start.clone(), 20);
            for (before, after) in history.iter().zip(&history[q..]) {
                let (before, after): (f64, f64) = ((*before).into(), (*after).into());
                // A perfect fit leaves the squared rounding of each distance.
                let rounding = 100.0 * eps * (before + 1000.0 * eps);
                assert!(after <= before + rounding, "{what}: {before} before {after}");
            }
        }
    }
}

#[test]
fn placing_of_both_floats() {
    placing::<f32>();
    placing::<f64>();
}

#[test]
fn epochs_in_several_calls_have_the_same_bits_as_in_one() {
    let (d, m) = (5, 2);
    for n in SIZES {
        for block in [1, 3, 16, 64, 65, 100, 200] {
            let (points, start, multiplicity) = sized::<f32>(n, d, m);
            let mut random = Random::new(n as u64, block as u64);
            let epochs = [0.3, 0.9].map(|alpha| {
                let mut order: Vec<u32> = (0..n as u32).collect();
                random.shuffle(&mut order);
                Epoch { order, alpha }
            });
            for level in SimdLevel::all() {
                let go = |mut y: Vec<f32>, epochs: &[Epoch]| {
                    sampled(level, &points, Metric::Euclidean, &multiplicity, 1.0, &mut y, epochs, block);
                    y
                };
                let once = go(start.clone(), &epochs[..1]);
                assert_eq!(go(start.clone(), &epochs), go(once, &epochs[1..]), "{} {n} {block}", level.name());
            }
        }
    }
}

fn wide(values: &[f32]) -> Vec<f64> {
    values.iter().map(|&value| value.into()).collect()
}

/// A problem of all pairs with p = 1.
fn problem<'a, E>(source: &'a SliceSource<'a, E>, multiplicity: &'a [E]) -> SliceProblem<'a, E> {
    SliceProblem { source, multiplicity, power: 1.0, variant: Variant::Auto, share: Share::WHOLE }
}

#[test]
fn steps_apply_forces_with_the_same_bits_on_any_number_of_threads() {
    // More points than a panel holds, so that sums across panels occur.
    let (n, d, m) = (2300, 7, 2);
    let (points, places, multiplicity) = sized::<f32>(n, d, m);
    let features = Features::new(&points, d, n, Metric::Euclidean, true);
    let mut stored = vec![0.0; n * n];
    inverse_matrix(SimdLevel::best(), &features, &features, Some(0), &mut stored);
    let rates: Vec<f32> = (0..n).map(|i| 1e-5 * (1 + i % 3) as f32).collect();
    for source in [SliceSource::Features(features), SliceSource::stored([&stored[..]], 0, n)] {
        let problem = problem(&source, &multiplicity);
        for level in SimdLevel::all() {
            let run = |threads: usize| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                let (mut y, mut stresses) = (places.clone(), vec![f32::NAN; 3 * n]);
                pool.install(|| steps(level, &problem, &mut y, &rates, &mut stresses));
                (y, stresses)
            };
            let (mut y, mut stresses) = (places.clone(), Vec::new());
            for _ in 0..3 {
                let (mut force, mut stress) = (vec![f32::NAN; m * n], vec![f32::NAN; n]);
                forces(level, &problem, &y, &mut force, &mut stress);
                (0..m * n).for_each(|at| y[at] += rates[at % n] * force[at]);
                stresses.extend(stress);
            }
            assert_eq!(run(1), (y, stresses), "{}", level.name());
            assert_eq!(run(1), run(2), "{}", level.name());
        }
    }
}

#[test]
fn the_relative_error_of_the_total_stress_is_below_1e_minus_6() {
    let (n, d, m) = (3000, 50, 3);
    let total = |values: &[f64], mu: &[f64]| values.iter().zip(mu).map(|(e, mu)| e * mu).sum::<f64>();
    let (points, places, multiplicity) = sized::<f32>(n, d, m);
    let mut exact = vec![0.0; n];
    let (x, y, mu) = (wide(&points), wide(&places), wide(&multiplicity));
    let source = SliceSource::Features(Features::new(&x, d, n, Metric::Euclidean, false));
    forces(SimdLevel::best(), &problem(&source, &mu), &y, &mut vec![0.0; m * n], &mut exact);
    for gram in [false, true] {
        let source = SliceSource::Features(Features::new(&points, d, n, Metric::Euclidean, gram));
        let problem = problem(&source, &multiplicity);
        let mut stress = vec![f32::NAN; n];
        forces(SimdLevel::best(), &problem, &places, &mut vec![0.0; m * n], &mut stress);
        let error = total(&wide(&stress), &mu) / total(&exact, &mu) - 1.0;
        assert!(error.abs() < 1e-6, "gram {gram}: {error:e}");
    }
}

#[test]
fn simd_speeds_up_every_operation() {
    let (n, d, m) = (1000, 50, 2);
    let (points, places, multiplicity) = sized::<f32>(n, d, m);
    let features = |gram| Features::new(&points, d, n, Metric::Euclidean, gram);
    let mut whole = vec![0.0; n * n];
    inverse_matrix(SimdLevel::best(), &features(false), &features(false), Some(0), &mut whole);
    let sources = [
        ("from differences", SliceSource::Features(features(false))),
        ("from products", SliceSource::Features(features(true))),
        ("stored", SliceSource::stored([&whole[..]], 0, n)),
    ];
    let mut gains = Vec::new();
    for (name, source) in &sources {
        let problem = problem(source, &multiplicity);
        let (mut force, mut stress) = (vec![0.0; m * n], vec![0.0; n]);
        gains.push((*name, "forces", gain(|level| forces(level, &problem, &places, &mut force, &mut stress))));
        gains.push((*name, "measure", gain(|level| drop(measure(level, &problem, &places)))));
    }
    let source = features(false);
    gains.push(("1/δ", "", gain(|level| inverse_matrix(level, &source, &source, Some(0), &mut whole))));
    let mut y = places.clone();
    let mut stresses = vec![0.0; n];
    gains.push(("place", "", gain(|level| place(level, &whole, &multiplicity, 1.0, &places, &mut y, &mut stresses))));
    let epochs = [Epoch { order: (0..n as u32).collect(), alpha: 0.5 }];
    gains.push((
        "sampled",
        "",
        gain(|level| sampled(level, &points, Metric::Euclidean, &multiplicity, 1.0, &mut y, &epochs, 250)),
    ));
    println!("{gains:?}");
    assert!(gains.iter().all(|(_, _, gain)| gain.is_none_or(|gain| gain > 1.5)), "{gains:?}");
}
