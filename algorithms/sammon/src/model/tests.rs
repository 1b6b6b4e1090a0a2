//! Whole mappings on NdArray, in f64 unless stated otherwise.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use burn_ndarray::NdArray;
use firebox_core::{Algorithm, Context, Error, Observer, Result, data::Points, random::Random};

use crate::{
    Checkpoints, Distances, Embedding, Memory, Metric, SammonConfig, SammonInput, Solver, Start, Step, Stop, Variant,
    solve::{
        lbfgs::Function,
        memory_plan::Plan,
        nondimensional::{Prepared, distance},
        objective::Objective,
    },
    types::Data,
};

type Wide = NdArray<f64>;

fn cloud(n: usize, d: usize, seed: u64) -> Points {
    let mut random = Random::new(seed, 9);
    Points::new((0..n * d).map(|at| random.normal() * (1.0 + (at % d) as f64)).collect(), d).unwrap()
}

fn context() -> Context<Wide> {
    Context::new(Default::default())
}

fn map(config: &SammonConfig, input: impl Into<SammonInput>) -> Result<Embedding<Wide>> {
    config.init()?.run(input.into(), &context())
}

/// E by its definition, over the pairs i < j of all rows, which may be equal.
fn stress(points: &Points, y: &[f64], m: usize, metric: Metric, power: f64) -> f64 {
    let (mut sum, mut scale) = (0.0, 0.0);
    for i in 0..points.rows {
        for j in 0..i {
            let delta = distance(points.row(i), points.row(j), metric);
            let d = distance(&y[i * m..(i + 1) * m], &y[j * m..(j + 1) * m], Metric::Euclidean);
            if delta > 0.0 {
                sum += delta.powf(-power) * (delta - d).powi(2);
                scale += delta.powf(2.0 - power);
            }
        }
    }
    sum / scale
}

/// Points of which some are repeated.
fn with_duplicates() -> Points {
    let mut points = cloud(20, 4, 1);
    for (from, times) in [(3, 2), (7, 4), (0, 1)] {
        for _ in 0..times {
            points.values.extend_from_within(from * 4..from * 4 + 4);
            points.rows += 1;
        }
    }
    points
}

#[test]
fn the_gradient_agrees_with_central_differences() {
    let points = with_duplicates();
    for power in [0.0, 1.0, 2.0, 0.5] {
        let config = SammonConfig::new(2).with_power(power);
        let prepared = Prepared::new(Data::Features(points.clone()), Metric::Euclidean, false).unwrap();
        let context = context();
        let plan = Plan::new(&config, Memory::Cached, &prepared, 2, &context).unwrap();
        let problem = plan.problem(&prepared, power, &context).unwrap();
        let n = prepared.len();
        let mut random = Random::new(4, 4);
        let x: Vec<f64> = (0..2 * n).map(|_| random.normal()).collect();
        let (work, sums) = Objective::new(problem, &prepared.counts, Variant::Auto, &context, &x).unwrap();
        let (value, gradient) = (&work).evaluate(&x).unwrap();
        assert!((sums.stress() - value).abs() < 1e-12 * value);

        // The value agrees with the definition over all rows, in the unit of the input.
        let y: Vec<f64> = prepared
            .index
            .iter()
            .flat_map(|&i| [x[i as usize] * prepared.unit, x[n + i as usize] * prepared.unit])
            .collect();
        let expected = stress(&points, &y, 2, Metric::Euclidean, power);
        assert!((value - expected).abs() < 1e-12 * expected, "{power}: {value} {expected}");

        for at in 0..2 * n {
            let h = 1e-5;
            let moved = |by: f64| {
                let mut x = x.clone();
                x[at] += by;
                (&work).evaluate(&x).unwrap().0
            };
            let slope = (moved(h) - moved(-h)) / (2.0 * h);
            // The error of central differences is h² plus the rounding of E over h.
            assert!((slope - gradient[at]).abs() < 1e-8, "{power} {at}: {slope} {}", gradient[at]);
        }
    }
}

