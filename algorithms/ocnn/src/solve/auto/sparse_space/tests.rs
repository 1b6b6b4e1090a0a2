use std::sync::Arc;

use burn_ndarray::NdArray;
use firebox_core::{Error, Observer, data::Points, random::Random, watch::watched};

use super::*;
use crate::{
    config::Distance,
    solve::auto::{HostInput, distinct_points::DistinctPoints},
};

type B = NdArray<f64>;

/// Random rows, row-major, of which about `zeros` are 0 and one in ten is a multiple of another; none is zero.
fn dense(n: usize, d: usize, zeros: f64, signed: bool, seed: u64) -> Vec<f64> {
    let mut random = Random::new(seed, 0);
    let mut values = vec![0.0; n * d];
    for i in 0..n {
        if i % 10 == 9 {
            (0..d).for_each(|column| values[i * d + column] = 4.0 * values[i / 2 * d + column]);
            continue;
        }
        for column in 0..d {
            if random.unit() >= zeros || column == i % d {
                values[i * d + column] = if signed { random.normal() } else { 0.1 + random.unit() };
            }
        }
    }
    values
}

/// The nonzero values of row-major ones.
pub(crate) fn sparse(values: &[f64], d: usize) -> SparseRows {
    let (mut starts, mut indices, mut nonzero) = (vec![0], Vec::new(), Vec::new());
    for row in values.chunks(d) {
        for (column, value) in row.iter().enumerate().filter(|(_, value)| **value != 0.0) {
            indices.push(column as u32);
            nonzero.push(*value);
        }
        starts.push(nonzero.len());
    }
    SparseRows::new(starts, indices, nonzero, d).unwrap()
}

fn context() -> Context<B> {
    Context::new(Default::default())
}

fn nearest(space: &SparseSpace, k: usize) -> NeighbourLists {
    space.nearest(k, &context()).unwrap()
}

/// The lists by comparing all pairs of dense rows.
fn all_pairs(space: &SparseSpace, k: usize) -> NeighbourLists {
    let (n, d) = (space.rows.rows(), space.rows.columns());
    let mut values = vec![0.0; n * d];
    for i in 0..n {
        let (columns, row) = space.rows.row(i);
        columns.iter().zip(row).for_each(|(&column, value)| values[i * d + column as usize] = *value);
    }
    let mut lists = NeighbourLists { starts: vec![0], indices: Vec::new(), distances: Vec::new() };
    for (i, a) in values.chunks(d).enumerate() {
        let mut found = Vec::new();
        for (j, b) in values.chunks(d).enumerate() {
            if i != j && a.iter().zip(b).any(|(a, b)| *a != 0.0 && *b != 0.0) {
                let length = a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt();
                found.push((j as u32, 0.5 * length * length));
            }
        }
        found.sort_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
        found.truncate(k);
        lists.indices.extend(found.iter().map(|&(j, _)| j));
        lists.distances.extend(found.iter().map(|&(_, distance)| distance));
        lists.starts.push(lists.indices.len());
    }
    lists
}

#[test]
fn lists_are_bitwise_those_of_all_pairs() {
    for (n, d, zeros, signed) in [(2, 2, 0.0, true), (7, 3, 0.5, false), (60, 30, 0.8, true), (300, 70, 0.95, false)] {
        let (space, ..) = SparseSpace::new(sparse(&dense(n, d, zeros, signed, 1), d)).unwrap();
        for k in [1, 2, 5, 48, n] {
            assert_eq!(nearest(&space, k), all_pairs(&space, k), "{n} rows, k = {k}");
        }
    }
}

#[test]
fn equal_cosines_are_in_order_of_index() {
    // One column of all rows, and one of each row.
    let n = 50;
    let rows = (0..n).flat_map(|i| (0..n + 1).map(move |column| f64::from(u8::from(column == 0 || column == i + 1))));
    let (space, ..) = SparseSpace::new(sparse(&rows.collect::<Vec<_>>(), n + 1)).unwrap();
    let found = nearest(&space, 7);
    assert_eq!(found, all_pairs(&space, 7));
    assert_eq!(found.indices[found.first(0, 7)], [1, 2, 3, 4, 5, 6, 7]);
}

#[test]
fn products_that_underflow_count_once() {
    let tiny = 1e-300;
    let rows = [[1.0, 0.0, tiny, -tiny], [0.0, 1.0, -tiny, -tiny], [0.0, 1.0, tiny, tiny]].concat();
    let (space, ..) = SparseSpace::new(sparse(&rows[..8], 4)).unwrap();
    assert_eq!(nearest(&space, 3), all_pairs(&space, 3));
    assert_eq!(nearest(&space, 3).indices, [1, 0]);
    let (space, ..) = SparseSpace::new(sparse(&[&rows[..4], &rows[8..]].concat(), 4)).unwrap();
    assert_eq!(nearest(&space, 3).indices, [1, 0]);
}

