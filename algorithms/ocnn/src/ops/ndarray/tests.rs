//! Every loop at every SIMD level of this machine against the plain loops of [`crate::parity::reference`].

use std::ops::Range;

use firebox_backends::cpu::{LEAST_GAIN, Real, SimdLevel, gain};
use firebox_core::{Share, random::Random};

use super::{
    coupling::{Network, store, strengths},
    links::{Measured, components},
    measure::{Fragmentary, Measure, Phase},
    nearest::nearest,
    step::{step_on_the_fly, step_stored},
    sync::{accumulate, pack_increase},
};
use crate::{parity::reference, types::Metric};

const SIZES: [usize; 14] = [0, 1, 2, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 257];
const DIMENSIONS: [usize; 5] = [1, 2, 3, 5, 7];
const STEPS: [usize; 6] = [1, 31, 32, 33, 64, 65];
const POISON: u32 = 0xDEAD_BEEF;

fn seed(n: usize, other: usize) -> u64 {
    (n * 1000 + other) as u64
}

fn wide<E: Real>(values: &[E]) -> Vec<f64> {
    values.iter().map(|&value| value.into()).collect()
}

fn narrow<E: Real>(values: &[f64]) -> Vec<E> {
    values.iter().map(|&value| E::from_f64(value)).collect()
}

/// Asserts |got − wanted| ≤ bound, element by element. NaN fails.
fn assert_close<E: Real>(got: &[E], wanted: &[f64], bound: impl Fn(usize) -> f64, what: &str) {
    assert_eq!(got.len(), wanted.len(), "{what}");
    for (i, (&got, &wanted)) in got.iter().zip(wanted).enumerate() {
        let error = (got.into() - wanted).abs();
        assert!(error <= bound(i), "{what}: [{i}] is {got:?}, not {wanted:e}: {error:e} > {:e}", bound(i));
    }
}

/// The scale a at which u = r.
fn unit_scale() -> f64 {
    (std::f64::consts::LOG2_E / 2.0).sqrt()
}

/// Points close together, so far apart that all their weights vanish, and in between, some with multiplicities.
fn random_points<E: Real>(random: &mut Random, n: usize, d: usize) -> (Vec<E>, Vec<E>) {
    let offsets: Vec<f64> = (0..n)
        .map(|i| match random.below(8) {
            0 => 100.0 * (1.0 + i as f64),
            1 => 8.0,
            _ => 0.0,
        })
        .collect();
    let points = (0..n * d).map(|k| E::from_f64(offsets[k % n] + random.uniform(-1.5, 1.5))).collect();
    let multiplicity = (0..n).map(|_| E::from_f64(1.0 + (random.below(5) / 3 * 2) as f64)).collect();
    (points, multiplicity)
}

/// A case with the reference's results and error bounds of the couplings.
struct Case<E> {
    network: Network<E>,
    x: Vec<E>,
    inv_c: Vec<E>,
    j_matrix: Vec<f64>,
    strengths: Vec<f64>,
    next: Vec<f64>,
    /// Error bound of each coupling. With z = |u_i − u_j|², differences, squares and their sum have a relative error of
    /// at most (d + 5)·ε in z, hence ln 2·z·(d + 5)·ε in 2^−z; twice, since the reference rounds too when the loops are
    /// f64. exp2 and the product with m add 2 ε, again twice. A weight near the smallest normal number may be flushed
    /// on one side only.
    slack: Vec<f64>,
}

fn case<E: Real>(seed: u64, n: usize, d: usize) -> Case<E> {
    let mut random = Random::new(seed, 0);
    let self_coupling = random.below(2) == 1;
    let (points, multiplicity) = random_points::<E>(&mut random, n, d);
    let x: Vec<E> = (0..n).map(|_| E::from_f64(random.uniform(-1.0, 1.0))).collect();
    let (r, m) = (wide(&points), wide(&multiplicity));
    let (eps, smallest): (f64, f64) = (E::EPSILON.into(), E::MIN_POSITIVE.into());
    let j_matrix = reference::couplings(&r, &m, unit_scale(), self_coupling, smallest);
    let strengths = reference::strengths(&j_matrix, n);
    let next = reference::step(&j_matrix, &strengths, &wide(&x), smallest);
    let inv_c = strengths.iter().map(|&c| if c < smallest { E::ZERO } else { E::from_f64(1.0 / c) }).collect();
    let slack = (0..n * n).map(|k| {
        let (i, j) = (k / n, k % n);
        let z: f64 = r.chunks(n).map(|row| (row[i] - row[j]).powi(2)).sum();
        let relative = eps * (2.0 * std::f64::consts::LN_2 * z * (d as f64 + 5.0) + 4.0);
        j_matrix[k] * relative + m[j] * smallest
    });
    let slack = slack.collect();
    Case { network: Network::new(&points, &multiplicity, self_coupling), x, inv_c, j_matrix, strengths, next, slack }
}