#[test]
fn the_reported_stress_is_that_of_the_embedding() {
    let points = with_duplicates();
    for solver in [Solver::Lbfgs, Solver::Jacobi, Solver::Gd] {
        for metric in [Metric::Euclidean, Metric::Manhattan, Metric::Cosine] {
            let config = SammonConfig::new(2).with_solver(solver).with_metric(metric);
            let found = map(&config, points.clone()).unwrap();
            let mut unit = points.clone();
            if metric == Metric::Cosine {
                for x in unit.values.chunks_mut(4) {
                    let length = x.iter().map(|x| x * x).sum::<f64>().sqrt();
                    x.iter_mut().for_each(|x| *x /= length);
                }
            }
            let expected = stress(&unit, &found.coordinates, 2, metric, 1.0);
            assert!((found.stress - expected).abs() < 1e-9, "{solver:?} {metric:?}: {} {expected}", found.stress);
            assert!(found.stress < found.stress_start);
            let points: f64 = found.point_stress.unwrap().iter().sum();
            assert!((points - found.stress).abs() < 1e-12);
            assert_eq!(found.duplicates, 7);
            assert_eq!(found.coordinates[..2], found.coordinates[2 * 26..]);
        }
    }
}

#[test]
fn solvers_agree() {
    let points = cloud(40, 5, 2);
    let best = map(&SammonConfig::new(2).with_tolerance(1e-10), points.clone()).unwrap().stress;
    for (solver, step) in [
        (Solver::Jacobi, Step::Auto),
        (Solver::Jacobi, Step::Alpha(0.7)),
        (Solver::Gd, Step::Auto),
        (Solver::Gd, Step::Mu(0.05)),
    ] {
        let config = SammonConfig::new(2).with_solver(solver).with_step(step).with_tolerance(1e-9);
        let found = map(&config.with_iterations(5000), points.clone()).unwrap();
        assert!(found.stress < best * 1.02, "{solver:?} {step:?}: {} {best}", found.stress);
        assert!(found.history.windows(2).all(|pair| pair[1] <= pair[0] * (1.0 + 1e-9)), "{solver:?} {step:?}");
    }
}

#[test]
fn the_step_mu_scales_with_the_unit() {
    let points = cloud(30, 3, 3);
    let small = Points::new(points.values.iter().map(|x| x * 1e-3).collect(), 3).unwrap();
    let config = SammonConfig::new(2).with_solver(Solver::Gd).with_start(Start::First).with_rescale(false);
    let config = config.with_iterations(5).with_tolerance(0.0);
    let a = map(&config.clone().with_step(Step::Mu(0.02)), points).unwrap();
    let b = map(&config.with_step(Step::Mu(0.02e-3)), small).unwrap();
    assert!((a.stress - b.stress).abs() < 1e-12 && a.stress < a.stress_start);
    assert_eq!((a.iterations, a.stop, a.step.as_str()), (5, Stop::Iterations, "gd, mu:0.02"));
}

#[test]
fn a_divergent_step_keeps_the_best_embedding() {
    let config = SammonConfig::new(2).with_solver(Solver::Gd).with_step(Step::Mu(1e9));
    let found = map(&config, cloud(30, 3, 3)).unwrap();
    assert!(found.stress <= found.stress_start && found.coordinates.iter().all(|x| x.is_finite()));
    // Not convergence, though ten iterations no longer decrease the stress.
    assert_eq!(found.stop, Stop::Diverged);
    let plain = SammonConfig::new(2).with_solver(Solver::Jacobi).with_step(Step::Alpha(8.0));
    assert_eq!(map(&plain, cloud(30, 6, 3)).unwrap().stop, Stop::Diverged);
}

#[test]
fn distances_of_points_map_like_the_points() {
    let points = with_duplicates();
    let n = points.rows;
    let square: Vec<f64> =
        (0..n * n).map(|at| distance(points.row(at / n), points.row(at % n), Metric::Euclidean)).collect();
    let condensed: Vec<f64> =
        (0..n).flat_map(|i| (i + 1..n).map(move |j| (i, j))).map(|(i, j)| square[i * n + j]).collect();
    let config = SammonConfig::new(2).with_tolerance(1e-9);
    let expected = map(&config, points).unwrap();
    let pairs = condensed.len();
    for distances in [Distances::new(square, n, n), Distances::new(condensed, 1, pairs)] {
        let found = map(&config, distances.unwrap()).unwrap();
        assert!(
            (found.stress - expected.stress).abs() < 1e-6 * expected.stress,
            "{} {}",
            found.stress,
            expected.stress
        );
        assert_eq!(found.duplicates, 7);
        assert!((found.stress_start - expected.stress_start).abs() < 1e-9);
    }
}

#[test]
fn missing_pairs_have_no_weight() {
    let points = cloud(30, 2, 6);
    let mut values: Vec<f64> =
        (0..900).map(|at| distance(points.row(at / 30), points.row(at % 30), Metric::Euclidean)).collect();
    for i in 0..30 {
        for j in (0..i).filter(|j| (i + j) % 5 == 0) {
            (values[i * 30 + j], values[j * 30 + i]) = (f64::NAN, f64::NAN);
        }
    }
    // Four in five of the distances in a plane still determine the plane.
    let found = map(&SammonConfig::new(2).with_tolerance(1e-9), Distances::new(values, 30, 30).unwrap()).unwrap();
    assert!(found.stress < 1e-6, "{}", found.stress);
}

