//! The mean distance to the k nearest neighbours: a k-d tree in few dimensions, all pairs above.

use kiddo::{ImmutableKdTree, SquaredEuclidean};
use rayon::prelude::*;
use std::num::NonZero;

/// Above this many dimensions a k-d tree looks at most leaves anyway.
const TREE_DIMENSIONS: usize = 8;

/// Distances held at once by a task of the all-pairs search.
const TILE: usize = 1 << 20;

/// Mean over points of the mean distance to their k nearest other points.
///
/// `points`: row-major with d columns, coordinates in a range whose squares neither overflow nor matter when they underflow; distinct.
/// 1 ≤ k < n. The result depends on the order of the points by rounding only, on the number of threads not at all.
pub(super) fn mean(points: &[f64], d: usize, k: usize) -> f64 {
    let means = match d {
        1 => by_tree::<1>(points, k),
        2 => by_tree::<2>(points, k),
        3 => by_tree::<3>(points, k),
        4 => by_tree::<4>(points, k),
        5 => by_tree::<5>(points, k),
        6 => by_tree::<6>(points, k),
        7 => by_tree::<7>(points, k),
        TREE_DIMENSIONS => by_tree::<TREE_DIMENSIONS>(points, k),
        _ => None,
    };
    let means = means.unwrap_or_else(|| by_pairs(points, d, k));
    means.iter().sum::<f64>() / means.len() as f64
}

/// Per point the mean distance to its k nearest; None when no tree can be built.
fn by_tree<const D: usize>(points: &[f64], k: usize) -> Option<Vec<f64>> {
    let (rows, _) = points.as_chunks::<D>();
    // The immutable tree: its leaves may hold any number of points equal on an axis, where a bucket of the mutable one cannot be split.
    let tree: ImmutableKdTree<f64, D> = ImmutableKdTree::new_from_slice(rows).ok()?;
    let count = NonZero::new(k + 1)?;
    let mean = |(index, row): (usize, &[f64; D])| {
        let found = tree.query(row).nearest_n::<SquaredEuclidean<f64>>(count).execute();
        // The point itself is among the k + 1, unless as many others are at distance 0.
        let others = found.iter().filter(|near| near.item as usize != index).take(k);
        others.map(|near| near.distance.sqrt()).sum::<f64>() / k as f64
    };
    Some(rows.par_iter().enumerate().map(mean).collect())
}

/// The same from all pairs, a tile of points at a time so that each pass over the others serves several.
fn by_pairs(points: &[f64], d: usize, k: usize) -> Vec<f64> {
    let n = points.len() / d;
    let tile = (TILE / n).clamp(1, 8);
    let tiles = points.par_chunks(tile * d).enumerate();
    let means = tiles.flat_map_iter(|(index, queries)| {
        let first = index * tile;
        let mut squares = vec![0.0; (queries.len() / d) * n];
        for (column, other) in points.chunks_exact(d).enumerate() {
            for (row, query) in queries.chunks_exact(d).enumerate() {
                squares[row * n + column] = square_distance(query, other);
            }
        }
        for (row, squares) in squares.chunks_exact_mut(n).enumerate() {
            squares[first + row] = f64::INFINITY;
        }
        (0..queries.len() / d).map(move |row| {
            let squares = &mut squares[row * n..(row + 1) * n];
            squares.select_nth_unstable_by(k - 1, f64::total_cmp);
            // In order of size, so that equal distances in another order of points add up to the same.
            squares[..k].sort_unstable_by(f64::total_cmp);
            squares[..k].iter().map(|square| square.sqrt()).sum::<f64>() / k as f64
        })
    });
    means.collect()
}

/// Eight sums side by side, which the compiler turns into vector instructions.
fn square_distance(a: &[f64], b: &[f64]) -> f64 {
    let (a, a_rest) = a.as_chunks::<8>();
    let (b, b_rest) = b.as_chunks::<8>();
    let mut sums = [0.0; 8];
    for (a, b) in a.iter().zip(b) {
        for ((sum, x), y) in sums.iter_mut().zip(a).zip(b) {
            *sum += (x - y) * (x - y);
        }
    }
    let rest: f64 = a_rest.iter().zip(b_rest).map(|(x, y)| (x - y) * (x - y)).sum();
    sums.iter().sum::<f64>() + rest
}

#[cfg(test)]
mod tests {
    use super::super::tests::Random;
    use super::*;

    fn agree<const D: usize>(points: &[f64], k: usize) {
        let tree = by_tree::<D>(points, k).expect("a tree");
        let pairs = by_pairs(points, D, k);
        assert_eq!(tree.len(), pairs.len());
        for (index, (a, b)) in tree.iter().zip(&pairs).enumerate() {
            assert!((a - b).abs() <= 1e-12 * b, "point {index} in {D}-D, k = {k}: {a} by tree, {b} by pairs");
        }
    }

    #[test]
    fn tree_agrees_with_all_pairs() {
        fn check<const D: usize>() {
            let mut random = Random::new(40 + D as u64);
            for n in [2, 3, 21, 33, 64, 500] {
                let points: Vec<f64> = (0..n * D).map(|_| random.unit()).collect();
                for k in [1, 2, 20] {
                    agree::<D>(&points, k.min(n - 1));
                }
            }
        }
        check::<1>();
        check::<2>();
        check::<3>();
        check::<4>();
        check::<5>();
        check::<6>();
        check::<7>();
        check::<8>();
    }

    /// Hundreds of points equal on an axis, or on all axes but one.
    #[test]
    fn points_equal_on_an_axis() {
        fn lattice<const D: usize>(side: usize) -> Vec<f64> {
            let rows = (0..side.pow(D as u32))
                .map(|index| std::array::from_fn::<f64, D, _>(|axis| (index / side.pow(axis as u32) % side) as f64));
            rows.flatten().collect()
        }
        agree::<2>(&lattice::<2>(45), 20);
        agree::<3>(&lattice::<3>(12), 20);
        agree::<8>(&lattice::<8>(2), 20);
        let line: Vec<f64> = (0..2000).flat_map(|i| [0.5, i as f64, 0.5]).collect();
        agree::<3>(&line, 20);
        let equal = vec![0.25; 3 * 1000];
        assert_eq!(mean(&equal, 3, 20), 0.0);
    }
}
