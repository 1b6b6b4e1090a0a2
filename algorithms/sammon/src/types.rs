//! Arguments and results of the operations, and the input of a mapping.

use std::ops::Range;

use burn::tensor::{Tensor, backend::Backend, ops::FloatTensor};
use firebox_backends::DeviceLimits;
use firebox_core::{
    Result, Share,
    data::{Distances, Points},
    tensor::read_floats,
};
use serde::{Deserialize, Serialize};

/// Distribution of an iteration's pairs over GPU units: the paper's four variants, and Firebox's own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, clap::ValueEnum)]
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

impl std::fmt::Display for Variant {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Auto => "auto",
            Self::RowsFull => "rows-full",
            Self::RowsTriangle => "rows-triangle",
            Self::ColumnsFull => "columns-full",
            Self::ColumnsTriangle => "columns-triangle",
        })
    }
}

impl Variant {
    /// Whether each pair is computed once and added to both of its points by atomics.
    pub fn triangle(self) -> bool {
        matches!(self, Self::RowsTriangle | Self::ColumnsTriangle)
    }

    /// Whether the layout is point-major: a point's coordinates are contiguous.
    pub fn rows(self) -> bool {
        matches!(self, Self::RowsFull | Self::RowsTriangle)
    }
}

/// Distance δ between two points in the source space.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Metric {
    /// √Σ(a − b)².
    #[default]
    Euclidean,
    /// Σ|a − b|.
    Manhattan,
    /// 1 − cos(a, b). The operations expect features of length 1 and compute the equal Σ(a − b)²/2.
    Cosine,
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

/// Points to map.
#[derive(Debug, Clone, PartialEq)]
pub enum Data {
    /// Features; the metric is in the configuration.
    Features(Points),
    /// Pairwise distances.
    Distances(Distances),
}

/// Input of a [`Sammon`](crate::Sammon) mapping.
#[derive(Debug, Clone, PartialEq)]
pub struct SammonInput {
    /// The points.
    pub data: Data,
    /// Initial embedding for [`Start::Given`](crate::Start::Given), row-major N × m, in the unit of the input.
    pub start: Option<Vec<f64>>,
}

impl SammonInput {
    /// Reads points `[N, d]` from a tensor.
    ///
    /// # Errors
    /// If there are no points, or a number is not finite.
    pub fn features<B: Backend>(points: Tensor<B, 2>) -> Result<Self> {
        let [_, d] = points.dims();
        Points::new(read_floats(points, "reading")?, d).map(Self::from)
    }

    /// Sets the initial embedding, row-major N × m.
    pub fn starting_at(mut self, start: Vec<f64>) -> Self {
        self.start = Some(start);
        self
    }

    /// Number of points N.
    pub fn points(&self) -> usize {
        match &self.data {
            Data::Features(points) => points.rows,
            Data::Distances(distances) => distances.points(),
        }
    }
}

impl From<Points> for SammonInput {
    fn from(points: Points) -> Self {
        Self { data: Data::Features(points), start: None }
    }
}

impl From<Distances> for SammonInput {
    fn from(distances: Distances) -> Self {
        Self { data: Data::Distances(distances), start: None }
    }
}