#[test]
fn few_points_are_exact() {
    let config = SammonConfig::new(3);
    for (values, d, expected) in [
        (vec![7.0, 1.0], 2, vec![0.0; 3]),
        (vec![7.0, 7.0, 7.0], 1, vec![0.0; 9]),
        (vec![0.0, 0.0, 3.0, 4.0], 2, vec![-2.5, 0.0, 0.0, 2.5, 0.0, 0.0]),
        (vec![2.0, 0.0, 2.0], 1, vec![-1.0, 0.0, 0.0, 1.0, 0.0, 0.0, -1.0, 0.0, 0.0]),
    ] {
        let found = map(&config, Points::new(values, d).unwrap()).unwrap();
        assert!(found.coordinates.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-12), "{:?}", found.coordinates);
        assert_eq!((found.stop, found.stress), (Stop::Exact, 0.0));
    }
    // More dimensions than the input has: the others are 0.
    let found = map(&config, cloud(10, 2, 1)).unwrap();
    assert!(found.stress < 1e-20 && found.coordinates.chunks(3).all(|y| y[2] == 0.0));
}

#[test]
fn memory_modes_agree() {
    let points = cloud(60, 20, 8);
    let run = |memory: Memory| map(&SammonConfig::new(2).with_memory(memory).with_tolerance(1e-8), points.clone());
    let (cached, recomputed) = (run(Memory::Cached).unwrap(), run(Memory::Recomputed).unwrap());
    assert!((cached.stress - recomputed.stress).abs() < 1e-6);
    assert_eq!((cached.memory_mode, recomputed.memory_mode), (Some(Memory::Cached), Some(Memory::Recomputed)));
    assert!(matches!(run(Memory::CachedF16), Err(Error::Config { field: "memory", .. })));
    let matrix = Distances::new(vec![1.0; 6], 1, 6).unwrap();
    let config = SammonConfig::new(2).with_memory(Memory::Recomputed);
    assert!(matches!(map(&config, matrix), Err(Error::Config { field: "memory", .. })));
    let mut tight = context();
    tight.memory_limit = Some(60 * (20 + 6 + 20) * 8 + 1000);
    let config = SammonConfig::new(2);
    let found = config.init().unwrap().run(points.clone().into(), &tight).unwrap();
    assert_eq!(found.memory_mode, Some(Memory::Recomputed));
    tight.memory_limit = Some(1);
    assert!(matches!(config.init().unwrap().run(points.into(), &tight), Err(Error::Memory { .. })));
}

#[test]
fn block_sampling_approaches_the_optimum() {
    let points = cloud(600, 8, 5);
    let best = map(&SammonConfig::new(2), points.clone()).unwrap();
    let found = map(&SammonConfig::new(2).with_memory(Memory::Sampled), points).unwrap();
    assert_eq!((found.memory_mode, found.variant, found.stop), (Some(Memory::Sampled), "block-sampled", Stop::Epochs));
    assert!(found.stress < best.stress * 1.02, "{} {}", found.stress, best.stress);
    assert_eq!(found.history.len(), 31);
}

#[test]
fn restarts_never_increase_the_stress() {
    let points = cloud(30, 6, 12);
    let one = map(&SammonConfig::new(2), points.clone()).unwrap();
    let many = map(&SammonConfig::new(2).with_restarts(5), points).unwrap();
    assert!(many.stress <= one.stress);
}

#[test]
fn new_points_are_placed() {
    let points = cloud(80, 2, 7);
    let sammon = SammonConfig::new(2).with_tolerance(1e-9).init().unwrap();
    let found = sammon.run(points.clone().into(), &context()).unwrap();
    // Points of a plane: the map is the plane, so that distances of new points are reproduced exactly.
    let mut new = cloud(25, 2, 71);
    new.values.extend_from_slice(points.row(5));
    new.rows += 1;
    let places = sammon.place(&found, &new, &context()).unwrap();
    for (i, place) in places.chunks(2).enumerate().take(25) {
        for j in 0..80 {
            let (delta, d) = (
                distance(new.row(i), points.row(j), Metric::Euclidean),
                distance(place, &found.coordinates[2 * j..2 * j + 2], Metric::Euclidean),
            );
            assert!((delta - d).abs() < 2e-3, "{i} {j}: {delta} {d}");
        }
    }
    assert_eq!(places[50..], found.coordinates[10..12]);
    assert!(sammon.place(&found, &cloud(3, 5, 1), &context()).is_err());
}