impl<E: Real> Case<E> {
    /// Error bound of inv_c_i·Σ_j J_ij·v_j with |v_j| ≤ 1: the slack of each coupling, (n + 8)·ε of the sum of
    /// magnitudes for additions, f and the two factors; f itself, at most 1, is off by 1.5 ε.
    fn sum_bound(&self, i: usize, slack: f64) -> f64 {
        let n = self.network.neurons();
        let span = i * n..(i + 1) * n;
        let magnitude: f64 = self.j_matrix[span.clone()].iter().sum();
        let rounding = magnitude * (n as f64 + 8.0) * E::EPSILON.into();
        rounding + slack * self.slack[span].iter().sum::<f64>() + E::MIN_POSITIVE.into()
    }

    fn next_bound(&self, i: usize, slack: f64) -> f64 {
        let own = 4.0 * E::EPSILON.into();
        self.sum_bound(i, slack) * self.inv_c[i].into() + own
    }
}

fn couplings_and_steps<E: Real>() {
    for level in SimdLevel::all() {
        for n in SIZES {
            for d in DIMENSIONS {
                let seed = seed(n, d);
                let what = format!("{} n = {n}, d = {d}, seed {seed}", level.name());
                let case = case::<E>(seed, n, d);
                let poison = E::from_f64(f64::NAN);

                let mut c = vec![poison; n];
                strengths(level, &case.network, 0..n, &mut c);
                assert_close(&c, &case.strengths, |i| case.sum_bound(i, 1.0), &format!("strengths, {what}"));

                let mut j = vec![poison; n * n];
                store(level, &case.network, 0..n, &mut j);
                assert_close(&j, &case.j_matrix, |k| case.slack[k], &format!("couplings, {what}"));

                let mut next = vec![poison; n];
                step_on_the_fly(level, &case.network, &case.x, &case.inv_c, 0..n, &mut next);
                assert_close(&next, &case.next, |i| case.next_bound(i, 1.0), &format!("on the fly, {what}"));

                // From the reference's couplings, rounded once, hence without slack.
                let j: Vec<E> = narrow(&case.j_matrix);
                next.fill(poison);
                step_stored(level, &j, &case.x, &case.inv_c, 0..n, &mut next);
                assert_close(&next, &case.next, |i| case.next_bound(i, 0.0), &format!("stored, {what}"));
            }
        }
    }
}

#[test]
fn couplings_and_steps_f32() {
    couplings_and_steps::<f32>();
}

#[test]
fn couplings_and_steps_f64() {
    couplings_and_steps::<f64>();
}

#[test]
fn a_weak_strength_is_not_cancelled_by_one() {
    // A weight of 2^−60: computed as a total minus E_ii = 1, C would be 0 in f32.
    for level in SimdLevel::all() {
        let network = Network::<f32>::new(&[0.0, 60f32.sqrt()], &[1.0, 1.0], false);
        let mut c = [f32::NAN; 2];
        strengths(level, &network, 0..c.len(), &mut c);
        assert!(c.iter().all(|c| (c * 60f32.exp2() - 1.0).abs() < 1e-4), "{}: {c:?}", level.name());
    }
}

