//! Tree and pairs against each other and against the plain loops of [`crate::parity::reference`].

use firebox_core::random::Random;

use super::*;
use crate::parity::reference;

const METRICS: [Metric; 2] = [Metric::Euclidean, Metric::Manhattan];

/// Asserts that both searches agree with the reference, ties included, for `queries` or the points themselves.
fn agree(points: &[f64], queries: Option<&[f64]>, d: usize, k: usize) {
    let owns = if queries.is_some() { vec![None] } else { vec![Some(0), Some(points.len() / d / 3)] };
    for own in owns {
        agree_on(points, queries.unwrap_or(&points[own.unwrap_or(0) * d..]), d, k, own);
    }
}

fn agree_on(points: &[f64], queries: &[f64], d: usize, k: usize, own: Option<usize>) {
    let (n, q) = (points.len() / d, queries.len() / d);
    for metric in METRICS {
        let what = format!("{n} and {q} points in {d}-D, k = {k}, {metric:?}");
        let search = Search { points, queries, d, k, metric, own };
        let pairs = search.by_all_pairs();
        let (by_row, queries_by_row) = (columns(points, d), columns(queries, d));
        let wanted = reference::nearest(&by_row, n, &queries_by_row, q, k, metric, own);
        assert_eq!(pairs.indices, wanted, "{what}: pairs");
        for (place, (&j, &found)) in wanted.iter().zip(&pairs.distances).enumerate() {
            let distance = reference::distance(&by_row, n, j as usize, &queries_by_row, q, place / k, metric);
            assert_eq!(found, distance, "{what}: pairs");
        }
        if let Some(tree) = kd_tree::nearest(&search) {
            assert_eq!(tree, pairs, "{what}: tree");
        } else {
            assert!(d > TREE_DIMENSIONS, "{what}: no tree");
        }
    }
}

#[test]
fn random_points() {
    for d in 1..=10 {
        let mut random = Random::new(d as u64, 1);
        for n in [2, 3, 21, 33, 64, 300] {
            let points: Vec<f64> = (0..n * d).map(|_| random.unit()).collect();
            let others: Vec<f64> = (0..17 * d).map(|_| random.unit()).collect();
            for k in [1, 2, 20] {
                agree(&points, None, d, k.min(n - 1));
                agree(&points, Some(&others), d, k.min(n));
            }
        }
    }
}

/// Hundreds of points equal on an axis, with as many ties, and steps whose multiples are rounded.
#[test]
fn lattices() {
    for (d, side) in [(1, 200_usize), (2, 20), (3, 7), (8, 2)] {
        for step in [1.0, 0.1] {
            let row = |index: usize| (0..d).map(move |axis| step * (index / side.pow(axis as u32) % side) as f64);
            let points: Vec<f64> = (0..side.pow(d as u32)).flat_map(row).collect();
            for k in [1, 4, 5, 20, 32] {
                agree(&points, None, d, k);
                agree(&points, Some(&points[..d * 10]), d, k);
            }
        }
    }
}

#[test]
fn lines_and_equal_points() {
    let line: Vec<f64> = (0..700).flat_map(|i| [0.5, f64::from(i), 0.5]).collect();
    agree(&line, None, 3, 20);
    let equal = vec![0.25; 3 * 200];
    agree(&equal, None, 3, 20);
    agree(&equal, Some(&[0.25, 0.25, 0.25, 1.0, 1.0, 1.0]), 3, 20);
    let mut some_equal = line;
    some_equal.extend_from_slice(&equal);
    agree(&some_equal, None, 3, 32);
}

fn find(points: &[f64], queries: Option<&[f64]>, d: usize, k: usize, metric: Metric) -> Neighbours {
    let (own, queries) = (queries.is_none().then_some(0), queries.unwrap_or(points));
    Search { points, queries, d, k, metric, own }.run()
}

#[test]
fn distances_are_not_squared() {
    let points = [0.0, 0.0, 3.0, 4.0, 0.0, 1.0];
    let found = find(&points, None, 2, 2, Metric::Euclidean);
    assert_eq!((found.k, &found.indices[..2], &found.distances[..2]), (2, &[2, 1][..], &[1.0, 5.0][..]));
    let found = find(&points, Some(&[1.0, 1.0]), 2, 2, Metric::Manhattan);
    assert_eq!((found.indices, found.distances), (vec![2, 0], vec![1.0, 2.0]));
}

#[test]
fn few_points() {
    for (points, k) in [(&[][..], 0), (&[1.0], 0), (&[1.0, 2.0], 1)] {
        let found = find(points, None, 1, 5, Metric::Euclidean);
        assert_eq!((found.k, found.indices.len(), found.distances.len()), (k, k * points.len(), k * points.len()));
        let found = find(points, Some(&[0.0, 3.0]), 1, 5, Metric::Euclidean);
        assert_eq!((found.k, found.indices.len()), (points.len(), 2 * points.len()));
    }
    assert_eq!(find(&[1.0, 2.0], None, 1, 0, Metric::Manhattan).indices.len(), 0);
}
