//! Automatic clustering of generated sets with known classes and of points without structure: curves, many and small
//! clusters, equal points, and every kind of input and of cut.

use burn_ndarray::NdArray;
use firebox_core::{
    data::{Distances, Points, Shape, generate},
    metrics::adjusted_rand_index,
    random::Random,
    tensor::{floats, read_ints},
};

use super::*;
use crate::{config::Distance, solve::auto::Links};

mod doubts;
mod levels;
mod sparse;
mod weights;

type B = NdArray<f32>;

fn try_fit(config: &OcnnConfig, input: impl Into<OcnnInput<B>>, seed: u64) -> Result<FittedOcnn<B>> {
    config.init()?.fit_with(input, &Context::new(Default::default()).seed(seed))
}

fn fit(config: &OcnnConfig, input: impl Into<OcnnInput<B>>, seed: u64) -> Clustering {
    try_fit(config, input, seed).unwrap().into_clustering()
}

fn auto() -> OcnnConfig {
    OcnnConfig::new()
}

fn sample(shape: Shape, seed: u64) -> Points {
    generate(shape, None, None, seed).unwrap()
}

fn plane(values: Vec<f64>) -> Points {
    Points::new(values, 2).unwrap()
}

fn ari(found: &Clustering, truth: &[i64]) -> f64 {
    adjusted_rand_index(&found.labels, truth).unwrap()
}

fn groups(count: usize, each: usize) -> Vec<i64> {
    (0..count * each).map(|at| (at / each) as i64).collect()
}

#[test]
fn shapes_are_found_with_default_parameters() {
    for (shape, least) in [
        (Shape::Hepta, 0.99),
        (Shape::Lsun, 0.99),
        (Shape::Target, 0.99),
        (Shape::TwoDiamonds, 0.98),
        (Shape::Chainlink, 0.99),
        (Shape::Atom, 0.99),
        (Shape::Wingnut, 0.99),
        (Shape::Tetra, 0.7),
    ] {
        let all = [0, 1, 2].map(|seed| {
            let points = sample(shape, 40 + seed);
            ari(&fit(&auto(), points.clone(), seed), &points.labels.unwrap())
        });
        let mean = all.iter().sum::<f64>() / all.len() as f64;
        assert!(mean >= least, "{shape:?}: {all:?}");
    }
}

#[test]
fn without_structure_there_is_one_cluster() {
    let mut wrong = Vec::new();
    for (n, d, normal) in [
        (100, 2, true),
        (300, 2, false),
        (600, 3, true),
        (1000, 2, false),
        (300, 16, false),
        (300, 1, false),
        (1000, 1, true),
        (1000, 1, false),
    ] {
        let more = (0..4).filter(|&seed| {
            let mut random = Random::new(700 + seed, 5);
            let values = (0..n * d).map(|_| if normal { random.normal() } else { random.unit() }).collect();
            fit(&auto(), Points::new(values, d).unwrap(), seed).count() > 1
        });
        wrong.push(more.count());
    }
    // At a rate of one in twenty, more than 5 of 32 have a probability of 0.4 %, more than 2 of 4 of 0.05 %.
    assert!(wrong.iter().sum::<usize>() <= 5 && wrong.iter().all(|&wrong| wrong <= 2), "{wrong:?}");
}

