//! Arguments and results of the operations, and the points to map.

use std::{fmt, ops::Range};

use burn::tensor::ops::FloatTensor;
use firebox_backends::DeviceLimits;
use firebox_core::{
    Share,
    data::{Distances, Points},
};
use serde::{Deserialize, Serialize};

/// Distribution of an iteration's pairs over GPU units: the paper's four variants, and Firebox's own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "command", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum Variant {
    /// Tiles of pairs; deterministic.
    #[default]
    Auto,
    /// The paper's variant 1: point-major layout, one unit sums all pairs of a point.
    RowsFull,
    /// The paper's variant 2: point-major layout, each pair computed once and added to both of its points by atomics.
    /// Not deterministic: the order of the additions varies.
    RowsTriangle,
    /// The paper's variant 3: dimension-major layout, one unit sums all pairs of a point.
    ColumnsFull,
    /// The paper's variant 4: dimension-major layout, each pair once, added by atomics. Not deterministic.
    ColumnsTriangle,
}

impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

impl Variant {
    /// All variants.
    pub const ALL: [Self; 5] =
        [Self::Auto, Self::RowsFull, Self::RowsTriangle, Self::ColumnsFull, Self::ColumnsTriangle];

    /// Returns true if each pair is computed once and added to both of its points by atomics.
    pub fn triangle(self) -> bool {
        matches!(self, Self::RowsTriangle | Self::ColumnsTriangle)
    }

    /// Returns true if the layout is point-major: a point's coordinates are contiguous.
    pub fn rows(self) -> bool {
        matches!(self, Self::RowsFull | Self::RowsTriangle)
    }
}

/// Distance δ between two points in the source space.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "command", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum Metric {
    /// √Σ(a − b)².
    #[default]
    Euclidean,
    /// Σ|a − b|.
    Manhattan,
    /// 1 − cos(a, b). The operations expect features of length 1 and compute the equal Σ(a − b)²/2.
    Cosine,
    /// 1 − r of Pearson's correlation coefficient r: [`Cosine`](Self::Cosine) of vectors less their means, which is what
    /// the operations compute.
    Correlation,
}

impl Metric {
    /// Returns true for the metrics of vectors of length 1.
    pub(crate) fn of_directions(self) -> bool {
        matches!(self, Self::Cosine | Self::Correlation)
    }

