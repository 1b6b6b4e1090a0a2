//! The hot loops as operations on a backend: signatures here, one implementation per kind of backend.
//!
//! | backend | implementation |
//! |---|---|
//! | `NdArray` | `cpu`: rayon and SIMD over slices |
//! | `CubeBackend` (CUDA, wgpu, ROCm) | `kernel`: CubeCL |
//! | `Fusion<B>` | `fusion`: queued, then `B`'s |
//! | any other | the default bodies: tensor operations, block by block |
//!
//! Shapes: n points, d source dimensions, m target dimensions. Features and embeddings are *dimension-major*, `[d, n]`
//! and `[m, n]`, d and m at least 1. n may be 0, and steps too: results then have shapes with a 0 in them. A point may
//! stand for several equal ones: μ_j ≥ 1 of them.
//!
//! With δ_ij the source distance, d_ij = |y_i − y_j| the target distance and w_ij = δ_ij^(−p) the weight of a pair
//! (p = 1 is Sammon's; 0 for i = j, for δ_ij = 0 and for a missing pair):
//!
//! - force F_i = Σ_j μ_j·w_ij·(δ_ij − d_ij)/d_ij·(y_i − y_j), eq. (3) without its step; coincident y add nothing;
//! - stress e_i = Σ_j μ_j·w_ij·(δ_ij − d_ij)²; E = Σ_i μ_i·e_i / (2c), c = Σ_{i<j} μ_i·μ_j·w_ij·δ_ij², which for p = 1
//!   is eq. (1)'s Σ δ.
//!
//! Inputs are in units in which a source distance is about 1, and features are centred, so that no f32 overflows.

use std::ops::Range;

use burn::tensor::ops::FloatTensor;
use firebox_backends::Limited;
use firebox_core::{Error, Result, Share};
use serde::{Deserialize, Serialize};

use crate::tensor_ops;

/// How the work of an iteration is shared: the paper's four ways, and Firebox's own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Variant {
    /// Tiles of pairs, deterministic: same input, same bits.
    #[default]
    Auto,
    /// The paper's 1: points in rows, one unit sums all of a point's pairs.
    RowsFull,
    /// The paper's 2: points in rows, each pair once, added to both of its points by atomics. Not deterministic: the
    /// order of the additions varies.
    RowsTriangle,
    /// The paper's 3: coordinates in rows, one unit sums all of a point's pairs.
    ColumnsFull,
    /// The paper's 4: coordinates in rows, each pair once, added by atomics. Not deterministic.
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
    /// Whether each pair is computed once and added to both points by atomics.
    pub fn triangle(self) -> bool {
        matches!(self, Self::RowsTriangle | Self::ColumnsTriangle)
    }

    /// Whether a point's coordinates lie together.
    pub fn rows(self) -> bool {
        matches!(self, Self::RowsFull | Self::RowsTriangle)
    }
}

/// The distance of two points in the source space.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Metric {
    /// √Σ(a − b)².
    #[default]
    Euclidean,
    /// Σ|a − b|.
    Manhattan,
    /// 1 − cos(a, b). The operations expect features of length 1 and compute Σ(a − b)²/2, which is the same.
    Cosine,
}

/// Where source distances come from in every iteration.
#[derive(Debug, Clone)]
pub enum Source<B: Limited> {
    /// Computed from features as they are needed: no memory of n².
    Features {
        /// Features `[d, n]`, centred (of length 1 for [`Metric::Cosine`]).
        points: FloatTensor<B>,
        /// The distance between them.
        metric: Metric,
        /// Through dot products, Σ(a − b)² = |a|² + |b|² − 2a·b: fewer operations. Pairs so close that digits would
        /// cancel (less than [`CLOSE`] of |a|² + |b|²) are computed again from differences, so that equal points are
        /// at 0. For Euclidean and cosine; Manhattan has no such form and takes no notice.
        gram: bool,
    },
    /// 1/δ in blocks of consecutive rows, `[r, n]` each, r ≥ 1 unless n = 0, in all the [`rows`] of the problem's share,
    /// which for the whole are n: symmetric, 0 on the diagonal and where there is no pair. Blocks are all of the backend's float or all of f16, which is for storage
    /// only: what is computed is of the backend's float.
    Inverse(Vec<FloatTensor<B>>),
}

/// Below this share of |a|² + |b|² a squared distance from dot products has lost too many digits.
pub const CLOSE: f32 = 1.0 / 256.0;

/// A problem on its device: what an iteration needs besides the embedding.
#[derive(Debug, Clone)]
pub struct Problem<B: Limited> {
    /// Source distances.
    pub source: Source<B>,
    /// μ, how many equal points each stands for `[n]`.
    pub multiplicity: FloatTensor<B>,
    /// p ≥ 0 in the weights δ^(−p).
    pub power: f64,
    /// Units of a cube in the paper's variants; the paper tries 16, 32 and 64.
    pub units: u32,
    /// Which pairs are added up: of a part, forces, stresses and measures are such that those of all parts add up to
    /// those of the whole. The paper's variants know no parts: a part is always [`Variant::Auto`]'s.
    pub share: Share,
}

/// Shares of rows are groups of so many, and what is left.
pub const GROUP: usize = 64;

/// The rows of 1/δ between `n` points that a share has in [`Source::Inverse`].
pub fn rows(share: Share, n: usize) -> Range<usize> {
    share.of_units(n, GROUP)
}