#[test]
fn equal_points_distant_parts_and_constant_columns_are_handled() {
    let blobs = sample(Shape::Hepta, 3);
    // Each point three times, a constant column, and another scale.
    let rows = (0..3 * blobs.rows).flat_map(|at| [blobs.row(at % blobs.rows), &[7.0]].concat());
    let points = Points::new(rows.map(|x| x * 1e-200).collect(), 4).unwrap();
    let thrice = fit(&auto(), points, 0);
    assert_eq!(thrice.count(), 7);
    assert_eq!(thrice.labels[..blobs.rows], thrice.labels[2 * blobs.rows..]);
    assert_eq!(thrice.linkage.len(), 4 * (3 * blobs.rows - 1));

    let even = generate(Shape::Uniform, Some(400), None, 4).unwrap();
    let far = |at: usize| even.row(at).iter().map(move |x| x + if at < 200 { 0.0 } else { 1e6 });
    let apart = fit(&auto().with_cut(Cut::Clusters(2)), plane((0..400).flat_map(far).collect()), 0);
    assert!(apart.parts >= 2);
    assert_eq!(apart.sizes, [200, 200]);

    // Many points at few positions.
    for places in [2, 3] {
        let rows: Vec<f64> = [1.0, 2.0, 3.0, 4.0, 5.0, 9.0][..2 * places].repeat(100_000);
        assert_eq!(fit(&auto(), plane(rows), 0).sizes, vec![100_000; places]);
    }

    for n in 1..6 {
        let found = fit(&auto(), Points::new((0..n).map(f64::from).collect(), 1).unwrap(), 0);
        assert_eq!((found.count(), found.labels.len()), (1, n as usize));
    }
}

#[test]
fn distances_and_graphs_give_the_clusters_of_points_but_predict_none() {
    let points = sample(Shape::Hepta, 6);
    let n = points.rows;
    let distance = |i: usize, j: usize| {
        points.row(i).iter().zip(points.row(j)).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
    };
    let wanted = fit(&auto(), points.clone(), 1).labels;
    let matrix: Vec<f64> = (0..n * n).map(|at| distance(at / n, at % n)).collect();
    let graph: Vec<f64> = (0..n * n)
        .filter(|at| at / n < at % n)
        .flat_map(|at| [(at / n) as f64, (at % n) as f64, distance(at / n, at % n)])
        .collect();
    let inputs: [OcnnInput<B>; 2] =
        [Distances::new(matrix, n, n).unwrap().into(), Links::new(&graph, 3).unwrap().into()];
    for input in inputs {
        let fitted = try_fit(&auto(), input, 1).unwrap();
        assert_eq!(fitted.clustering().labels, wanted);
        let error = fitted.predict_with(points.clone(), &Context::new(Default::default())).unwrap_err();
        assert!(error.to_string().contains("no coordinates"), "{error}");
    }
}

#[test]
fn clusters_follow_the_distance() {
    // Two directions of any length; two latitudes across the date line.
    let mut random = Random::new(4, 1);
    let mut rays = Vec::new();
    let mut places = Vec::new();
    for at in 0..300 {
        let angle = random.normal() * 0.05 + if at < 150 { 0.3 } else { 1.2 };
        let length = 1.0 + 100.0 * random.unit();
        rays.extend([length * angle.cos(), length * angle.sin()]);
        let east = 180.0 + random.normal();
        let wrapped = if east > 180.0 { east - 360.0 } else { east };
        places.extend([if at < 150 { 10.0 } else { 40.0 } + random.normal(), wrapped]);
    }
    for (distance, values) in [(Distance::Cosine, rays), (Distance::Haversine, places)] {
        let found = fit(&auto().with_distance(distance).with_assign_all(true), plane(values), 2);
        assert!(ari(&found, &groups(2, 150)) >= 0.98, "{distance:?}: {} clusters", found.count());
    }
}

#[test]
fn tensors_are_fitted_and_predicted_as_points() {
    for (shape, dims) in [(Shape::Hepta, None), (Shape::Blobs, Some(12))] {
        let points = generate(shape, None, dims, 8).unwrap();
        let size = [points.rows, points.columns];
        let tensor = |shift: f64| {
            floats::<B, 2>(points.values.iter().map(|x| x + shift).collect::<Vec<_>>(), size, &Default::default())
        };
        let fitted = auto().with_assign_all(true).init().unwrap().fit(tensor(0.0)).unwrap();
        let labels = read_ints(fitted.labels(), "labels").unwrap();
        assert!(labels.iter().map(|&label| i64::from(label)).eq(fitted.clustering().labels.iter().copied()));
        assert_eq!((fitted.count(), fitted.noise()), (fitted.clustering().sizes.len(), 0));
        // New points join the cluster around them.
        assert_eq!(read_ints(fitted.predict(tensor(1e-3)).unwrap(), "labels").unwrap(), labels, "{shape:?}");
    }
}