#[test]
fn isolated_neurons_follow_their_own_map() {
    for level in SimdLevel::all() {
        let network = Network::<f32>::new(&[0.0, 1e3, -1e3], &[1.0, 1.0, 2.0], false);
        let mut c = [f32::NAN; 3];
        strengths(level, &network, 0..c.len(), &mut c);
        // The third has two equal points, which are coupled with each other.
        assert_eq!(c, [0.0, 0.0, 1.0]);
        let mut next = [f32::NAN; 3];
        step_on_the_fly(level, &network, &[0.5, -0.25, 0.5], &[0.0, 0.0, 1.0], 0..3, &mut next);
        assert_eq!(next, [0.5, 0.875, 0.5]);
    }
}

#[test]
fn many_blocks_are_each_counted_once() {
    // Block rows for more than two tasks; all weights are 1, so that the sums are exact.
    let n = 64 * 150 + 7;
    let network = Network::<f32>::new(&vec![0.5; 2 * n], &vec![1.0; n], false);
    let mut c = vec![f32::NAN; n];
    strengths(SimdLevel::best(), &network, 0..n, &mut c);
    assert!(c.iter().all(|&c| c == (n - 1) as f32));
}

#[test]
fn bits_depend_neither_on_threads_nor_on_vector_width() {
    let case = case::<f32>(1, 1000, 3);
    let run = |level: SimdLevel, threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let mut next = vec![f32::NAN; 1000];
        pool.install(|| step_on_the_fly(level, &case.network, &case.x, &case.inv_c, 0..1000, &mut next));
        next
    };
    for level in SimdLevel::all() {
        assert_eq!(run(level, 1), run(level, 3), "{}", level.name());
    }
    if let [wide, narrow, _] = SimdLevel::all()[..] {
        assert_eq!(run(wide, 2), run(narrow, 2));
    }
}

#[test]
fn results_do_not_depend_on_the_rows_computed() {
    // Tiles within and out of reach, and more blocks than tasks.
    let n = 64 * 140 + 7;
    let points: Vec<f32> = (0..n).map(|i| i as f32 / 300.0).collect();
    let network = Network::<f32>::new(&points, &vec![2.0; n], true);
    let x: Vec<f32> = (0..n).map(|i| (i as f32).sin()).collect();
    let inverse = vec![0.125f32; n];
    let step = |of: Range<usize>| {
        let mut next = vec![f32::NAN; of.len()];
        step_on_the_fly(SimdLevel::best(), &network, &x, &inverse, of, &mut next);
        next
    };
    let whole = step(0..n);
    for of in [0..64, 64..n, 640..704, 64 * 139..n, 128..128] {
        assert_eq!(step(of.clone()), whole[of.clone()], "{of:?}");
    }
}

/// Multiples of 2⁻¹⁰, so that differences are exact and comparisons agree in every precision. Neurons follow one of a
/// few patterns with random deviations, so that components of all sizes occur.
fn random_trajectory(random: &mut Random, steps: usize, n: usize) -> Vec<f64> {
    let patterns = 1 + random.below(6);
    let pattern: Vec<usize> = (0..n).map(|_| random.below(patterns)).collect();
    let stray = 1 + random.below(6);
    let mut trajectory = Vec::with_capacity(steps * n);
    for _ in 0..steps {
        let values: Vec<f64> = (0..patterns).map(|_| random.below(2049) as f64 / 1024.0 - 1.0).collect();
        for &pattern in &pattern {
            let own = random.below(2049) as f64 / 1024.0 - 1.0;
            trajectory.push(if random.below(stray) == 0 { values[pattern] } else { own });
        }
    }
    trajectory
}

/// Limits of links, around those at which components form.
fn limits(steps: usize) -> [u32; 7] {
    let of = |eighths: usize| (steps * eighths / 8) as u32;
    [0, of(2), of(4), of(5), of(6), (steps - 1) as u32, steps as u32]
}

#[test]
fn phase_is_exact() {
    for level in SimdLevel::all() {
        for n in SIZES {
            for steps in STEPS {
                let seed = seed(n, steps);
                let what = format!("{} n = {n}, P = {steps}, seed {seed}", level.name());
                let mut random = Random::new(seed, 1);
                let trajectory = random_trajectory(&mut random, steps + 1, n);

                let mut words = vec![POISON; steps.div_ceil(32) * n];
                pack_increase(level, &trajectory, n, &mut words);
                assert_eq!(words, reference::increase_bits(&trajectory, n), "{what}");
                words.fill(POISON);
                pack_increase(level, &narrow::<f32>(&trajectory), n, &mut words);
                assert_eq!(words, reference::increase_bits(&trajectory, n), "{what}");

                let counts = reference::phase_counts(&trajectory, n);
                check_counts(level, Phase::new(&words, n, steps as u32), steps, &counts, &mut random, &what);
            }
        }
    }
}