#[test]
fn rows_without_a_common_column_are_not_neighbours() {
    // Rows 0 and 1 are orthogonal in common columns, rows 1 and 2 opposed; row 3 is alone.
    let rows = [[1.0, 1.0, 0.0, 0.0], [1.0, -1.0, 0.0, 0.0], [-1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 5.0]].concat();
    let (space, _, of_row) = SparseSpace::new(sparse(&rows, 4)).unwrap();
    let found = nearest(&space, 9);
    let of = |row: usize| {
        let list = found.first(of_row[row] as usize, 9);
        let name = |j: &u32| of_row.iter().position(|of| of == j).unwrap();
        found.indices[list.clone()].iter().map(name).zip(found.distances[list].iter().copied()).collect::<Vec<_>>()
    };
    let near = |found: Vec<(usize, f64)>, wanted: &[(usize, f64)]| {
        let same = |(a, b): (&(usize, f64), &(usize, f64))| a.0 == b.0 && (a.1 - b.1).abs() < 1e-15;
        found.len() == wanted.len() && found.iter().zip(wanted).all(same)
    };
    assert!(near(of(1), &[(0, 1.0), (2, 2.0)]), "{:?}", of(1));
    assert!(near(of(2), &[(0, 1.0), (1, 2.0)]), "{:?}", of(2));
    assert!(of(3).is_empty());
}

#[test]
fn equal_directions_are_one_neuron_in_any_order_of_rows() {
    let (n, d) = (200, 40);
    let values = dense(n, d, 0.9, true, 2);
    let (space, counts, of_row) = SparseSpace::new(sparse(&values, d)).unwrap();
    for i in 0..n {
        let origin = |i: usize| if i % 10 == 9 { i / 2 } else { i };
        let mut first = i;
        while origin(first) != first {
            first = origin(first);
        }
        assert_eq!(of_row[i], of_row[first], "row {i}");
    }
    assert_eq!(counts.len(), n - n / 10);
    assert_eq!(counts.iter().sum::<u32>(), n as u32);
    let reversed: Vec<f64> = values.chunks(d).rev().flatten().copied().collect();
    let (other, other_counts, mut other_of_row) = SparseSpace::new(sparse(&reversed, d)).unwrap();
    other_of_row.reverse();
    assert_eq!((other.rows, other_counts, other_of_row), (space.rows, counts, of_row));
}

#[test]
fn lists_are_those_of_dense_points() {
    for (n, d, zeros) in [(60, 30, 0.8), (300, 200, 0.9), (1000, 100, 0.95)] {
        let (k, values) = (24, dense(n, d, zeros, false, 3));
        let inputs =
            [HostInput::Points(Points::new(values.clone(), d).unwrap()), HostInput::Sparse(sparse(&values, d))];
        let [dense, sparse] = inputs.map(|input| {
            let distinct = DistinctPoints::new(input, None, Distance::Cosine, 0).unwrap();
            assert_eq!((distinct.power(), distinct.unit()), (2.0, 1.0));
            let near = distinct.near(k, &context()).unwrap().into_owned();
            // By the first row of each neuron, since their orders differ.
            let mut name = vec![usize::MAX; distinct.len()];
            distinct.of_point.iter().enumerate().for_each(|(i, &of)| name[of as usize] = name[of as usize].min(i));
            let mut lists: Vec<_> = (0..distinct.len())
                .map(|i| {
                    let list = near.first(i, k).map(|at| (near.distances[at], name[near.indices[at] as usize]));
                    // The dense lists also have orthogonal rows.
                    let mut list: Vec<(f64, usize)> = list.filter(|(distance, _)| *distance < 1.0 - 1e-9).collect();
                    list.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
                    (name[i], distinct.counts[i], list)
                })
                .collect();
            lists.sort_by_key(|list| list.0);
            lists
        });
        assert_eq!(sparse, dense, "{n} rows");
    }
}

#[test]
fn lists_do_not_depend_on_threads() {
    let (space, ..) = SparseSpace::new(sparse(&dense(500, 60, 0.9, true, 4), 60)).unwrap();
    let by = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| nearest(&space, 10))
    };
    assert_eq!(by(1), by(3));
}

#[test]
fn unsuitable_rows_are_refused() {
    let error = |values: &[f64]| {
        let found = SparseSpace::new(sparse(values, 2)).and_then(|(space, ..)| space.nearest(1, &context()));
        found.unwrap_err().to_string()
    };
    assert!(error(&[1.0, 1.0, 0.0, 0.0]).starts_with("row 2: a vector of zeros has no direction"));
    assert_eq!(error(&[1.0, 2.0, 2.0, 4.0, 8.0, 16.0]), "all 3 points are equal");
    assert!(error(&[1.0, 1e-200, 1.0, 2e-200]).contains("have no distance"));
}

struct Stop;

impl Observer for Stop {
    fn cancelled(&self) -> bool {
        true
    }
}

#[test]
fn the_search_is_cancelled() {
    let (space, ..) = SparseSpace::new(sparse(&dense(100, 20, 0.8, false, 5), 20)).unwrap();
    let stopped = |outcome: Result<NeighbourLists>| matches!(outcome, Err(Error::Cancelled));
    assert!(stopped(space.nearest(3, &context().observer(Arc::new(Stop)))));
    assert!(stopped(watched(Some(Arc::new(Stop)), || space.nearest(3, &context())).and_then(|outcome| outcome)));
}
