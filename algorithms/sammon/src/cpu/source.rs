//! 1/δ of blocks of pairs: computed from features, or read.

use std::array;

use firebox_backends::cpu::{BLOCK, Block, Blocks, Isa, Real};
use rayon::prelude::*;

use crate::ops::{CLOSE, Metric};

/// 1/δ between 64 points and 64 others, a block a point.
pub(super) type Tile<E> = [Block<E>; BLOCK];

/// Columns of a row-major matrix of `width` columns, in blocks, with rows of zeros below up to `rows`.
pub(super) fn gather<E: Real>(matrix: &[E], width: usize, rows: usize, columns: &[usize]) -> Blocks<E> {
    let mut blocks = Blocks::new(rows, columns.len());
    blocks.blocks_mut().zip(columns.par_chunks(BLOCK)).for_each(|(block, columns)| {
        for (block, row) in block.iter_mut().zip(matrix.chunks(width.max(1))) {
            for (value, &column) in block.iter_mut().zip(columns) {
                *value = row[column];
            }
        }
    });
    blocks
}

/// Points in the form the loops read: d rows of features and one of |x|².
#[derive(Debug, Clone)]
pub struct Features<E> {
    points: Blocks<E>,
    metric: Metric,
    gram: bool,
}

impl<E: Real> Features<E> {
    /// `points` is d × n, one row a dimension; `gram` as in [`Source::Features`](crate::ops::Source::Features).
    ///
    /// # Panics
    /// If `points` has another length.
    pub fn new(points: &[E], d: usize, n: usize, metric: Metric, gram: bool) -> Self {
        assert_eq!(points.len(), d * n, "n numbers for each dimension");
        Self::packed(Blocks::pack(points, d + 1, n), metric, gram)
    }

    /// From d rows and one more of zeros.
    pub(super) fn packed(mut points: Blocks<E>, metric: Metric, gram: bool) -> Self {
        let gram = gram && metric != Metric::Manhattan;
        if gram {
            points.blocks_mut().for_each(|block| {
                if let [rows @ .., norm] = block {
                    for row in rows {
                        for l in 0..BLOCK {
                            norm[l] = norm[l] + row[l] * row[l];
                        }
                    }
                }
            });
        }
        Self { points, metric, gram }
    }

    pub(super) fn columns(&self) -> usize {
        self.points.columns()
    }

    pub(super) fn dimensions(&self) -> usize {
        self.points.rows() - 1
    }

    pub(super) fn metric(&self) -> Metric {
        self.metric
    }

    /// Coordinate k of point i.
    pub(super) fn coordinate(&self, k: usize, i: usize) -> E {
        self.points.of(i)[k][i % BLOCK]
    }

    /// 1/δ between block `a` of these points and block `b` of `others`; 0 where δ = 0. With `own` both are the same
    /// points, and the diagonal is 0 whatever the rounding.
    #[inline(always)]
    pub(super) fn inverse<I: Isa>(&self, a: usize, others: &Self, b: usize, tile: &mut Tile<E>, own: bool) {
        let (rows, columns) = (self.points.block(a), others.points.block(b));
        let d = rows.len() - 1;
        tile.fill(Block::default());
        if self.gram {
            sum::<E, I, Product>(&rows[..d], &columns[..d], tile);
            for (r, row) in tile.iter_mut().enumerate() {
                let mut close = 0u32;
                for l in 0..BLOCK {
                    let both = rows[d][r] + columns[d][l];
                    row[l] = both - (row[l] + row[l]);
                    close += u32::from(row[l] < E::from_f64(f64::from(CLOSE)) * both);
                }
                // With itself a point is always close.
                if close > u32::from(own) {
                    again::<E, I>(rows, r, columns, row);
                }
            }
        } else if self.metric == Metric::Manhattan {
            sum::<E, I, Absolute>(&rows[..d], &columns[..d], tile);
        } else {
            sum::<E, I, Square>(&rows[..d], &columns[..d], tile);
        }
        for row in &mut *tile {
            match self.metric {
                Metric::Euclidean => invert(row, |x| x.recip_sqrt::<I>()),
                Metric::Manhattan => invert(row, |x| x.recip::<I>()),
                // δ is half the square.
                Metric::Cosine => invert(row, |x| {
                    let half = x.recip::<I>();
                    half + half
                }),
            }
        }
        if own {
            for (r, row) in tile.iter_mut().enumerate() {
                row[r] = E::ZERO;
            }
        }
    }
}

/// Below the smallest normal number a distance or its square counts as 0: denormals differ between backends.
#[inline(always)]
fn invert<E: Real>(row: &mut Block<E>, inverse: impl Fn(E) -> E) {
    for l in 0..BLOCK {
        let x = row[l];
        row[l] = if x >= E::MIN_POSITIVE { inverse(x) } else { E::ZERO };
    }
}

/// Squared distances from differences for the pairs of a row that are close.
#[inline(always)]
fn again<E: Real, I: Isa>(rows: &[Block<E>], r: usize, columns: &[Block<E>], row: &mut Block<E>) {
    let d = rows.len() - 1;
    for l in 0..BLOCK {
        if row[l] < E::from_f64(f64::from(CLOSE)) * (rows[d][r] + columns[d][l]) {
            row[l] = E::ZERO;
            for (a, b) in rows[..d].iter().zip(columns) {
                row[l] = Square::add::<E, I>(a[r], b[l], row[l]);
            }
        }
    }
}

