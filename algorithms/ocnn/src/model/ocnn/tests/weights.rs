//! Weights of points against repeated points, and the shares of clusters.

use super::*;
use crate::{PaperConfig, model::Step};

/// A set of rows, the weight of each, and the same points as repeated rows.
struct Weighted {
    rows: Points,
    weights: Vec<u32>,
    /// The row of each repeated point; the first copies of all rows are in order.
    of_copy: Vec<usize>,
}

impl Weighted {
    /// Random weights up to 5 of rows of which some are equal; copies follow their row, or come after all rows.
    fn new(mut rows: Points, seed: u64) -> Self {
        let mut random = Random::new(seed, 7);
        let d = rows.columns;
        for row in 0..rows.rows / 20 {
            let (from, to) = (row * d, (rows.rows - 1 - 3 * row) * d);
            rows.values.copy_within(from..from + d, to);
        }
        let weights: Vec<u32> = (0..rows.rows).map(|_| [1, 1, 2, 5][random.below(4)]).collect();
        let times = |row: usize, less: u32| std::iter::repeat_n(row, (weights[row] - less) as usize);
        let of_copy = if seed.is_multiple_of(2) {
            (0..rows.rows).flat_map(|row| times(row, 0)).collect()
        } else {
            (0..rows.rows).chain((0..rows.rows).rev().flat_map(|row| times(row, 1))).collect()
        };
        Self { rows, weights, of_copy }
    }

    fn repeated(&self) -> Points {
        let values = self.of_copy.iter().flat_map(|&row| self.rows.row(row)).copied().collect();
        Points::new(values, self.rows.columns).unwrap()
    }
}

fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|value| value.to_bits()).collect()
}

fn steps(steps: &[Step]) -> Vec<u64> {
    let bits = |step: &Step| {
        let reals = [step.contrast, step.separation, step.evidence, step.probability, step.plateau, step.score]
            .map(f64::to_bits);
        [&[step.clusters as u64][..], &reals].concat()
    };
    steps.iter().flat_map(bits).collect()
}

/// Compares, bit by bit, a clustering of rows with weights with that of repeated rows.
fn assert_equal(weighted: &Clustering, repeated: &Clustering, set: &Weighted, what: &str) {
    let copies = |values: &[f64]| set.of_copy.iter().map(|&row| values[row].to_bits()).collect::<Vec<_>>();
    let labels: Vec<i64> = set.of_copy.iter().map(|&row| weighted.labels[row]).collect();
    assert_eq!(labels, repeated.labels, "{what}");
    assert_eq!((&weighted.sizes, weighted.noise()), (&repeated.sizes, repeated.noise()), "{what}");
    assert_eq!(copies(&weighted.memberships), bits(&repeated.memberships), "{what}");
    assert_eq!(copies(&weighted.outliers), bits(&repeated.outliers), "{what}");
    assert_eq!(steps(&weighted.steps), steps(&repeated.steps), "{what}");
    let reals = |it: &Clustering| bits(&[it.evidence, it.probability, it.chance, it.equal_contrast, it.plateau()]);
    assert_eq!(reals(weighted), reals(repeated), "{what}");
    assert_eq!(bits(&weighted.agreements), bits(&repeated.agreements), "{what}");
    assert_eq!((weighted.graphs, weighted.scales), (repeated.graphs, repeated.scales), "{what}");
    assert_eq!((&weighted.condensed, weighted.parts), (&repeated.condensed, repeated.parts), "{what}");
    assert_eq!((&weighted.trials, weighted.chosen), (&repeated.trials, repeated.chosen), "{what}");
    assert_eq!(weighted.halves, repeated.halves, "{what}");
    assert_eq!(weighted.linkage.len(), 4 * (set.rows.rows - 1), "{what}");
    for (copy, &row) in set.of_copy.iter().enumerate().step_by(7) {
        assert_eq!(bits(&weighted.shares.of_point(row)), bits(&repeated.shares.of_point(copy)), "{what}");
    }
}

#[test]
fn a_weight_is_a_number_of_equal_points() {
    let auto = OcnnConfig::new;
    let context = Context::new(Default::default());
    for (at, (config, shape, d)) in [
        (auto().with_seeds(3), Shape::Hepta, None),
        (auto(), Shape::Uniform, None),
        (auto(), Shape::Target, None),
        (auto().with_assign_all(true), Shape::Lsun, None),
        (auto().with_cut(Cut::Clusters(25)).with_seeds(3), Shape::Lsun, None),
        (auto().with_cut(Cut::Threshold(0.9)), Shape::Lsun, None),
        (auto().with_cut(Cut::Threshold(0.9)).with_assign_all(true), Shape::Lsun, None),
        (auto().with_sweep(true), Shape::Lsun, None),
        (auto().with_neighbours(Some(10)), Shape::TwoDiamonds, None),
        (auto().with_distance(Distance::Cosine), Shape::Tetra, None),
        (auto().with_distance(Distance::Manhattan), Shape::Uniform, Some(1)),
        (auto(), Shape::Blobs, Some(12)),
    ]
    .into_iter()
    .enumerate()
    {
        for seed in [at as u64, 100 + 3 * at as u64] {
            let points = if shape == Shape::Hepta { None } else { Some(300) };
            let set = Weighted::new(generate(shape, points, d, seed).unwrap(), seed);
            let input = OcnnInput::from(set.rows.clone()).with_weights(set.weights.clone());
            let [weighted, repeated] =
                [input, set.repeated().into()].map(|input| try_fit(&config, input, seed).unwrap());
            assert_equal(weighted.clustering(), repeated.clustering(), &set, &format!("{shape:?}, {config}"));
            if config.cut == Cut::Clusters(25) {
                assert!(weighted.clustering().agreements.iter().any(|&index| index < 1.0), "too few differences");
            }
            let new = generate(shape, Some(200), d, seed + 1).unwrap();
            let [one, other] = [weighted, repeated].map(|fitted| fitted.predict_with(new.clone(), &context).unwrap());
            assert_eq!(one, other, "{shape:?}, {config}");
        }
    }
}

