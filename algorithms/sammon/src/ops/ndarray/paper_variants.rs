//! The paper's four variants, for comparison: `Auto` is faster.
//!
//! Rows: point-major layout. Columns: dimension-major layout. Full: all pairs of one point per task. Triangle: each
//! pair once, added to both of its points by compare-and-swap, so that the bits of a sum depend on the order of the
//! threads.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use firebox_backends::cpu::{BLOCK, Block, Isa, Loop, Real, SimdLevel, sum_lanes};
use rayon::prelude::*;

use super::{
    force_terms::{pair, with_force_terms},
    out_of_sample::all_others,
    source_distances::{Absolute, Dimension, SliceSource, Square, Tile},
    terms::{Lanes, PackedEmbedding, Power, Terms},
};
use crate::types::{Metric, Variant};

/// Pairs per task of a triangle.
const PAIRS: u64 = 1 << 14;

/// Source distances in the layout of a variant.
pub struct VariantSource<'a, E> {
    source: &'a SliceSource<'a, E>,
    /// Features in the variant's layout; empty if distances are stored.
    features: Matrix<E>,
    metric: Metric,
    variant: Variant,
}

/// Lanes of a sum along a row.
const LANES: usize = 32;

/// Coordinates of n points: in rows n × `stride`, with zeros after d coordinates, or else d × n.
struct Matrix<E> {
    values: Vec<E>,
    dimensions: usize,
    points: usize,
    stride: usize,
    rows: bool,
}

impl<E: Real> Matrix<E> {
    /// From coordinate k of point i, `of(k, i)`.
    fn new(dimensions: usize, points: usize, rows: bool, of: impl Fn(usize, usize) -> E) -> Self {
        // Padding is faster than a remainder loop; few dimensions are not summed in lanes.
        let stride = if dimensions < LANES { dimensions } else { dimensions.next_multiple_of(LANES) };
        let mut values = vec![E::ZERO; if rows { stride * points } else { dimensions * points }];
        for i in 0..points {
            for k in 0..dimensions {
                values[if rows { i * stride + k } else { k * points + i }] = of(k, i);
            }
        }
        Self { values, dimensions, points, stride, rows }
    }

    #[inline(always)]
    fn at(&self, k: usize, i: usize) -> E {
        if self.rows { self.values[i * self.stride + k] } else { self.values[k * self.points + i] }
    }

    /// Sum of `D` over the coordinates of points i and j.
    #[inline(always)]
    fn sum<I: Isa, D: Dimension>(&self, i: usize, j: usize) -> E {
        if !self.rows || self.dimensions < LANES {
            let mut total = E::ZERO;
            for k in 0..self.dimensions {
                total = D::add::<E, I>(self.at(k, i), self.at(k, j), total);
            }
            return total;
        }
        let (a, _) = self.values[i * self.stride..][..self.stride].as_chunks::<LANES>();
        let (b, _) = self.values[j * self.stride..][..self.stride].as_chunks::<LANES>();
        let mut lanes = [E::ZERO; LANES];
        for (a, b) in a.iter().zip(b) {
            for l in 0..LANES {
                lanes[l] = D::add::<E, I>(a[l], b[l], lanes[l]);
            }
        }
        // A copy: taking the address of the lanes would keep them in memory.
        sum_lanes(&mut { lanes })
    }
}

impl<'a, E: Real + AtomicFloat> VariantSource<'a, E> {
    /// Converts a source to the layout of a variant.
    pub fn new(source: &'a SliceSource<'a, E>, variant: Variant) -> Self {
        let (d, n, metric) = match source {
            SliceSource::Features(features) => (features.dimensions(), features.columns(), features.metric()),
            SliceSource::Inverse(_) => (0, 0, Metric::default()),
        };
        let features = Matrix::new(d, n, variant.rows(), |k, i| match source {
            SliceSource::Features(features) => features.coordinate(k, i),
            SliceSource::Inverse(_) => E::ZERO,
        });
        Self { source, features, metric, variant }
    }

