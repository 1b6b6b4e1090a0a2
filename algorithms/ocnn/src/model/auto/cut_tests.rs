//! Curves, many and small clusters, equal points, and every kind of cut.

use burn_ndarray::NdArray;
use firebox_core::{
    Context, Error,
    data::{Distances, Points, Shape, generate},
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

fn found(config: AutoConfig, input: &AutoInput) -> Clustering {
    config.init().unwrap().cluster(input, &context(3)).unwrap()
}

fn plane(values: Vec<f64>) -> AutoInput {
    AutoInput::Points(Points::new(values, 2).unwrap())
}

fn groups(count: usize, each: usize) -> Vec<i64> {
    (0..count * each).map(|at| (at / each) as i64).collect()
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
            let labels = found(AutoConfig::new(), &plane(values)).labels;
            assert!(adjusted_rand_index(&labels, &groups(2, 1000)).unwrap() > 0.99, "width {width}");
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
        let input = plane(values);
        let wanted = groups(count, each);
        let ari = |config| adjusted_rand_index(&found(config, &input).labels, &wanted).unwrap();
        assert!(ari(AutoConfig::new()) > 0.99, "{count} of {each}");
        assert!(ari(AutoConfig::new().with_cut(Cut::Clusters(count))) > 0.99, "{count} of {each}, given");
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
    let matrix = AutoInput::Distances(Distances::new(matrix, 600, 600).unwrap());
    let with = |distance| AutoConfig::new().with_distance(distance).with_assign_all(true);
    let wanted = groups(2, 300);
    for (name, labels) in [
        ("points", found(with(Distance::Euclidean), &plane(blobs.clone())).labels),
        ("matrix", found(with(Distance::Euclidean), &matrix).labels),
        ("cosine", found(with(Distance::Cosine), &plane(directions)).labels),
    ] {
        assert!(adjusted_rand_index(&labels, &wanted).unwrap() > 0.99, "{name}");
    }
    let pole = found(with(Distance::Haversine).with_cut(Cut::Clusters(2)), &plane(places)).labels;
    assert!(pole[..300].iter().all(|&label| label == pole[0]), "a pole is one place");
}

#[test]
fn a_threshold_cuts_the_linkage_at_its_height() {
    let points = generate(Shape::Lsun, None, None, 5).unwrap();
    let n = points.rows;
    let input = AutoInput::Points(points);
    for theta in [0.3, 0.9, 0.97] {
        let config = AutoConfig::new().with_cut(Cut::Threshold(theta));
        let cut = found(config.clone(), &input);
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
        let all = found(config.with_assign_all(true), &input);
        assert_eq!(
            (all.noise(), all.sizes.iter().filter(|&&size| size == 1).count()),
            (0, 0),
            "no cluster of one point"
        );
    }
}

#[test]
fn a_given_number_of_clusters_is_found() {
    let input = AutoInput::Points(generate(Shape::Target, None, None, 6).unwrap());
    for count in [1, 2, 5, 30, 200] {
        for assign_all in [false, true] {
            let cut = found(AutoConfig::new().with_cut(Cut::Clusters(count)).with_assign_all(assign_all), &input);
            assert_eq!(cut.count(), count, "assign all: {assign_all}");
        }
    }
    let thrice = plane([1.0, 2.0, 3.0, 5.0, 8.0, 13.0].repeat(3));
    let refused = AutoConfig::new().with_cut(Cut::Clusters(4)).init().unwrap().cluster(&thrice, &context(0));
    assert!(matches!(refused.unwrap_err(), Error::Config { field: "clusters", .. }));
}

#[test]
fn prediction_keeps_known_clusters_and_rejects_distant_points() {
    let points = generate(Shape::Target, None, None, 7).unwrap();
    for cut in [Cut::Auto, Cut::Threshold(0.9), Cut::Clusters(30)] {
        let auto = AutoConfig::new().with_cut(cut).init().unwrap();
        let clustering = auto.cluster(&AutoInput::Points(points.clone()), &context(0)).unwrap();
        assert_eq!(auto.predict(&clustering, &points, &context(0)).unwrap(), clustering.labels, "{cut:?}");
        let far = Points::new(vec![1e10, 0.0, f64::MAX, -1.0], 2).unwrap();
        assert_eq!(auto.predict(&clustering, &far, &context(0)).unwrap(), [-1, -1], "{cut:?}");
    }
}

#[test]
fn a_sweep_reports_its_trials_and_takes_the_best() {
    let points = generate(Shape::TwoDiamonds, None, None, 8).unwrap();
    let found = found(AutoConfig::new().with_sweep(true).with_seeds(3), &AutoInput::Points(points.clone()));
    assert_eq!(found.trials.len(), 3);
    assert!(found.trials.iter().all(|trial| trial.stability.is_some()));
    assert_eq!(found.agreements.len(), 2);
    assert!(adjusted_rand_index(&found.labels, points.labels.as_ref().unwrap()).unwrap() > 0.98);
    for wrong in [
        AutoConfig::new().with_sweep(true).with_cut(Cut::Threshold(0.5)).init().map(drop),
        AutoConfig::new()
            .with_sweep(true)
            .init()
            .unwrap()
            .cluster(&AutoInput::Points(generate(Shape::Blobs, None, Some(12), 1).unwrap()), &context(0))
            .map(drop),
    ] {
        assert!(matches!(wrong.unwrap_err(), Error::Config { field: "sweep", .. }));
    }
}

#[test]
fn invalid_graphs_and_extreme_points_are_refused() {
    for graph in
        [vec![], vec![0.0, 1.0, f64::NAN], vec![0.0, 1.0, f64::INFINITY], vec![0.0, 4e9, 1.0], vec![0.0, 1e5, 1.0]]
    {
        assert!(Links::new(&graph, 3).is_err(), "{graph:?}");
    }
    let mut random = Random::new(24, 0);
    let mut values: Vec<f64> = (0..200).map(|_| random.unit()).collect();
    values.extend([1.7e308, 0.0]);
    let auto = AutoConfig::new().init().unwrap();
    let error = auto.cluster(&plane(values), &context(0)).unwrap_err().to_string();
    assert!(error.contains("have no distance"), "{error}");
}
