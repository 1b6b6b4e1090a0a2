//! Nearest neighbours by a k-d tree.

use std::num::NonZero;

use firebox_core::watch::Watch;
use kiddo::{
    ImmutableKdTree,
    dist::{Manhattan, SquaredEuclidean},
};
use rayon::prelude::*;

use super::search::{Neighbours, Search};
use crate::types::Metric;

/// Largest dimension for a k-d tree; above, a query would visit most leaves.
pub(crate) const TREE_DIMENSIONS: usize = 8;

/// Bound of the relative difference between the tree's distances, summed in another order, and ours.
const SLACK: f64 = 1e-14;

/// The neighbours by a tree; Euclidean distances are squared. `None` above [`TREE_DIMENSIONS`], or if the tree cannot be
/// built.
pub(super) fn nearest(search: &Search) -> Option<Neighbours> {
    match search.d {
        1 => by_tree::<1>(search),
        2 => by_tree::<2>(search),
        3 => by_tree::<3>(search),
        4 => by_tree::<4>(search),
        5 => by_tree::<5>(search),
        6 => by_tree::<6>(search),
        7 => by_tree::<7>(search),
        TREE_DIMENSIONS => by_tree::<TREE_DIMENSIONS>(search),
        _ => None,
    }
}

fn by_tree<const D: usize>(&Search { points, queries, k, metric, own, .. }: &Search) -> Option<Neighbours> {
    let (points, _) = points.as_chunks::<D>();
    let (queries, _) = queries.as_chunks::<D>();
    // Leaves of the immutable tree hold any number of points that are equal on an axis; the mutable tree cannot split
    // such a bucket.
    let tree: ImmutableKdTree<f64, D> = ImmutableKdTree::new_from_slice(points).ok()?;
    // One more than needed, to detect ties with the last.
    let wanted = k + usize::from(own.is_some()) + 1;
    let count = NonZero::new(wanted)?;
    let mut found = Neighbours { k, indices: vec![0; queries.len() * k], distances: vec![0.0; queries.len() * k] };
    let watch = Watch::current();
    let rows = found.indices.par_chunks_mut(k).zip(found.distances.par_chunks_mut(k)).zip(queries).enumerate();
    rows.for_each_init(Vec::new, |near, (i, ((indices, distances), query))| {
        if watch.stopped() {
            return;
        }
        let mut keep = |items: &mut dyn Iterator<Item = usize>| {
            near.clear();
            near.extend(
                items
                    .filter(|&j| own.is_none_or(|own| j != own + i))
                    .map(|j| (distance(&points[j], query, metric), j as u32)),
            );
            near.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            near[k - 1].0
        };
        let first = match metric {
            Metric::Euclidean => tree.query(query).nearest_n::<SquaredEuclidean<f64>>(count).execute(),
            Metric::Manhattan => tree.query(query).nearest_n::<Manhattan<f64>>(count).execute(),
        };
        let last = keep(&mut first.iter().map(|item| item.item as usize));
        if first.len() == wanted && first[wanted - 1].distance * (1.0 - SLACK) <= last {
            let radius = last * (1.0 + SLACK);
            let all = match metric {
                Metric::Euclidean => tree.query(query).within::<SquaredEuclidean<f64>>(radius).execute(),
                Metric::Manhattan => tree.query(query).within::<Manhattan<f64>>(radius).execute(),
            };
            keep(&mut all.iter().map(|item| item.item as usize));
        }
        for ((index, distance), near) in indices.iter_mut().zip(distances).zip(&*near) {
            (*distance, *index) = *near;
        }
    });
    Some(found)
}

fn distance<const D: usize>(a: &[f64; D], b: &[f64; D], metric: Metric) -> f64 {
    let deltas = a.iter().zip(b).map(|(a, b)| a - b);
    match metric {
        Metric::Euclidean => deltas.fold(0.0, |sum, delta| sum + delta * delta),
        Metric::Manhattan => deltas.fold(0.0, |sum, delta| sum + delta.abs()),
    }
}
