//! Whole mappings on NdArray, in f64 unless stated otherwise.

use burn::tensor::Tensor;
use burn_ndarray::NdArray;
use firebox_core::{Context, Error, Result, data::Points, random::Random, tensor::floats};

use crate::{
    Distances, Implementation, Memory, Metric, Sammon, SammonConfig, SammonInput, SammonMap, Solver, Start, Step, Stop,
    Variant,
    solve::{
        initialization,
        lbfgs::{Function, Lbfgs},
        memory_plan::Plan,
        metric::distance,
        nondimensional::Prepared,
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

fn map(config: &SammonConfig, input: impl Into<SammonInput<Wide>>) -> Result<SammonMap<Wide>> {
    config.init()?.fit_with(input, &context())
}

/// Euclidean distances, row-major N × N.
fn square(points: &Points) -> Vec<f64> {
    points.iter().flat_map(|a| points.iter().map(|b| distance(a, b, Metric::Euclidean))).collect()
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
        for metric in [Metric::Euclidean, Metric::Manhattan, Metric::Cosine, Metric::Correlation] {
            let config = SammonConfig::new(2).with_solver(solver).with_metric(metric);
            let found = map(&config, points.clone()).unwrap();
            let mut unit = points.clone();
            if metric.of_directions() {
                for x in unit.values.chunks_mut(4) {
                    if metric == Metric::Correlation {
                        let mean = x.iter().sum::<f64>() / 4.0;
                        x.iter_mut().for_each(|x| *x -= mean);
                    }
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
fn the_stress_after_block_sampling_is_an_estimate_unless_all_pairs_are_wanted() {
    let points = cloud(6000, 3, 4);
    let config = SammonConfig::new(2).with_memory(Memory::Sampled).with_epochs(20);
    let estimated = map(&config, points.clone()).unwrap();
    let sample = estimated.stress_sample.unwrap();
    assert!(estimated.point_stress.is_none());
    for config in [config.clone().with_exact_quality(true), config.with_point_stress(true).with_quality(false)] {
        let exact = map(&config, points.clone()).unwrap();
        assert_eq!((exact.coordinates, exact.stress_sample), (estimated.coordinates.clone(), None));
        assert_eq!(exact.point_stress.unwrap().len(), 6000);
        // Six standard errors.
        assert!((estimated.stress - exact.stress).abs() <= 6.0 * sample.error, "{} {}", estimated.stress, exact.stress);
        assert!((estimated.stress1 / exact.stress1 - 1.0).abs() < 0.01);
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
    assert_eq!((a.iterations, a.stop, a.step.to_string().as_str()), (5, Stop::Iterations, "gd, mu:0.02"));
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
    let square = square(&points);
    let condensed: Vec<f64> =
        (0..n).flat_map(|i| (i + 1..n).map(move |j| (i, j))).map(|(i, j)| square[i * n + j]).collect();
    let config = SammonConfig::new(2).with_tolerance(1e-9);
    let expected = map(&config, points).unwrap();
    let pairs = condensed.len();
    for distances in [Distances::new(square, n, n), Distances::new(condensed, 1, pairs)] {
        let found = map(&config, distances.unwrap()).unwrap();
        let error = found.stress / expected.stress - 1.0;
        assert!(error.abs() < 1e-6, "{error}");
        assert_eq!(found.duplicates, 7);
        assert!((found.stress_start - expected.stress_start).abs() < 1e-9);
    }
}

#[test]
fn missing_pairs_have_no_weight() {
    let mut values = square(&cloud(30, 2, 6));
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
    let found = SammonConfig::new(2).with_restarts(Some(0)).init().unwrap().fit_with(points.clone(), &tight).unwrap();
    assert_eq!(found.memory_mode, Some(Memory::Recomputed));
    tight.memory_limit = Some(1);
    assert!(matches!(Sammon::new(2).fit_with(points, &tight), Err(Error::Memory { .. })));
}

#[test]
fn block_sampling_approaches_the_optimum() {
    let points = cloud(600, 8, 5);
    let best = map(&SammonConfig::new(2), points.clone()).unwrap();
    let found = map(&SammonConfig::new(2).with_memory(Memory::Sampled), points).unwrap();
    assert_eq!((found.memory_mode, found.stop), (Some(Memory::Sampled), Stop::Epochs));
    assert_eq!(found.implementation, Implementation::BlockSampled);
    assert!(found.stress < best.stress * 1.02, "{} {}", found.stress, best.stress);
    assert_eq!(found.history.len(), 31);
}

#[test]
fn restarts_never_increase_the_stress() {
    let points = cloud(30, 6, 12);
    let one = map(&SammonConfig::new(2).with_restarts(Some(0)), points.clone()).unwrap();
    let many = map(&SammonConfig::new(2).with_restarts(Some(5)), points).unwrap();
    assert!(many.stress <= one.stress);
}

#[test]
fn runs_that_do_not_converge_are_not_repeated() {
    let found = map(&SammonConfig::new(2).with_iterations(3), cloud(30, 6, 12)).unwrap();
    assert_eq!((found.stop, found.iterations, found.history.len()), (Stop::Iterations, 3, 4));
}

#[test]
fn new_points_are_placed() {
    let points = cloud(80, 2, 7);
    let found = map(&SammonConfig::new(2).with_tolerance(1e-9), points.clone()).unwrap();
    // Points of a plane: the map is the plane, so that distances of new points are reproduced exactly.
    let mut new = cloud(25, 2, 71);
    new.values.extend_from_slice(points.row(5));
    new.rows += 1;
    let places = found.transform_with(&new, &context()).unwrap();
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
    assert!(found.transform_with(&cloud(3, 5, 1), &context()).is_err());
    let distances = map(&SammonConfig::new(2), Distances::new(square(&points), 80, 80).unwrap()).unwrap();
    let error = distances.transform_with(&new, &context()).unwrap_err();
    assert!(error.help().unwrap().contains("fit the points' features"), "{error}");
}

#[test]
fn tensors_map_like_points() {
    let points = cloud(30, 4, 3);
    let tensor = |points: &Points| floats::<Wide, 2>(points.values.clone(), [points.rows, 4], &Default::default());
    let values = |tensor: Tensor<Wide, 2>| tensor.into_data().to_vec::<f64>().unwrap();
    let (map, host) = (Sammon::new(2).fit(tensor(&points)).unwrap(), map(&SammonConfig::new(2), points).unwrap());
    assert_eq!(
        (values(map.embedding()), map.coordinates.clone()),
        (host.coordinates.clone(), host.coordinates.clone())
    );
    let new = cloud(5, 4, 1);
    let placed = map.transform(tensor(&new)).unwrap();
    assert_eq!(values(placed), host.transform_with(&new, &context()).unwrap());
    assert!(Sammon::new(0).fit(tensor(&new)).is_err());
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

/// Stress of Euclidean distances in scalar loops over f64.
struct ReferenceStress {
    deltas: Vec<f64>,
    n: usize,
    m: usize,
    scale: f64,
}

impl Function for ReferenceStress {
    fn evaluate(&mut self, x: &[f64]) -> Result<(f64, Vec<f64>)> {
        let (n, m) = (self.n, self.m);
        let (mut value, mut gradient) = (0.0, vec![0.0; n * m]);
        for i in 0..n {
            for j in 0..i {
                let delta = self.deltas[i * n + j];
                let d = (0..m).map(|k| (x[k * n + i] - x[k * n + j]).powi(2)).sum::<f64>().sqrt();
                value += (delta - d).powi(2) / (delta * self.scale);
                let pull = 2.0 * (d - delta) / (delta * d * self.scale);
                for k in 0..m {
                    let by = pull * (x[k * n + i] - x[k * n + j]);
                    gradient[k * n + i] += by;
                    gradient[k * n + j] -= by;
                }
            }
        }
        Ok((value, gradient))
    }
}

/// Asserts that a map in f32 is as good as that of L-BFGS in f64 from the same start.
fn assert_no_worse_than_f64(points: Points, m: usize) {
    let prepared = Prepared::new(Data::Features(points.clone()), Metric::Euclidean, false).unwrap();
    let n = prepared.len();
    let deltas: Vec<f64> = (0..n * n).map(|at| prepared.delta(at / n, at % n)).collect();
    let scale = deltas.iter().sum::<f64>() / 2.0;
    let mut function = ReferenceStress { deltas, n, m, scale };
    let x = initialization::principal(&prepared, m).unwrap();
    let mut reference = Lbfgs::new(&mut function, x).unwrap();
    let diagonal = vec![0.5 * scale / n as f64; n * m];
    for _ in 0..150 {
        reference.advance(&mut function, &diagonal).unwrap();
    }
    let context = Context::<NdArray<f32>>::new(Default::default());
    let found = Sammon::new(m).fit_with(points, &context).unwrap();
    assert!(found.stress <= 1.005 * reference.value, "{} {}", found.stress, reference.value);
}

#[test]
fn uniform_points_map_as_well_as_in_f64() {
    let mut random = Random::new(1, 1);
    assert_no_worse_than_f64(
        Points::new((0..1000 * 200).map(|_| random.uniform(0.0, 255.0)).collect(), 200).unwrap(),
        3,
    );
}

#[test]
fn clusters_map_as_well_as_in_f64() {
    let mut random = Random::new(2, 1);
    let centres: Vec<f64> = (0..500).map(|_| random.uniform(-10.0, 10.0)).collect();
    let values = (0..1000 * 50).map(|at| centres[at / 50 % 10 * 50 + at % 50] + random.normal());
    assert_no_worse_than_f64(Points::new(values.collect(), 50).unwrap(), 2);
}
