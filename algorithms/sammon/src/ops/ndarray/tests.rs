//! Every operation at every SIMD level of this machine against scalar loops in f64.

use firebox_backends::cpu::{Real, SimdLevel, gain};
use firebox_core::{Share, random::Random};

use super::{
    block_sampling::sampled,
    inverse::inverse,
    oracle::*,
    out_of_sample::place,
    paper_variants::AtomicFloat,
    source_distances::{Features, SliceSource},
    steps::{SliceProblem, forces, measure, steps},
};
use crate::types::{Epoch, Metric, Variant, partner};

const SIZES: [usize; 10] = [0, 1, 2, 3, 63, 64, 65, 127, 129, 200];
const SOURCE_DIMENSIONS: [usize; 6] = [1, 2, 3, 5, 64, 200];
const DIMENSIONS: [usize; 4] = [1, 2, 3, 5];
const POWERS: [f64; 4] = [0.0, 1.0, 2.0, 1.5];
const VARIANTS: [Variant; 5] =
    [Variant::Auto, Variant::RowsFull, Variant::RowsTriangle, Variant::ColumnsFull, Variant::ColumnsTriangle];

/// Checks forces of all variants, and measures.
fn check<E: Real + AtomicFloat>(
    source: &SliceSource<'_, E>,
    inverse: &[f64],
    random: &mut Random,
    rho: f64,
    power: f64,
    what: &str,
) {
    let n = source.points();
    let m = DIMENSIONS[random.below(4)];
    let what = format!("n = {n}, m = {m}, p = {power}, {what}");
    let places = random_places::<E>(random, m, n);
    let multiplicity = random_multiplicity::<E>(random, n);
    let y = wide(&places);
    let truth = truth(inverse, &wide(&multiplicity), power, &y, &y, rho, E::EPSILON.into());
    let poison = E::from_f64(f64::NAN);
    for level in SimdLevel::all() {
        for variant in VARIANTS {
            let what = format!("{} {variant:?} {what}", level.name());
            let problem = SliceProblem { source, multiplicity: &multiplicity, power, variant, share: Share::WHOLE };
            let (mut force, mut stress) = (vec![poison; m * n], vec![poison; n]);
            forces(level, &problem, &places, &mut force, &mut stress);
            assert_close(&force, &truth.force, &format!("force, {what}"));
            assert_close(&stress, &truth.stress, &format!("stress, {what}"));
            if variant == Variant::Auto {
                let measures = measure(level, &problem, &places);
                assert_close(&measures, &truth.measures, &format!("measures, {what}"));
            }
        }
    }
}

fn forces_and_measures<E: Real + AtomicFloat>() {
    let eps: f64 = E::EPSILON.into();
    let mut case = 0;
    for n in SIZES {
        for power in POWERS {
            for (metric, gram) in [
                (Metric::Euclidean, false),
                (Metric::Euclidean, true),
                (Metric::Manhattan, false),
                (Metric::Cosine, false),
                (Metric::Cosine, true),
            ] {
                case += 1;
                let mut random = Random::new(case, 0);
                let d = SOURCE_DIMENSIONS[random.below(6)];
                let what = format!("{metric:?} gram {gram} d = {d}, seed {case}");
                let points = random_points::<E>(&mut random, d, n, metric);
                let inverse = inverses(&wide(&points), &wide(&points), d, metric);
                let source = SliceSource::Features(Features::new(&points, d, n, metric, gram));
                check(&source, &inverse, &mut random, rho::<E>(d, gram), power, &what);
            }
            // Stored in blocks of rows, one in six pairs missing.
            case += 1;
            let mut random = Random::new(case, 0);
            let mut stored = vec![E::ZERO; n * n];
            for i in 0..n {
                for j in 0..i {
                    let r = if random.below(6) == 0 { 0.0 } else { 1.0 / random.uniform(0.1, 3.0) };
                    (stored[i * n + j], stored[j * n + i]) = (E::from_f64(r), E::from_f64(r));
                }
            }
            let source = SliceSource::stored(stored.chunks((7 * n).max(1)), 0, n);
            check(&source, &wide(&stored), &mut random, 2.0 * eps, power, &format!("stored, seed {case}"));
        }
    }
}

#[test]
fn forces_and_measures_f32() {
    forces_and_measures::<f32>();
}

#[test]
fn forces_and_measures_f64() {
    forces_and_measures::<f64>();
}