#[test]
fn thin_curves_are_clusters() {
    let mut random = Random::new(21, 0);
    for width in [0.0, 0.01] {
        let mut rings = Vec::new();
        let mut spirals = Vec::new();
        for at in 0..2000 {
            let (angle, far) = (6.3 * random.unit(), random.unit());
            let radius = if at < 1000 { 1.0 } else { 2.0 } + width * random.normal();
            rings.extend([radius * angle.cos(), radius * angle.sin()]);
            let turn = (0.02 + 0.98 * far).sqrt() * 9.4;
            let angle = turn + if at < 1000 { 0.0 } else { std::f64::consts::PI };
            spirals
                .extend([turn * angle.cos() + width * random.normal(), turn * angle.sin() + width * random.normal()]);
        }
        for values in [rings, spirals] {
            assert!(ari(&fit(&auto(), plane(values), 3), &groups(2, 1000)) > 0.99, "width {width}");
        }
    }
}

#[test]
fn many_and_small_clusters_are_found() {
    let mut random = Random::new(22, 0);
    for (count, each) in [(30, 20), (60, 50), (120, 40)] {
        let mut values = Vec::new();
        for at in 0..count * each {
            let place = at / each;
            values.extend([(place % 10) as f64, (place / 10) as f64].map(|x| 100.0 * x + random.normal()));
        }
        let points = plane(values);
        for config in [auto(), auto().with_cut(Cut::Clusters(count))] {
            assert!(ari(&fit(&config, points.clone(), 3), &groups(count, each)) > 0.99, "{count} of {each}, {config}");
        }
    }
}

#[test]
fn equal_points_are_one_neuron_for_every_distance() {
    // Integers, so that many points are equal; multiples of a direction, and longitudes that differ by 360°.
    let mut random = Random::new(23, 0);
    let mut blobs = Vec::new();
    let mut directions = Vec::new();
    let mut places = Vec::new();
    for at in 0..600 {
        let middle = if at < 300 { 10.0 } else { 60.0 };
        let [x, y] = [0, 1].map(|_| middle + (3.0 * random.normal()).round());
        blobs.extend([x, y]);
        let (ray, length) = (if at < 300 { 5.0 } else { 80.0 } + (2.0 * random.normal()).round(), (1 + at % 3) as f64);
        directions.extend([100.0 * length, ray * length]);
        places.extend(if at < 300 { [90.0, x] } else { [x - 60.0, if at % 2 == 0 { y } else { y - 360.0 }] });
    }
    let distance = |i: usize, j: usize| (blobs[2 * i] - blobs[2 * j]).hypot(blobs[2 * i + 1] - blobs[2 * j + 1]);
    let matrix = (0..600 * 600).map(|at| distance(at / 600, at % 600)).collect();
    let matrix = Distances::new(matrix, 600, 600).unwrap();
    let with = |distance| auto().with_distance(distance).with_assign_all(true);
    for (name, found) in [
        ("points", fit(&with(Distance::Euclidean), plane(blobs.clone()), 3)),
        ("matrix", fit(&with(Distance::Euclidean), matrix, 3)),
        ("cosine", fit(&with(Distance::Cosine), plane(directions), 3)),
    ] {
        assert!(ari(&found, &groups(2, 300)) > 0.99, "{name}");
    }
    let pole = fit(&with(Distance::Haversine).with_cut(Cut::Clusters(2)), plane(places), 3).labels;
    assert!(pole[..300].iter().all(|&label| label == pole[0]), "a pole is one place");
}