    /// Writes F and e like [`steps::forces`](super::steps::forces).
    pub fn forces(
        &self,
        level: SimdLevel,
        multiplicity: &[E],
        power: f64,
        embedding: &[E],
        force: &mut [E],
        stress: &mut [E],
    ) {
        let n = multiplicity.len();
        let m = embedding.len().checked_div(n).unwrap_or(0);
        assert_eq!((force.len(), stress.len(), self.source.points()), (m * n, n, n), "a force for each point");
        let places = Matrix::new(m, n, self.variant.rows(), |k, i| embedding[k * n + i]);
        let pairs = Pairs { distances: self, places: &places, multiplicity, power: Power::new(power) };
        let put = |sums: &[E], i: usize, force: &mut [E], stress: &mut [E]| {
            for (k, &sum) in sums[..m].iter().enumerate() {
                force[k * n + i] = sum;
            }
            stress[i] = sums[m];
        };
        if self.variant.triangle() {
            let cells: Vec<E::Cell> = (0..n * (m + 1)).map(|_| Default::default()).collect();
            let all = n as u64 * (n as u64).saturating_sub(1) / 2;
            (0..all.div_ceil(PAIRS)).into_par_iter().for_each(|task| {
                let (first, last) = (task * PAIRS, all.min((task + 1) * PAIRS));
                level.run(Triangle { pairs: &pairs, first, last, cells: &cells });
            });
            for i in 0..n {
                let sums: Vec<E> = cells[i * (m + 1)..(i + 1) * (m + 1)].iter().map(E::get).collect();
                put(&sums, i, force, stress);
            }
            return;
        }
        let mut sums = vec![E::ZERO; n * (m + 1)];
        if self.variant.rows() {
            let tasks = sums.par_chunks_exact_mut(m + 1).enumerate();
            tasks.for_each(|(i, sums)| level.run(Point { pairs: &pairs, i, sums }));
        } else {
            let places = PackedEmbedding::new(embedding, multiplicity);
            with_force_terms!(m, power, false, pull => {
                let tasks = sums.par_chunks_mut(BLOCK * (m + 1)).enumerate();
                tasks.for_each_init(|| places.0.clone(), |others, (b, sums)| {
                    let others = others.all_mut();
                    level.run(Columns { source: self.source, terms: &pull, places: &places, others, b, sums });
                });
            });
        }
        for (i, sums) in sums.chunks_exact(m + 1).enumerate() {
            put(sums, i, force, stress);
        }
    }
}

/// Data of all pairs.
struct Pairs<'a, E> {
    distances: &'a VariantSource<'a, E>,
    places: &'a Matrix<E>,
    multiplicity: &'a [E],
    power: Power<E>,
}

impl<E: Real> Pairs<'_, E> {
    /// 1/δ of a pair, from the upper triangle.
    #[inline(always)]
    fn inverse<I: Isa>(&self, i: usize, j: usize) -> E {
        let features = &self.distances.features;
        let sum = match (self.distances.source, self.distances.metric) {
            (SliceSource::Inverse(stored), _) => return stored.of(i.min(j), i.max(j)),
            (_, Metric::Manhattan) => features.sum::<I, Absolute>(i, j),
            _ => features.sum::<I, Square>(i, j),
        };
        if sum < E::MIN_POSITIVE {
            return E::ZERO;
        }
        match self.distances.metric {
            Metric::Euclidean => sum.recip_sqrt::<I>(),
            Metric::Manhattan => sum.recip::<I>(),
            Metric::Cosine | Metric::Correlation => {
                let half = sum.recip::<I>();
                half + half
            }
        }
    }

    /// Force factor and stress of a pair, without multiplicities.
    #[inline(always)]
    fn terms<I: Isa>(&self, i: usize, j: usize) -> (E, E) {
        let r = self.inverse::<I>(i, j);
        if r == E::ZERO {
            return (E::ZERO, E::ZERO);
        }
        let square = self.places.sum::<I, Square>(i, j);
        pair::<E, I, false>(square, r, self.power.weight(r))
    }
}

/// Loop over all pairs of point i.
struct Point<'a, E> {
    pairs: &'a Pairs<'a, E>,
    i: usize,
    sums: &'a mut [E],
}

impl<E: Real> Loop for Point<'_, E> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let Self { pairs, i, sums } = self;
        let m = sums.len() - 1;
        let mut totals = vec![0.0; m + 1];
        for j in (0..pairs.places.points).filter(|&j| j != i) {
            let (pull, stress) = pairs.terms::<I>(i, j);
            let mu = pairs.multiplicity[j];
            for (k, total) in totals[..m].iter_mut().enumerate() {
                *total += (pull * mu * (pairs.places.at(k, i) - pairs.places.at(k, j))).into();
            }
            totals[m] += (stress * mu).into();
        }
        for (sum, total) in sums.iter_mut().zip(totals) {
            *sum = E::from_f64(total);
        }
    }
}

/// Loop over all pairs of 64 points.
struct Columns<'a, E, T> {
    source: &'a SliceSource<'a, E>,
    terms: &'a T,
    places: &'a PackedEmbedding<E>,
    others: &'a mut [Block<E>],
    b: usize,
    sums: &'a mut [E],
}

