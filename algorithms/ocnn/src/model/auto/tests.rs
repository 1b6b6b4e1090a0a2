//! Automatic clustering of generated sets with known classes, and of points without structure.

use burn_ndarray::NdArray;
use firebox_core::{
    Context,
    data::{Points, Shape, generate},
    metrics::adjusted_rand_index,
    random::Random,
};

use crate::{
    config::{AutoConfig, Cut, Distance},
    model::Clustering,
    solve::auto::{AutoInput, Links},
};

fn context(seed: u64) -> Context<NdArray> {
    Context::new(Default::default()).seed(seed)
}

fn found(config: &AutoConfig, points: &Points, seed: u64) -> Clustering {
    config.init().unwrap().cluster(&AutoInput::Points(points.clone()), &context(seed)).unwrap()
}

fn ari(points: &Points, found: &Clustering) -> f64 {
    adjusted_rand_index(points.labels.as_ref().unwrap(), &found.labels).unwrap()
}

/// `n` uniform or Gaussian points in `d` dimensions.
fn structureless(n: usize, d: usize, normal: bool, seed: u64) -> Points {
    let mut random = Random::new(seed, 5);
    let values = (0..n * d).map(|_| if normal { random.normal() } else { random.unit() }).collect();
    Points::new(values, d).unwrap()
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
        let mut all = Vec::new();
        for seed in 0..3 {
            let points = generate(shape, None, None, 40 + seed).unwrap();
            all.push(ari(&points, &found(&AutoConfig::new(), &points, seed)));
        }
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
            let points = structureless(n, d, normal, 700 + seed);
            found(&AutoConfig::new(), &points, seed).count() > 1
        });
        wrong.push(more.count());
    }
    // At a rate of one in ten, more than 7 of 32, or more than 2 of 4, have a probability of about 1%.
    assert!(wrong.iter().sum::<usize>() <= 7 && wrong.iter().all(|&wrong| wrong <= 2), "{wrong:?}");
}

#[test]
fn equal_points_distant_parts_and_constant_columns_are_handled() {
    let blobs = generate(Shape::Hepta, None, None, 3).unwrap();
    // Each point three times, a constant column, and another scale.
    let rows = (0..3 * blobs.rows).flat_map(|at| [blobs.row(at % blobs.rows), &[7.0]].concat());
    let points = Points::new(rows.map(|x| x * 1e-200).collect(), 4).unwrap();
    let thrice = found(&AutoConfig::new(), &points, 0);
    assert_eq!(thrice.count(), 7);
    assert_eq!(thrice.labels[..blobs.rows], thrice.labels[2 * blobs.rows..]);
    assert_eq!(thrice.linkage.len(), 4 * (points.rows - 1));

    let even = generate(Shape::Uniform, Some(400), None, 4).unwrap();
    let far = |at: usize| even.row(at).iter().map(move |x| x + if at < 200 { 0.0 } else { 1e6 });
    let apart = found(
        &AutoConfig::new().with_cut(Cut::Clusters(2)),
        &Points::new((0..400).flat_map(far).collect(), 2).unwrap(),
        0,
    );
    assert!(apart.parts >= 2);
    assert_eq!(apart.sizes, [200, 200]);

    // Many points at few positions.
    for places in [2, 3] {
        let rows: Vec<f64> = [1.0, 2.0, 3.0, 4.0, 5.0, 9.0][..2 * places].repeat(100_000);
        let found = found(&AutoConfig::new(), &Points::new(rows, 2).unwrap(), 0);
        assert_eq!(found.sizes, vec![100_000; places]);
    }

    for n in 1..6 {
        let few = Points::new((0..n).map(f64::from).collect(), 1).unwrap();
        let found = found(&AutoConfig::new(), &few, 0);
        assert_eq!((found.count(), found.labels.len()), (1, n as usize));
    }
}

#[test]
fn distances_and_graphs_give_the_clusters_of_points() {
    let points = generate(Shape::Hepta, None, None, 6).unwrap();
    let n = points.rows;
    let distance = |i: usize, j: usize| {
        points.row(i).iter().zip(points.row(j)).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
    };
    let wanted = found(&AutoConfig::new(), &points, 1).labels;
    let matrix: Vec<f64> = (0..n * n).map(|at| distance(at / n, at % n)).collect();
    let graph: Vec<f64> = (0..n * n)
        .filter(|at| at / n < at % n)
        .flat_map(|at| [(at / n) as f64, (at % n) as f64, distance(at / n, at % n)])
        .collect();
    let auto = AutoConfig::new().init().unwrap();
    for input in [
        AutoInput::Distances(firebox_core::data::Distances::new(matrix, n, n).unwrap()),
        AutoInput::Graph(Links::new(&graph, 3).unwrap()),
    ] {
        assert_eq!(auto.cluster(&input, &context(1)).unwrap().labels, wanted);
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
    let halves: Vec<i64> = (0..300).map(|at| i64::from(at >= 150)).collect();
    for (distance, values) in [(Distance::Cosine, rays), (Distance::Haversine, places)] {
        let points = Points::new(values, 2).unwrap().with_labels(halves.clone()).unwrap();
        let found = found(&AutoConfig::new().with_distance(distance).with_assign_all(true), &points, 2);
        assert!(ari(&points, &found) >= 0.98, "{distance:?}: {} clusters", found.count());
    }
}

#[test]
fn new_points_join_the_cluster_around_them() {
    for (shape, dims) in [(Shape::Hepta, None), (Shape::Blobs, Some(12))] {
        let points = generate(shape, None, dims, 8).unwrap();
        let auto = AutoConfig::new().with_assign_all(true).init().unwrap();
        let clustering = auto.cluster(&AutoInput::Points(points.clone()), &context(0)).unwrap();
        let nudged = points.values.iter().map(|x| x + 1e-3).collect();
        let new = Points::new(nudged, points.columns).unwrap();
        assert_eq!(auto.predict(&clustering, &new, &context(0)).unwrap(), clustering.labels, "{shape:?}");
    }
}