#[test]
fn a_threshold_cuts_the_linkage_at_its_height() {
    let points = sample(Shape::Lsun, 5);
    let n = points.rows;
    for theta in [0.3, 0.9, 0.97] {
        let config = auto().with_cut(Cut::Threshold(theta));
        let cut = fit(&config, points.clone(), 3);
        // Components below the height, from the linkage alone.
        let mut members: Vec<Vec<usize>> = (0..n).map(|i| vec![i]).collect();
        let mut piece: Vec<usize> = (0..n).collect();
        for (k, row) in cut.linkage.chunks_exact(4).enumerate() {
            let both = [row[0] as usize, row[1] as usize].map(|name| members[name].clone()).concat();
            if row[2] < 1.0 - theta {
                both.iter().for_each(|&i| piece[i] = n + k);
            }
            members.push(both);
        }
        for i in 0..n {
            let alone = piece.iter().filter(|&&other| other == piece[i]).count() == 1;
            assert_eq!(cut.labels[i] == -1, alone, "point {i} at {theta}");
            assert!(!alone || cut.outliers[i] == 1.0, "single points have outlier score 1");
        }
        let clusters: Vec<usize> = (0..n).filter(|&i| cut.labels[i] >= 0).collect();
        let of = |from: &dyn Fn(usize) -> i64| clusters.iter().map(|&i| from(i)).collect::<Vec<_>>();
        assert_eq!(adjusted_rand_index(&of(&|i| cut.labels[i]), &of(&|i| piece[i] as i64)).unwrap(), 1.0);
        let all = fit(&config.with_assign_all(true), points.clone(), 3);
        let singles = all.sizes.iter().filter(|&&size| size == 1).count();
        assert_eq!((all.noise(), singles), (0, 0), "no cluster of one point");
    }
}

#[test]
fn a_given_number_of_clusters_is_found() {
    let points = sample(Shape::Target, 6);
    for count in [1, 2, 5, 30, 200] {
        for assign_all in [false, true] {
            let config = auto().with_cut(Cut::Clusters(count)).with_assign_all(assign_all);
            assert_eq!(fit(&config, points.clone(), 3).count(), count, "assign all: {assign_all}");
        }
    }
}

#[test]
fn prediction_keeps_known_clusters_and_rejects_distant_points() {
    let points = sample(Shape::Target, 7);
    let context = Context::new(Default::default());
    for cut in [Cut::Auto, Cut::Threshold(0.9), Cut::Clusters(30)] {
        let fitted = try_fit(&auto().with_cut(cut), points.clone(), 0).unwrap();
        assert_eq!(fitted.predict_with(points.clone(), &context).unwrap(), fitted.clustering().labels, "{cut:?}");
        let far = plane(vec![1e10, 0.0, f64::MAX, -1.0]);
        assert_eq!(fitted.predict_with(far, &context).unwrap(), [-1, -1], "{cut:?}");
    }
}

#[test]
fn a_sweep_reports_its_trials_and_takes_the_best() {
    let points = sample(Shape::TwoDiamonds, 8);
    let found = fit(&auto().with_sweep(true).with_seeds(3), points.clone(), 3);
    assert_eq!(found.trials.len(), 3);
    assert!(found.trials.iter().all(|trial| trial.stability.is_some()));
    assert_eq!(found.agreements.len(), 2);
    assert!(ari(&found, &points.labels.unwrap()) > 0.98);
}

#[test]
fn unsuitable_parameters_and_inputs_are_refused() {
    let thrice = plane([1.0, 2.0, 3.0, 5.0, 8.0, 13.0].repeat(3));
    let wide = generate(Shape::Blobs, None, Some(12), 1).unwrap();
    for (field, config, points) in [
        ("clusters", auto().with_cut(Cut::Clusters(4)), &thrice),
        ("sweep", auto().with_sweep(true).with_cut(Cut::Threshold(0.5)), &thrice),
        ("sweep", auto().with_sweep(true), &wide),
    ] {
        let error = try_fit(&config, points.clone(), 0).unwrap_err();
        assert!(matches!(error, Error::Config { field: named, .. } if named == field), "{error}");
    }
    for graph in
        [vec![], vec![0.0, 1.0, f64::NAN], vec![0.0, 1.0, f64::INFINITY], vec![0.0, 4e9, 1.0], vec![0.0, 1e5, 1.0]]
    {
        assert!(Links::new(&graph, 3).is_err(), "{graph:?}");
    }
    let mut random = Random::new(24, 0);
    let mut values: Vec<f64> = (0..200).map(|_| random.unit()).collect();
    values.extend([1.7e308, 0.0]);
    let error = try_fit(&auto(), plane(values), 0).unwrap_err().to_string();
    assert!(error.contains("have no distance"), "{error}");
}