impl<E: Real, T: Terms<E>> Loop for Columns<'_, E, T> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let Self { source, terms, places, others, b, sums } = self;
        let width = terms.sums();
        let mut tile: Tile<E> = [Block::default(); BLOCK];
        let mut row = vec![Lanes::default(); width];
        let mut totals = vec![0.0; sums.len()];
        for (c, others) in others.chunks_exact_mut(places.0.rows()).enumerate() {
            source.prepare::<I>(b, c, &mut tile);
            for (r, totals) in totals.chunks_exact_mut(width).enumerate() {
                let inverse = source.row(b * BLOCK + r, c, &tile);
                all_others::<E, I, T>(terms, places.0.block(b), r, others, inverse, &mut row, totals);
            }
        }
        for (sum, total) in sums.iter_mut().zip(totals) {
            *sum = E::from_f64(total);
        }
    }
}

/// Loop over the pairs with indices `first`..`last`.
struct Triangle<'a, E: Real + AtomicFloat> {
    pairs: &'a Pairs<'a, E>,
    first: u64,
    last: u64,
    cells: &'a [E::Cell],
}

impl<E: Real + AtomicFloat> Loop for Triangle<'_, E> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let Self { pairs, first, last, cells } = self;
        let (places, n) = (pairs.places, pairs.places.points as u64);
        let width = places.dimensions + 1;
        for index in first..last {
            let (i, j) = decode(index, n);
            let (i, j) = (i as usize, j as usize);
            let (pull, stress) = pairs.terms::<I>(i, j);
            let (mu_i, mu_j) = (pairs.multiplicity[i], pairs.multiplicity[j]);
            let (own, other) = (&cells[i * width..][..width], &cells[j * width..][..width]);
            for k in 0..width - 1 {
                let force = pull * (places.at(k, i) - places.at(k, j));
                E::add_to(&own[k], force * mu_j);
                E::add_to(&other[k], -force * mu_i);
            }
            E::add_to(&own[width - 1], stress * mu_j);
            E::add_to(&other[width - 1], stress * mu_i);
        }
    }
}

/// The pair i < j < `n` with row-major index `index`. Exact in integers while (2n − 1)² fits u64.
///
/// i(2n − 1 − i)/2 pairs precede row i, so i is the largest integer with 2i ≤ 2n − 1 − √((2n − 1)² − 8·index); rounding
/// the right side down does not change it.
fn decode(index: u64, n: u64) -> (u64, u64) {
    let side = 2 * n - 1;
    let square = side * side - 8 * index;
    let floor = square.isqrt();
    let ceiling = floor + u64::from(floor * floor < square);
    let i = (side - ceiling) / 2;
    (i, index - i * (side - i) / 2 + i + 1)
}

/// A float with atomic addition.
pub trait AtomicFloat: Sized {
    /// Atomic cell of its bits.
    type Cell: Default + Send + Sync;
    /// Adds by compare-and-swap.
    fn add_to(cell: &Self::Cell, value: Self);
    /// Reads the sum.
    fn get(cell: &Self::Cell) -> Self;
}

macro_rules! atomic_float {
    ($float:ident, $cell:ident) => {
        impl AtomicFloat for $float {
            type Cell = $cell;

            #[inline(always)]
            fn add_to(cell: &$cell, value: Self) {
                // Relaxed, since the sums are read after all threads have joined.
                let mut old = cell.load(Relaxed);
                while let Err(now) =
                    cell.compare_exchange_weak(old, ($float::from_bits(old) + value).to_bits(), Relaxed, Relaxed)
                {
                    old = now;
                }
            }

            fn get(cell: &$cell) -> Self {
                $float::from_bits(cell.load(Relaxed))
            }
        }
    };
}

atomic_float!(f32, AtomicU32);
atomic_float!(f64, AtomicU64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_enumerate_all_pairs() {
        for n in 2..90 {
            let mut index = 0;
            for i in 0..n {
                for j in i + 1..n {
                    assert_eq!(decode(index, n), (i, j), "{n}");
                    index += 1;
                }
            }
        }
    }

    #[test]
    fn decoding_is_exact_at_row_ends_of_large_triangles() {
        for n in [4097, 65_537, 1 << 20, 3_999_999, 4_000_000u64] {
            let before = |i: u64| i * (2 * n - 1 - i) / 2;
            for i in (0..64).chain(n / 2 - 32..n / 2 + 32).chain(n - 65..n - 1) {
                assert_eq!(decode(before(i), n), (i, i + 1), "first of row {i} of {n}");
                assert_eq!(decode(before(i + 1) - 1, n), (i, n - 1), "last of row {i} of {n}");
            }
        }
    }
}