fn inverse_matrices<E: Real>() {
    for (case, n) in SIZES.into_iter().enumerate() {
        for (r, first) in [(n, Some(0)), (n / 2, Some(n - n / 2)), (n / 2, None), (70, None), (0, None)] {
            for metric in [Metric::Euclidean, Metric::Manhattan, Metric::Cosine] {
                let mut random = Random::new(case as u64, r as u64);
                let d = SOURCE_DIMENSIONS[random.below(6)];
                let points = random_points::<E>(&mut random, d, n, metric);
                let mut rows = random_points::<E>(&mut random, d, r, metric);
                if first.is_some() || r <= n {
                    let from = first.unwrap_or(0);
                    rows = points.chunks(n.max(1)).flat_map(|row| row[from..from + r].to_vec()).collect();
                }
                let mut expected: Vec<(f64, f64)> = inverses(&wide(&rows), &wide(&points), d, metric)
                    .into_iter()
                    .map(|inverse| (inverse, 2.0 * inverse * rho::<E>(d, false)))
                    .collect();
                if let Some(first) = first {
                    (0..r).for_each(|i| expected[i * n + first + i] = (0.0, 0.0));
                }
                let (rows, points) =
                    (Features::new(&rows, d, r, metric, false), Features::new(&points, d, n, metric, false));
                for level in SimdLevel::all() {
                    let mut out = vec![E::from_f64(f64::NAN); r * n];
                    inverse(level, &rows, &points, first, &mut out);
                    assert_close(&out, &expected, &format!("{} {metric:?} n = {n}, r = {r}, d = {d}", level.name()));
                }
            }
        }
    }
}

#[test]
fn inverse_matrices_of_both_floats() {
    inverse_matrices::<f32>();
    inverse_matrices::<f64>();
}

/// y + α·F/Σ μ·w with its error bound: from the force, the weight, and the rounding of the sum.
fn advanced(truth: &Truth, y: &[f64], m: usize, alpha: f64, eps: f64) -> Vec<(f64, f64)> {
    let r = truth.stress.len();
    (0..m * r)
        .map(|at| {
            let ((force, bound), (weight, slack)) = (truth.force[at], truth.measures[at % r]);
            if weight == 0.0 {
                return (y[at], 0.0);
            }
            let (step, relative) = (alpha * force / weight, slack / weight);
            (
                y[at] + step,
                alpha * bound / weight + step.abs() * 2.0 * relative + 2.0 * eps * (y[at].abs() + step.abs()),
            )
        })
        .collect()
}

fn placing<E: Real>() {
    let eps: f64 = E::EPSILON.into();
    for n in SIZES {
        for (q, power) in [(0, 1.0), (1, 0.0), (3, 1.0), (5, 2.0), (70, 1.5)] {
            let mut random = Random::new(n as u64, q as u64);
            let m = DIMENSIONS[random.below(4)];
            let fixed = random_places::<E>(&mut random, m, n);
            let start = random_places::<E>(&mut random, m, q);
            let multiplicity = random_multiplicity::<E>(&mut random, n);
            // The first new point has no pair.
            let inverse: Vec<E> = (0..q * n)
                .map(|at| if at < n || random.below(6) == 0 { 0.0 } else { 1.0 / random.uniform(0.1, 3.0) })
                .map(E::from_f64)
                .collect();
            let mu = wide(&multiplicity);
            let truth = truth(&wide(&inverse), &mu, power, &wide(&start), &wide(&fixed), 2.0 * eps, eps);
            for level in SimdLevel::all() {
                let what = format!("{} n = {n}, q = {q}, m = {m}, p = {power}", level.name());
                let go = |mut y: Vec<E>, steps: usize| {
                    let mut stress = vec![E::from_f64(f64::NAN); steps * q];
                    place(level, &inverse, &multiplicity, power, &fixed, &mut y, &mut stress);
                    (y, stress)
                };
                let (once, stress) = go(start.clone(), 1);
                if n > 0 {
                    assert_close(&once, &advanced(&truth, &wide(&start), m, 1.0, eps), &what);
                    assert_close(&stress, &truth.stress, &what);
                }
                let (twice, both) = go(start.clone(), 2);
                let (again, second) = go(once, 1);
                assert_eq!((twice, both), (again, [stress, second].concat()), "{what}");
                let (_, history) = go(start.clone(), 20);
                for (before, after) in history.iter().zip(&history[q.min(history.len())..]) {
                    let (before, after): (f64, f64) = ((*before).into(), (*after).into());
                    // A perfect fit leaves the squared rounding of each distance.
                    let rounding = 100.0 * eps * (before + 1000.0 * eps);
                    assert!(after <= before + rounding, "{what}: {before} before {after}");
                }
            }
        }
    }
}

#[test]
fn placing_of_both_floats() {
    placing::<f32>();
    placing::<f64>();
}