    /// The metric that operations compute from prepared features.
    pub(crate) fn operation(self) -> Self {
        if self == Self::Correlation { Self::Cosine } else { self }
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// Source distances: computed in every iteration, or stored.
#[derive(Debug, Clone)]
pub enum Source<B: DeviceLimits> {
    /// Computed from features on the fly, without memory of n².
    Features {
        /// Features `[d, n]`, centred (of length 1 for [`Metric::Cosine`]).
        points: FloatTensor<B>,
        /// Their distance.
        metric: Metric,
        /// Compute squared distances from dot products, Σ(a − b)² = |a|² + |b|² − 2a·b: fewer operations. Pairs whose
        /// squared distance is below [`CLOSE`] of |a|² + |b|², where digits cancel, are recomputed from differences, so
        /// that equal points have distance 0. Ignored for [`Metric::Manhattan`].
        gram: bool,
    },
    /// 1/δ in blocks of consecutive rows, `[r, n]` each, r ≥ 1 unless n = 0; together the [`rows`] of the problem's
    /// share. The matrix is symmetric, 0 on the diagonal and for missing pairs. All blocks have the backend's float
    /// type, or all are f16, a storage type only: arithmetic uses the backend's float.
    Inverse(Vec<FloatTensor<B>>),
}

/// Fraction of |a|² + |b|² below which a squared distance from dot products has lost too many digits.
pub const CLOSE: f32 = 1.0 / 256.0;

/// Constants of a mapping on its device: all arguments of an iteration but the embedding.
#[derive(Debug, Clone)]
pub struct Problem<B: DeviceLimits> {
    /// Source distances.
    pub source: Source<B>,
    /// Multiplicities μ `[n]`: the number of equal input points that each point represents.
    pub multiplicity: FloatTensor<B>,
    /// Exponent p ≥ 0 of the weights δ^(−p).
    pub power: f64,
    /// Units per cube in the paper's variants; the paper uses 16, 32 and 64.
    pub units: u32,
    /// Share of the pairs that is summed: forces, stresses and measures of all shares add up to those of the whole.
    /// The paper's variants cannot be shared: a proper share always uses [`Variant::Auto`].
    pub share: Share,
}

/// Rows per unit of a [`Share`]; the last unit may have fewer.
pub const GROUP: usize = 64;

/// Rows of the n × n matrix 1/δ that a share stores in [`Source::Inverse`].
pub fn rows(share: Share, n: usize) -> Range<usize> {
    share.of_units(n, GROUP)
}

/// Points along each side of the tiles of pairs that a GPU computes at once.
pub(crate) const TILE: usize = 128;
/// Number of parts that is always allowed; fewer blocks would leave the device idle while the last ones end.
const FEW_PARTS: usize = 64;
/// Bytes of partial sums up to which there are more parts.
const PARTS_BYTES: usize = 1 << 24;

/// Tiles along each side of a block of pairs on a GPU, and the number of parts of `count` sums of `size` bytes for each
/// of `n` points, on a device whose largest buffer has `largest` bytes, one of `ranks`.
pub(crate) fn pair_blocks(n: usize, count: usize, size: usize, largest: u64, ranks: usize) -> (usize, usize) {
    let tiles = n.div_ceil(TILE).max(1);
    let part = (count * size * n).max(1);
    let most = usize::try_from(largest).unwrap_or(usize::MAX) / part;
    // The number of blocks grows with the square of the parts: each rank has at least as many as a single rank would.
    let few = FEW_PARTS * if ranks > 1 { (2 * ranks).isqrt() } else { 1 };
    let parts = (PARTS_BYTES / part).max(few).min(most).clamp(1, tiles);
    let side = tiles.div_ceil(parts);
    (side, tiles.div_ceil(side))
}

/// Forces and stresses of all points.
#[derive(Debug, Clone)]
pub struct Forces<B: DeviceLimits> {
    /// Forces F `[m, n]`.
    pub force: FloatTensor<B>,
    /// Stresses e `[n]`.
    pub stress: FloatTensor<B>,
}

/// Embedding after a number of steps, and the stresses on the way.
#[derive(Debug, Clone)]
pub struct Steps<B: DeviceLimits> {
    /// Embedding after the last step `[m, n]`.
    pub embedding: FloatTensor<B>,
    /// Stresses e before each step `[steps, n]`.
    pub stresses: FloatTensor<B>,
}

/// An epoch of block sampling.
#[derive(Debug, Clone, PartialEq)]
pub struct Epoch {
    /// Permutation of 0..n, cut into blocks. Block k is paired with block k + 1 if k is even, k − 1 if k is odd; the
    /// last of an odd number of blocks is paired with the first, which is not paired with it. A single block has no
    /// partner.
    pub order: Vec<u32>,
    /// Step length α: y_i ← y_i + α·F_i/Σ_j μ_j·w_ij, j over the partner block. A point without a pair there stays.
    pub alpha: f64,
}

/// Partner of `block` among `blocks` in an [`Epoch`].
pub fn partner(block: usize, blocks: usize) -> usize {
    if block % 2 == 1 {
        block - 1
    } else if block + 1 < blocks {
        block + 1
    } else {
        0
    }
}

/// Rows of the result of [`SammonOps::sammon_measure`](crate::SammonOps::sammon_measure).
pub const MEASURES: usize = 6;

/// Points to map, on the host.
#[derive(Debug, Clone, PartialEq)]
pub enum Data {
    /// Features; the metric is in the configuration.
    Features(Points),
    /// Pairwise distances.
    Distances(Distances),
}

impl Data {
    /// Number of points N.
    pub fn points(&self) -> usize {
        match self {
            Self::Features(points) => points.rows,
            Self::Distances(distances) => distances.points(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_cover_all_tiles_within_the_largest_buffer() {
        for n in [0, 1, 127, 128, 129, 1000, 10_000, 12_500, 100_000, 4_000_000] {
            for (count, size) in [(2, 4), (4, 4), (6, 8)] {
                for largest in [1 << 27, 1 << 33, u64::MAX] {
                    let (side, parts) = pair_blocks(n, count, size, largest, 1);
                    let tiles = n.div_ceil(TILE).max(1);
                    assert!(side * parts >= tiles && side * (parts - 1) < tiles, "{n}: {side} {parts}");
                    let bytes = parts * count * size * n;
                    assert!(parts == 1 || bytes as u64 <= largest, "{n}: {bytes}");
                    assert!(parts <= FEW_PARTS || bytes <= PARTS_BYTES, "{n}: {bytes}");
                }
            }
        }
        // One tile per block while memory allows.
        assert_eq!(pair_blocks(10_000, 4, 4, u64::MAX, 1), (1, 79));
        assert!(pair_blocks(12_500, 6, 4, u64::MAX, 1).0 > 1);
        for ranks in [2, 3, 5, 8, 64] {
            let each = |ranks: usize| pair_blocks(4_000_000, 4, 4, u64::MAX, ranks).1.pow(2) / ranks;
            assert!(each(ranks) >= each(1));
        }
    }
}
