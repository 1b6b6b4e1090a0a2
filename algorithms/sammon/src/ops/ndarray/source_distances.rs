//! 1/δ of blocks of pairs: computed from features, or read.

use firebox_backends::cpu::{BLOCK, Block, Blocks, Isa, Loop, Real, SimdLevel, array};
use firebox_core::watch::Watch;
use rayon::prelude::*;

use crate::types::{CLOSE, Metric};

/// 1/δ between 64 row points and 64 column points, one block per row.
pub(super) type Tile<E> = [Block<E>; BLOCK];

/// Packs `columns` of a row-major matrix of `width` columns into blocks, padded with rows of zeros up to `rows`.
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

/// Points in blocks of 64: d rows of features and one of |x|².
#[derive(Debug, Clone)]
pub struct Features<E> {
    points: Blocks<E>,
    metric: Metric,
    gram: bool,
}

impl<E: Real> Features<E> {
    /// Packs `points`, d × n, one row per dimension; `gram` as in [`Source::Features`](crate::types::Source::Features).
    pub fn new(points: &[E], d: usize, n: usize, metric: Metric, gram: bool) -> Self {
        assert_eq!(points.len(), d * n, "n numbers for each dimension");
        Self::packed(Blocks::pack(points, d + 1, n), metric, gram)
    }

    /// From blocks of d rows and one more of zeros.
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

    /// 1/δ between block `a` of these points and block `b` of `others`; 0 where δ = 0. With `own` both blocks hold
    /// the same points, and the diagonal is exactly 0.
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
                // A point is always close to itself.
                if close > u32::from(own) {
                    recompute_close::<E, I>(rows, r, columns, row);
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
                Metric::Cosine | Metric::Correlation => invert(row, |x| {
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

/// Inverts a row, treating denormals as 0: their handling differs between backends.
#[inline(always)]
fn invert<E: Real>(row: &mut Block<E>, inverse: impl Fn(E) -> E) {
    for l in 0..BLOCK {
        let x = row[l];
        row[l] = if x >= E::MIN_POSITIVE { inverse(x) } else { E::ZERO };
    }
}

/// Recomputes the squared distances of close pairs of a row from differences.
#[inline(always)]
fn recompute_close<E: Real, I: Isa>(rows: &[Block<E>], r: usize, columns: &[Block<E>], row: &mut Block<E>) {
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

/// Term of one dimension in a sum over dimensions.
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

/// Dimensions and rows of a tile per iteration of the innermost loop: a column is loaded once for all rows, a sum once
/// for all dimensions.
const AT_ONCE: (usize, usize) = (4, 4);

/// Adds the terms of all dimensions to a tile.
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
        let a: [[E; K]; R] = array(|r| array(|k| rows[k][group * R + r]));
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

/// Writes 1/δ between r points `rows` and n `points` to `out`, r × n; 0 where δ = 0. With `first`, `rows` are the
/// points from index `first` on, and the entries of a point with itself are 0.
pub fn inverse_matrix<E: Real>(
    level: SimdLevel,
    rows: &Features<E>,
    points: &Features<E>,
    first: Option<usize>,
    out: &mut [E],
) {
    let n = points.columns();
    assert_eq!(out.len(), rows.columns() * n, "a number for each pair");
    if n > 0 {
        let watch = Watch::current();
        let blocks = out.par_chunks_mut(BLOCK * n).enumerate().filter(|_| !watch.stopped());
        blocks.for_each(|(a, out)| level.run(InverseRows { rows, points, first, a, out }));
    }
}

/// Block `a` of the rows: up to 64 rows of the matrix.
struct InverseRows<'a, E> {
    rows: &'a Features<E>,
    points: &'a Features<E>,
    first: Option<usize>,
    a: usize,
    out: &'a mut [E],
}

impl<E: Real> Loop for InverseRows<'_, E> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let Self { rows, points, first, a, out } = self;
        let n = points.columns();
        let mut tile: Tile<E> = [Block::default(); BLOCK];
        for b in 0..n.div_ceil(BLOCK) {
            rows.inverse::<I>(a, points, b, &mut tile, false);
            for (out, tile) in out.chunks_exact_mut(n).zip(&tile) {
                let out = &mut out[b * BLOCK..n.min((b + 1) * BLOCK)];
                out.copy_from_slice(&tile[..out.len()]);
            }
        }
        if let Some(first) = first {
            for (r, out) in out.chunks_exact_mut(n).enumerate() {
                out[first + a * BLOCK + r] = E::ZERO;
            }
        }
    }
}

/// Rows of the matrix 1/δ: [`types::Source`](crate::types::Source) on slices.
#[derive(Debug, Clone)]
pub enum SliceSource<'a, E> {
    /// Computed from features.
    Features(Features<E>),
    /// Stored.
    Inverse(Stored<'a, E>),
}

/// Stored rows of the symmetric matrix 1/δ, of all n points or of a contiguous range. Of a whole matrix only the upper
/// triangle is read.
#[derive(Debug, Clone)]
pub struct Stored<'a, E> {
    rows: Vec<&'a [E]>,
    /// Point of the first row.
    first: usize,
    points: usize,
}

impl<E: Real> Stored<'_, E> {
    /// 1/δ of points i and j.
    #[inline(always)]
    pub(super) fn of(&self, i: usize, j: usize) -> E {
        self.rows[i - self.first][j]
    }
}

impl<'a, E: Real> SliceSource<'a, E> {
    /// From blocks of consecutive rows of n numbers, starting with the row of point `first`.
    pub fn stored(blocks: impl IntoIterator<Item = &'a [E]>, first: usize, n: usize) -> Self {
        let rows = blocks.into_iter().flat_map(|block| block.chunks_exact(n.max(1))).collect();
        Self::Inverse(Stored { rows, first, points: n })
    }

    /// Number of points n.
    pub fn points(&self) -> usize {
        match self {
            Self::Features(features) => features.columns(),
            Self::Inverse(stored) => stored.points,
        }
    }

    /// Number of column blocks processed per group of rows: stored rows are contiguous in memory, a computed tile
    /// covers one block.
    pub(super) fn strip(&self) -> usize {
        match self {
            Self::Features(_) => 1,
            Self::Inverse(_) => 8,
        }
    }

    /// Computes 1/δ between blocks `a` and `b` into `tile`, unless it is stored.
    #[inline(always)]
    pub(super) fn prepare<I: Isa>(&self, a: usize, b: usize, tile: &mut Tile<E>) {
        if let Self::Features(features) = self {
            features.inverse::<I>(a, features, b, tile, a == b);
        }
    }

    /// 1/δ between point `i` and the points from block `b` on; of that block alone if they were computed into `tile`.
    #[inline(always)]
    pub(super) fn row<'b>(&'b self, i: usize, b: usize, tile: &'b Tile<E>) -> &'b [E] {
        match self {
            Self::Features(_) => &*tile[i % BLOCK],
            Self::Inverse(stored) => &stored.rows[i - stored.first][b * BLOCK..],
        }
    }
}