/// What a dimension adds to a sum over dimensions.
pub(super) trait Dimension {
    fn add<E: Real, I: Isa>(a: E, b: E, sum: E) -> E;
}

pub(super) struct Square;
impl Dimension for Square {
    #[inline(always)]
    fn add<E: Real, I: Isa>(a: E, b: E, sum: E) -> E {
        E::fma::<I>(a - b, a - b, sum)
    }
}

pub(super) struct Absolute;
impl Dimension for Absolute {
    #[inline(always)]
    fn add<E: Real, I: Isa>(a: E, b: E, sum: E) -> E {
        sum + (a - b).abs()
    }
}

struct Product;
impl Dimension for Product {
    #[inline(always)]
    fn add<E: Real, I: Isa>(a: E, b: E, sum: E) -> E {
        E::fma::<I>(a, b, sum)
    }
}

/// Dimensions, and rows of a tile, that the innermost loop takes at once: a column is loaded once for all rows, a sum
/// once for all dimensions.
const AT_ONCE: (usize, usize) = (4, 4);

/// Adds all dimensions to a tile.
#[inline(always)]
fn sum<E: Real, I: Isa, D: Dimension>(rows: &[Block<E>], columns: &[Block<E>], tile: &mut Tile<E>) {
    const K: usize = AT_ONCE.0;
    let (rows, last_rows) = rows.as_chunks::<K>();
    let (columns, last_columns) = columns.as_chunks::<K>();
    for (rows, columns) in rows.iter().zip(columns) {
        sum_some::<E, I, D, K>(rows, columns, tile);
    }
    for (row, column) in last_rows.iter().zip(last_columns) {
        sum_some::<E, I, D, 1>(&[*row], &[*column], tile);
    }
}

#[inline(always)]
fn sum_some<E: Real, I: Isa, D: Dimension, const K: usize>(
    rows: &[Block<E>; K],
    columns: &[Block<E>; K],
    tile: &mut Tile<E>,
) {
    const R: usize = AT_ONCE.1;
    let (tile, _) = tile.as_chunks_mut::<R>();
    for (group, tile) in tile.iter_mut().enumerate() {
        let a: [[E; K]; R] = array::from_fn(|r| array::from_fn(|k| rows[k][group * R + r]));
        for l in 0..BLOCK {
            for r in 0..R {
                let mut sum = tile[r][l];
                for k in 0..K {
                    sum = D::add::<E, I>(a[r][k], columns[k][l], sum);
                }
                tile[r][l] = sum;
            }
        }
    }
}

/// Rows of 1/δ between a set of points and itself: `Source` on slices.
#[derive(Debug, Clone)]
pub enum Source<'a, E> {
    /// Computed.
    Features(Features<E>),
    /// Read.
    Inverse(Stored<'a, E>),
}

/// Rows of 1/δ, n numbers each: of all n points, or of some that follow each other. Symmetric: of all, the upper triangle
/// is read.
#[derive(Debug, Clone)]
pub struct Stored<'a, E> {
    rows: Vec<&'a [E]>,
    /// The point of the first.
    first: usize,
    points: usize,
}

impl<E: Real> Stored<'_, E> {
    /// Of the points i and j.
    #[inline(always)]
    pub(super) fn of(&self, i: usize, j: usize) -> E {
        self.rows[i - self.first][j]
    }
}

impl<'a, E: Real> Source<'a, E> {
    /// From blocks of consecutive rows of n numbers, the first that of point `first`.
    pub fn stored(blocks: impl IntoIterator<Item = &'a [E]>, first: usize, n: usize) -> Self {
        let rows = blocks.into_iter().flat_map(|block| block.chunks_exact(n.max(1))).collect();
        Self::Inverse(Stored { rows, first, points: n })
    }

    /// Points.
    pub fn points(&self) -> usize {
        match self {
            Self::Features(features) => features.columns(),
            Self::Inverse(stored) => stored.points,
        }
    }

    /// Blocks of columns to go through for a group of rows before the next group: those of rows that are read follow
    /// each other in memory, a tile that is computed is used up.
    pub(super) fn strip(&self) -> usize {
        match self {
            Self::Features(_) => 1,
            Self::Inverse(_) => 8,
        }
    }

    /// Computes 1/δ between blocks `a` and `b` into `tile`, if it must be computed.
    #[inline(always)]
    pub(super) fn prepare<I: Isa>(&self, a: usize, b: usize, tile: &mut Tile<E>) {
        if let Self::Features(features) = self {
            features.inverse::<I>(a, features, b, tile, a == b);
        }
    }

    /// 1/δ between point `i` and the points from block `b` on, those of that block only if they were computed, into `tile`.
    #[inline(always)]
    pub(super) fn row<'b>(&'b self, i: usize, b: usize, tile: &'b Tile<E>) -> &'b [E] {
        match self {
            Self::Features(_) => &*tile[i % BLOCK],
            Self::Inverse(stored) => &stored.rows[i - stored.first][b * BLOCK..],
        }
    }
}