#[test]
fn distances_and_graphs_have_weights_too() {
    let config = OcnnConfig::new().with_seeds(2);
    for seed in [2, 5] {
        let set = Weighted::new(generate(Shape::Hepta, None, None, seed).unwrap(), seed);
        let repeated = set.repeated();
        let length = |points: &Points, i: usize, j: usize| {
            let (a, b) = (points.row(i).iter(), points.row(j));
            a.zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
        };
        let pairs = |points: &Points| {
            let n = points.rows;
            (0..n * n).map(|at| (at / n, at % n, length(points, at / n, at % n))).collect::<Vec<_>>()
        };
        let matrix = |points: &Points| {
            let lengths = pairs(points).into_iter().map(|(_, _, length)| length).collect();
            OcnnInput::<B>::from(Distances::new(lengths, points.rows, points.rows).unwrap())
        };
        let graph = |points: &Points| {
            let some = pairs(points).into_iter().filter(|&(i, j, length)| i < j && length < 3.0);
            let edges: Vec<f64> = some.flat_map(|(i, j, length)| [i as f64, j as f64, length]).collect();
            OcnnInput::<B>::from(Links::new(&edges, 3).unwrap())
        };
        for (name, one, other) in
            [("matrix", matrix(&set.rows), matrix(&repeated)), ("graph", graph(&set.rows), graph(&repeated))]
        {
            let one = try_fit(&config, one.with_weights(set.weights.clone()), seed).unwrap();
            let other = try_fit(&config, other, seed).unwrap();
            assert_equal(one.clustering(), other.clustering(), &set, name);
        }
    }
}

#[test]
fn weights_that_do_not_suit_the_points_are_refused() {
    let points = || OcnnInput::<B>::from(Points::new((0..9).map(f64::from).collect(), 1).unwrap());
    let config = OcnnConfig::new();
    for (weights, expected) in [
        (vec![1; 8], "there are 8 weights for 9 points"),
        (vec![1, 1, 0, 1, 1, 1, 1, 1, 1], "row 3: the weight is 0"),
        (vec![u32::MAX; 9], "row 2: the weights up to this row have a sum above 4294967295"),
    ] {
        assert_eq!(try_fit(&config, points().with_weights(weights), 0).unwrap_err().to_string(), expected);
    }
    let largest = [vec![u32::MAX - 8], vec![1; 8]].concat();
    let found = try_fit(&config, points().with_weights(largest), 0).unwrap().into_clustering();
    assert_eq!(found.sizes.iter().sum::<usize>() + found.noise(), u32::MAX as usize);
    // Equal points, as one row and as two.
    for (rows, weights) in [(1, vec![5]), (2, vec![2, 3])] {
        let input = OcnnInput::<B>::from(Points::new(vec![1.0; rows], 1).unwrap()).with_weights(weights);
        let error = try_fit(&config, input, 0).unwrap_err().to_string();
        assert!(error.ends_with("points are equal"), "{rows} rows: {error}");
    }
    let one = OcnnInput::<B>::from(Points::new(vec![1.0], 1).unwrap()).with_weights(vec![1]);
    assert_eq!(try_fit(&config, one, 0).unwrap().count(), 1);
    let paper = PaperConfig::new(0.8).init().unwrap();
    let error = paper.fit_with(points().with_weights(vec![1; 9]), &Context::new(Default::default())).unwrap_err();
    assert_eq!(error.to_string(), "the paper's network takes no weights");
}

#[test]
fn points_well_inside_a_cluster_have_their_largest_share_of_it() {
    for (shape, config) in [
        (Shape::Hepta, OcnnConfig::new()),
        (Shape::Lsun, OcnnConfig::new()),
        (Shape::Target, OcnnConfig::new()),
        (Shape::Target, OcnnConfig::new().with_cut(Cut::Threshold(0.97))),
        (Shape::Uniform, OcnnConfig::new()),
    ] {
        let found = try_fit(&config, generate(shape, None, None, 3).unwrap(), 1).unwrap().into_clustering();
        let shares = found.shares.matrix().unwrap();
        assert_eq!(shares.len(), found.labels.len() * found.count());
        for (point, row) in shares.chunks(found.count()).enumerate() {
            assert!((row.iter().sum::<f64>() - 1.0).abs() < 1e-12, "{shape:?}, {point}: {row:?}");
            assert!(row.iter().all(|share| (0.0..=1.0).contains(share)), "{shape:?}, {point}: {row:?}");
        }
        if let Cut::Threshold(_) = config.cut {
            // Isolated points belong to all clusters alike, and clusters of a few points are all rim.
            let alone = found.labels.iter().position(|&label| label < 0).unwrap();
            assert!(found.shares.of_point(alone).iter().all(|&share| share < 1.0), "{shape:?}");
            continue;
        }
        let inside = |point: usize| found.labels[point] >= 0 && found.outliers[point] < 0.3;
        for point in (0..found.labels.len()).filter(|&point| inside(point)) {
            let row = found.shares.of_point(point);
            let largest = row.iter().copied().fold(0.0, f64::max);
            assert_eq!(row[found.labels[point] as usize], largest, "{shape:?}, {point}: {row:?}");
        }
        assert!((0..found.labels.len()).filter(|&point| inside(point)).count() > found.labels.len() / 2, "{shape:?}");
    }
}