/// Checks S added to a random one, and components at every limit.
fn check_counts<M: Measure>(
    level: SimdLevel,
    measure: M,
    steps: usize,
    counts: &[u32],
    random: &mut Random,
    what: &str,
) {
    let n = measure.values().columns();
    let before: Vec<u32> = (0..n * n).map(|_| random.below(1000) as u32).collect();
    let mut s = before.clone();
    accumulate(level, &measure, &mut s);
    assert!((0..n * n).all(|k| s[k] == before[k] + counts[k]), "{what}");
    let mut links = Measured { level, measure, limit: 0 };
    for limit in limits(steps) {
        links.limit = limit;
        assert_eq!(components(&links, Share::WHOLE), reference::components(counts, n, limit), "limit {limit}, {what}");
    }
}

fn fragmentary<E: Real>() {
    for level in SimdLevel::all() {
        for n in SIZES {
            for steps in STEPS {
                let seed = seed(n, steps);
                let what = format!("{} n = {n}, P = {steps}, seed {seed}", level.name());
                let mut random = Random::new(seed, 2);
                let outputs = random_trajectory(&mut random, steps, n);
                let eps = (1 + random.below(4)) as f64 / 16.0;

                let counts = reference::fragmentary_counts(&outputs, n, eps);
                let measure = Fragmentary::new(&narrow::<E>(&outputs), n, E::from_f64(eps));
                check_counts(level, measure, steps, &counts, &mut random, &what);
            }
        }
    }
}

#[test]
fn fragmentary_is_exact_f32() {
    fragmentary::<f32>();
}

#[test]
fn fragmentary_is_exact_f64() {
    fragmentary::<f64>();
}

/// Compute-bound loops are faster with their instruction set.
#[test]
fn every_loop_gains_by_its_instruction_set() {
    let (n, d, steps) = (1200, 3, 640);
    let case = case::<f32>(5, n, d);
    let (x, inverse) = (&case.x, &case.inv_c);
    let mut next = vec![0.0; n];
    let mut gains =
        vec![("step on the fly", gain(|level| step_on_the_fly(level, &case.network, x, inverse, 0..n, &mut next)))];
    let mut j = vec![0.0; n * n];
    gains.push(("couplings", gain(|level| store(level, &case.network, 0..n, &mut j))));
    let mut random = Random::new(3, 3);
    let outputs: Vec<f32> = (0..steps * n).map(|_| random.uniform(-1.0, 1.0) as f32).collect();
    let words: Vec<u32> = (0..steps / 32 * n).map(|_| random.bits() as u32).collect();
    let mut s = vec![0; n * n];
    // Packing the values is part of each operation.
    let phase = || Phase::new(&words, n, steps as u32);
    let fragmentary = || Fragmentary::new(&outputs, n, 0.1);
    gains.push(("phase sync", gain(|level| accumulate(level, &phase(), &mut s))));
    gains.push(("fragmentary sync", gain(|level| accumulate(level, &fragmentary(), &mut s))));
    let (limit, share) = (steps as u32 * 3 / 5, Share::WHOLE);
    let by_phase = |level| drop(components(&Measured { level, measure: phase(), limit }, share));
    let by_fragments = |level| drop(components(&Measured { level, measure: fragmentary(), limit }, share));
    gains.push(("links by phase", gain(by_phase)));
    gains.push(("links by fragments", gain(by_fragments)));
    // Many dimensions and short lists, since insertion has branches that no instruction set speeds up.
    let (q, wide) = (600, &outputs[..600 * 200]);
    for metric in [Metric::Euclidean, Metric::Manhattan] {
        gains.push(("nearest", gain(|level| drop(nearest(level, wide, wide, q, 2, metric, Some(0))))));
    }
    println!("{gains:?}");
    assert!(gains.iter().all(|(_, gain)| gain.is_none_or(|gain| gain > LEAST_GAIN)), "{gains:?}");
}