/// Cancels a run after a number of polls.
struct CancelAfter(AtomicUsize);

impl Observer for CancelAfter {
    fn cancelled(&self) -> bool {
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_err()
    }
}

#[test]
fn a_resumed_run_has_the_same_bits() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("state.json");
    let points = cloud(50, 6, 3);
    let base = SammonConfig::new(2).with_restarts(1).with_iterations(60);
    for config in [
        base.clone(),
        base.clone().with_solver(Solver::Jacobi),
        base.clone().with_memory(Memory::Sampled).with_epochs(60),
    ] {
        let whole = map(&config, points.clone()).unwrap();
        for polls in [1, 4, 5, 6, 9] {
            let _ = std::fs::remove_file(&file);
            let checkpoints = Checkpoints { file: Some(file.clone()), ..Checkpoints::default() };
            let observed = context().observer(Arc::new(CancelAfter(AtomicUsize::new(polls))));
            let stopped = config.init().unwrap().with_checkpoints(checkpoints).run(points.clone().into(), &observed);
            assert!(matches!(stopped, Err(Error::Cancelled)), "{polls}");
            let resume = Checkpoints { resume: Some(file.clone()), ..Checkpoints::default() };
            let sammon = config.init().unwrap().with_checkpoints(resume);
            let again = sammon.run(points.clone().into(), &context()).unwrap();
            assert_eq!(again.coordinates, whole.coordinates);
            assert_eq!((again.stress, again.stress_start), (whole.stress, whole.stress_start));
            assert_eq!((again.iterations, again.evaluations), (whole.iterations, whole.evaluations));
            assert_eq!(again.history, whole.history);

            let refused = sammon.run(cloud(50, 6, 4).into(), &context()).unwrap_err();
            assert!(refused.to_string().contains("its run had another input"), "{refused}");
            let refused = sammon.run(points.clone().into(), &context().seed(1)).unwrap_err();
            assert!(refused.to_string().contains("its run had the seed 0, and this one has 1"), "{refused}");
        }
    }
    std::fs::write(&file, "{}").unwrap();
    let resume = Checkpoints { resume: Some(file), ..Checkpoints::default() };
    let refused =
        base.init().unwrap().with_checkpoints(resume).run(points.into(), &context()).map(|_: Embedding<Wide>| ());
    assert!(refused.unwrap_err().to_string().contains("not a state file of Firebox"));
}

#[test]
fn a_stalled_run_stays_stalled_when_resumed() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("state.json");
    let points = cloud(30, 4, 3);
    let sammon = SammonConfig::new(2).with_tolerance(0.0).with_iterations(5000).init().unwrap();
    let keep = Checkpoints { file: Some(file.clone()), ..Checkpoints::default() };
    let whole = sammon.clone().with_checkpoints(keep).run(points.clone().into(), &context()).unwrap();
    let resume = Checkpoints { resume: Some(file.clone()), ..Checkpoints::default() };
    let sammon = sammon.with_checkpoints(resume);
    let again = sammon.run(points.clone().into(), &context()).unwrap();
    assert_eq!((whole.stop, again.stop), (Stop::Precision, Stop::Precision));
    assert_eq!((again.iterations, again.evaluations), (whole.iterations, whole.evaluations));
    assert_eq!(again.coordinates, whole.coordinates);

    let refused = sammon.run(cloud(2, 4, 3).into(), &context()).map(|_: Embedding<Wide>| ()).unwrap_err();
    assert!(refused.to_string().contains("another input"), "{refused}");
    std::fs::remove_file(&file).unwrap();
    assert!(matches!(
        sammon.run(cloud(2, 4, 3).into(), &context()).map(|_: Embedding<Wide>| ()),
        Err(Error::Io { .. })
    ));
}

#[test]
fn the_start_can_be_given() {
    let points = cloud(20, 3, 5);
    let first = map(&SammonConfig::new(2), points.clone()).unwrap();
    let config = SammonConfig::new(2).with_start(Start::Given).with_rescale(false).with_iterations(1);
    let given = SammonInput::from(points.clone()).starting_at(first.coordinates.clone());
    let found = map(&config, given).unwrap();
    assert!((found.stress_start - first.stress).abs() < 1e-9);
    assert!(map(&config, points.clone()).is_err());
    assert!(map(&config, SammonInput::from(points).starting_at(vec![0.0; 3])).is_err());
}
