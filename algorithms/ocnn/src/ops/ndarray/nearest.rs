//! Nearest neighbours from all pairs.

use std::marker::PhantomData;

use firebox_backends::cpu::{BLOCK, Block, Blocks, Isa, Loop, Real, SimdLevel};
use firebox_core::watch::Watch;
use rayon::prelude::*;

use crate::types::Metric;

/// Queries per task, which share each block of points that is read.
const QUERIES: usize = 16;
/// Distances computed together: half a block, which fits vector registers in f32 and f64.
const LANES: usize = 32;

/// The k neighbours of each of q queries, nearest first.
#[derive(Debug, Clone)]
pub struct Found<E> {
    /// q × k.
    pub indices: Vec<u32>,
    /// q × k, squared where the metric is Euclidean.
    pub distances: Vec<E>,
}

/// The k nearest of `points`, d × n, to each of `queries`, d × q, the smaller index first among equals. With `own`,
/// query i is point `own` + i, which is excluded. k is at most the number of other points.
///
/// Distances are summed in order of the dimensions without fused operations, hence identical on every level.
///
/// # Panics
/// If the lengths do not fit.
pub fn nearest<E: Real>(
    level: SimdLevel,
    points: &[E],
    queries: &[E],
    q: usize,
    k: usize,
    metric: Metric,
    own: Option<usize>,
) -> Found<E> {
    let far = E::from_f64(f64::INFINITY);
    let mut found = Found { indices: vec![0; q * k], distances: vec![far; q * k] };
    if q * k == 0 {
        return found;
    }
    let d = queries.len() / q;
    let n = points.len().checked_div(d).unwrap_or(0);
    assert_eq!((queries.len(), points.len()), (d * q, d * n), "d numbers a point");
    let points = Blocks::pack(points, d, n);
    let lists = found.indices.par_chunks_mut(QUERIES * k).zip(found.distances.par_chunks_mut(QUERIES * k));
    let watch = Watch::current();
    lists.enumerate().for_each(|(task, (indices, distances))| {
        if watch.stopped() {
            return;
        }
        let first = task * QUERIES;
        let search =
            Search { points: &points, queries, q, k, first, own: own.map(|own| own + first), indices, distances };
        match metric {
            Metric::Euclidean => level.run(By(search, PhantomData::<Squares>)),
            Metric::Manhattan => level.run(By(search, PhantomData::<Sizes>)),
        }
    });
    found
}

/// Queries from `first` on against all points.
struct Search<'a, E> {
    points: &'a Blocks<E>,
    queries: &'a [E],
    q: usize,
    k: usize,
    first: usize,
    /// Index of the first query among the points, if queries are points.
    own: Option<usize>,
    indices: &'a mut [u32],
    distances: &'a mut [E],
}

/// The contribution of a dimension to a distance. A type, since the compiler may leave a closure's call out of line, where
/// it has no instruction set.
trait Term {
    fn of<E: Real>(delta: E) -> E;
}

struct Squares;

impl Term for Squares {
    #[inline(always)]
    fn of<E: Real>(delta: E) -> E {
        delta * delta
    }
}

struct Sizes;

impl Term for Sizes {
    #[inline(always)]
    fn of<E: Real>(delta: E) -> E {
        delta.abs()
    }
}

/// A search by distances of terms `T`.
struct By<'a, E, T>(Search<'a, E>, PhantomData<T>);

impl<E: Real, T: Term> Loop for By<'_, E, T> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        self.0.run::<T>();
    }
}

impl<E: Real> Search<'_, E> {
    #[inline(always)]
    fn run<T: Term>(self) {
        let Self { points, queries, q, k, first, own, indices, distances } = self;
        let count = indices.len() / k;
        let (d, n) = (points.rows(), points.columns());
        let queries: Vec<E> = (first..first + count).flat_map(|i| (0..d).map(move |c| queries[c * q + i])).collect();
        for b in 0..points.count() {
            let block = points.block(b);
            for (i, query) in queries.chunks_exact(d).enumerate() {
                let list = i * k..(i + 1) * k;
                let (indices, distances) = (&mut indices[list.clone()], &mut distances[list]);
                for half in 0..BLOCK / LANES {
                    let near = sums::<E, T>(block, half, query);
                    let worst = distances[k - 1];
                    if !near.iter().fold(false, |any, &near| any | (near < worst)) {
                        continue;
                    }
                    for (l, &near) in near.iter().enumerate() {
                        let j = b * BLOCK + half * LANES + l;
                        if near < distances[k - 1] && j < n && own.is_none_or(|own| own + i != j) {
                            insert(indices, distances, j as u32, near);
                        }
                    }
                }
            }
        }
    }
}

/// Distances of a query to half a block of points.
#[inline(always)]
fn sums<E: Real, T: Term>(block: &[Block<E>], half: usize, query: &[E]) -> [E; LANES] {
    let mut sums = [E::ZERO; LANES];
    for (row, &own) in block.iter().zip(query) {
        let row = &row.as_chunks::<LANES>().0[half];
        for l in 0..LANES {
            sums[l] = sums[l] + T::of(row[l] - own);
        }
    }
    sums
}

/// Inserts a point that is nearer than the last, after equally near ones.
fn insert<E: Real>(indices: &mut [u32], distances: &mut [E], index: u32, distance: E) {
    let mut place = distances.len() - 1;
    while place > 0 && distance < distances[place - 1] {
        distances[place] = distances[place - 1];
        indices[place] = indices[place - 1];
        place -= 1;
    }
    distances[place] = distance;
    indices[place] = index;
}