fn sampling<E: Real>() {
    let eps: f64 = E::EPSILON.into();
    for n in SIZES {
        for block in [1, 3, 16, 64, 65, 100, 200] {
            let mut random = Random::new(n as u64, block as u64);
            let (d, m) = (SOURCE_DIMENSIONS[random.below(6)], DIMENSIONS[random.below(4)]);
            let (power, metric) = (POWERS[random.below(4)], [Metric::Euclidean, Metric::Manhattan][random.below(2)]);
            let what = format!("n = {n}, d = {d}, m = {m}, p = {power}, {metric:?}, blocks of {block}");
            let points = random_points::<E>(&mut random, d, n, metric);
            let start = random_places::<E>(&mut random, m, n);
            let multiplicity = random_multiplicity::<E>(&mut random, n);
            let mut epoch = || {
                let mut order: Vec<u32> = (0..n as u32).collect();
                (1..n).for_each(|i| order.swap(i, random.below(i + 1)));
                Epoch { order, alpha: random.uniform(0.3, 0.9) }
            };
            let epochs = [epoch(), epoch()];
            // Pairs of blocks that are not partners are missing.
            let blocks = n.div_ceil(block);
            let mut place = vec![0; n];
            epochs[0].order.iter().enumerate().for_each(|(at, &i)| place[i as usize] = at / block);
            let mut inverse = inverses(&wide(&points), &wide(&points), d, metric);
            for (at, inverse) in inverse.iter_mut().enumerate() {
                let (own, other) = (place[at / n], place[at % n]);
                if own == other || partner(own, blocks) != other {
                    *inverse = 0.0;
                }
            }
            let y = wide(&start);
            let truth = truth(&inverse, &wide(&multiplicity), power, &y, &y, rho::<E>(d, false), eps);
            let expected = advanced(&truth, &y, m, epochs[0].alpha, eps);
            for level in SimdLevel::all() {
                let go = |mut y: Vec<E>, epochs: &[Epoch]| {
                    sampled(level, &points, metric, &multiplicity, power, &mut y, epochs, block);
                    y
                };
                let once = go(start.clone(), &epochs[..1]);
                assert_close(&once, &expected, &format!("{} {what}", level.name()));
                assert_eq!(go(start.clone(), &epochs), go(once, &epochs[1..]), "{} {what}", level.name());
            }
        }
    }
}

#[test]
fn sampling_of_both_floats() {
    sampling::<f32>();
    sampling::<f64>();
}

/// Reproducible points, embedding and multiplicities of a given size.
fn sized<E: Real>(n: usize, d: usize, m: usize) -> (Vec<E>, Vec<E>, Vec<E>) {
    let mut random = Random::new(n as u64, 7);
    let points = random_points(&mut random, d, n, Metric::Euclidean);
    (points, random_places(&mut random, m, n), random_multiplicity(&mut random, n))
}

#[test]
fn steps_apply_forces_with_the_same_bits_on_any_number_of_threads() {
    // More points than a panel holds, so that sums across panels occur.
    let (n, d, m) = (2300, 7, 2);
    let (points, places, multiplicity) = sized::<f32>(n, d, m);
    let features = Features::new(&points, d, n, Metric::Euclidean, true);
    let mut stored = vec![0.0; n * n];
    inverse(SimdLevel::best(), &features, &features, Some(0), &mut stored);
    let rates: Vec<f32> = (0..n).map(|i| 1e-5 * (1 + i % 3) as f32).collect();
    for source in [SliceSource::Features(features), SliceSource::stored([&stored[..]], 0, n)] {
        let problem = SliceProblem {
            source: &source,
            multiplicity: &multiplicity,
            power: 1.0,
            variant: Variant::Auto,
            share: Share::WHOLE,
        };
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
    let problem =
        SliceProblem { source: &source, multiplicity: &mu, power: 1.0, variant: Variant::Auto, share: Share::WHOLE };
    forces(SimdLevel::best(), &problem, &y, &mut vec![0.0; m * n], &mut exact);
    for gram in [false, true] {
        let source = SliceSource::Features(Features::new(&points, d, n, Metric::Euclidean, gram));
        let problem = SliceProblem {
            source: &source,
            multiplicity: &multiplicity,
            power: 1.0,
            variant: Variant::Auto,
            share: Share::WHOLE,
        };
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
    inverse(SimdLevel::best(), &features(false), &features(false), Some(0), &mut whole);
    let sources = [
        ("from differences", SliceSource::Features(features(false))),
        ("from products", SliceSource::Features(features(true))),
        ("stored", SliceSource::stored([&whole[..]], 0, n)),
    ];
    let mut gains = Vec::new();
    for (name, source) in &sources {
        let (variant, share) = (Variant::Auto, Share::WHOLE);
        let problem = SliceProblem { source, multiplicity: &multiplicity, power: 1.0, variant, share };
        let (mut force, mut stress) = (vec![0.0; m * n], vec![0.0; n]);
        gains.push((*name, "forces", gain(|level| forces(level, &problem, &places, &mut force, &mut stress))));
        gains.push((*name, "measure", gain(|level| drop(measure(level, &problem, &places)))));
    }
    let source = features(false);
    gains.push(("1/δ", "", gain(|level| inverse(level, &source, &source, Some(0), &mut whole))));
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