/// What all pairs do to each point.
#[derive(Debug, Clone)]
pub struct Forces<B: Limited> {
    /// F `[m, n]`.
    pub force: FloatTensor<B>,
    /// e `[n]`.
    pub stress: FloatTensor<B>,
}

/// An epoch of block sampling.
#[derive(Debug, Clone, PartialEq)]
pub struct Epoch {
    /// A permutation of 0..n. It is cut into blocks; block k meets block k + 1 if k is even, k − 1 if k is odd; the
    /// last of an odd number of blocks meets the first, which does not meet it. A single block meets none.
    pub order: Vec<u32>,
    /// α: y_i ← y_i + α·F_i/Σ_j μ_j·w_ij, j over the block met. A point that has no pair there stays.
    pub alpha: f64,
}

/// The block that `block` of `blocks` meets in an [`Epoch`].
pub fn partner(block: usize, blocks: usize) -> usize {
    if block % 2 == 1 {
        block - 1
    } else if block + 1 < blocks {
        block + 1
    } else {
        0
    }
}

/// Rows of [`SammonOps::sammon_measure`]'s result.
pub const MEASURES: usize = 6;

/// The hot loops of Sammon mapping on a backend. Every default body is in plain tensor operations with memory for a
/// block of rows; backends with kernels override all of them.
pub trait SammonOps: Limited {
    /// Checks a way to share the work against the device; the name of what will run.
    fn sammon_strategy(device: &Self::Device, variant: Variant) -> Result<&'static str> {
        let _ = device;
        if variant == Variant::Auto { Ok("tensor operations") } else { Err(no_variants(variant)) }
    }

    /// 1/δ between `rows` `[d, r]` and `points` `[d, n]` as `[r, n]`; 0 where δ = 0. With `first`, `rows` are the
    /// points from that one on, and no point is paired with itself.
    fn sammon_inverse(
        rows: FloatTensor<Self>,
        points: FloatTensor<Self>,
        first: Option<usize>,
        metric: Metric,
    ) -> FloatTensor<Self> {
        tensor_ops::inverse::<Self>(rows, points, first, metric)
    }

    /// F and e of an embedding `[m, n]`.
    fn sammon_forces(problem: &Problem<Self>, embedding: FloatTensor<Self>, variant: Variant) -> Forces<Self> {
        let _ = variant;
        tensor_ops::forces::<Self>(problem, embedding)
    }

    /// `steps` steps y_i ← y_i + rate_i·F_i from an embedding `[m, n]` with `rates` `[n]`: the embedding after them,
    /// and the stress e before each, `[steps, n]`.
    fn sammon_steps(
        problem: &Problem<Self>,
        embedding: FloatTensor<Self>,
        rates: FloatTensor<Self>,
        steps: usize,
        variant: Variant,
    ) -> Forces<Self> {
        let _ = variant;
        tensor_ops::steps::<Self>(problem, embedding, rates, steps)
    }

    /// Sums over each point's pairs, `[6, n]`: Σ μ_j·w, Σ μ_j·w·δ², Σ μ_j·w·δ·d, Σ μ_j·w·d², Σ μ_j·(δ − d)²,
    /// Σ μ_j·d², all over pairs that are there: i ≠ j, not missing, δ ≠ 0.
    fn sammon_measure(problem: &Problem<Self>, embedding: FloatTensor<Self>) -> FloatTensor<Self> {
        tensor_ops::measure::<Self>(problem, embedding)
    }

    /// `epochs` of block sampling from an embedding `[m, n]`, over features `[d, n]` and blocks of `block` ≥ 1 points,
    /// the last of what is left; all points move at once in an epoch. Gives the embedding after the last.
    fn sammon_sampled(
        points: FloatTensor<Self>,
        metric: Metric,
        multiplicity: FloatTensor<Self>,
        power: f64,
        embedding: FloatTensor<Self>,
        epochs: &[Epoch],
        block: usize,
    ) -> FloatTensor<Self> {
        tensor_ops::sampled::<Self>(points, metric, multiplicity, power, embedding, epochs, block)
    }

    /// New points among fixed ones, each by itself: `steps` steps y_q ← y_q + F_q/Σ_j μ_j·w_qj from `embedding`
    /// `[m, q]`, with 1/δ to the fixed points `inverse` `[q, n]`, of the backend's float, and their places `fixed`
    /// `[m, n]`. Gives the places, and the stress e before each step, `[steps, q]`. None makes a point's stress larger:
    /// each step is to the minimum of a parabola above it. A point that has no pair stays.
    fn sammon_place(
        inverse: FloatTensor<Self>,
        multiplicity: FloatTensor<Self>,
        power: f64,
        fixed: FloatTensor<Self>,
        embedding: FloatTensor<Self>,
        steps: usize,
    ) -> Forces<Self> {
        tensor_ops::place::<Self>(inverse, multiplicity, power, fixed, embedding, steps)
    }
}

/// The error of a backend whose iterations are not shared among units.
pub(crate) fn no_variants(variant: Variant) -> Error {
    Error::Config {
        field: "variant",
        value: variant.to_string(),
        reason: "this backend has tensor operations only; leave it at auto".into(),
    }
}

#[cfg(feature = "flex")]
impl SammonOps for burn_flex::Flex {}
