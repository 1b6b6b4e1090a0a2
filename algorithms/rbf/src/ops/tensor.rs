//! Default bodies of [`RbfOps`] in tensor operations, for any Burn backend.
//!
//! Intermediate memory is limited to a block of rows of A.
//!
//! [`RbfOps`]: crate::ops::RbfOps

use std::ops::Range;

use burn::tensor::{DType, FloatDType, Tensor, backend::Backend, ops::FloatTensor};
use firebox_backends::DeviceLimits;
pub(crate) use firebox_core::tensor::into_primitive as primitive;
use firebox_core::tensor::tensor as float;

use crate::types::{Aim, Extent, Rows, Shape, Strategy, Term, Way};

/// Maximum number of elements per block: 4 MiB of f32.
pub(super) const BLOCK: usize = 1 << 20;
/// Approximate number of blocks alive at a time.
const LIVE_BLOCKS: u128 = 12;

pub(crate) fn strategy(extent: &Extent) -> Strategy {
    let block = (extent.rows() * extent.neurons).min(BLOCK.max(extent.neurons)) as u128;
    let scratch = LIVE_BLOCKS * block + extent.rows() as u128;
    Strategy { descend: Way::TensorOperations, conjugate: Way::TensorOperations, scratch }
}

/// Zeros with the device and float of `like`.
fn zeros<B: Backend, const D: usize, const K: usize>(shape: [usize; D], like: &Tensor<B, K>) -> Tensor<B, D> {
    Tensor::zeros(shape, (&like.device(), like.dtype()))
}

/// `[0]` as a view of `[m]`, since CUDA cannot fill empty tensors. The cast is for NdArray, whose empty views are
/// always f32.
pub(super) fn empty<B: Backend>(like: &Tensor<B, 1>) -> Tensor<B, 1> {
    let float = if like.dtype() == DType::F64 { FloatDType::F64 } else { FloatDType::F32 };
    like.clone().slice(0..0).cast(float)
}

/// α or γ at a block of conditions.
enum Factor<B: Backend> {
    Zero,
    One,
    /// `[r, 1]`
    Each(Tensor<B, 2>),
}

impl<B: Backend> Factor<B> {
    /// The factor times `term`, which is computed unless the factor is 0.
    fn times(&self, term: impl FnOnce() -> Tensor<B, 2>) -> Option<Tensor<B, 2>> {
        match self {
            Self::Zero => None,
            Self::One => Some(term()),
            Self::Each(values) => Some(term() * values.clone()),
        }
    }
}

/// Sum of the terms that are present.
fn sum<B: Backend>(terms: impl IntoIterator<Item = Option<Tensor<B, 2>>>) -> Option<Tensor<B, 2>> {
    terms.into_iter().flatten().reduce(|a, b| a + b)
}

/// A block of r conditions and all m neurons. Matrices are `[r, m]`.
struct Block<B: Backend> {
    /// x − c per coordinate.
    across: Vec<Tensor<B, 2>>,
    /// 1/a² `[1, m]`.
    over: Tensor<B, 2>,
    /// s.
    ratio: Tensor<B, 2>,
    phi: Tensor<B, 2>,
    alpha: Factor<B>,
    /// `[r, 1]` per coordinate; empty without β.
    beta: Vec<Tensor<B, 2>>,
    gamma: Factor<B>,
}

impl<B: DeviceLimits> Block<B> {
    fn new(rows: &Rows<B>, shape: &Shape<B>, range: Range<usize>) -> Self {
        let (points, centres) = (float::<B, 2>(rows.points.clone()), float::<B, 2>(shape.centres.clone()));
        let [d, m] = centres.dims();
        let widths = float::<B, 1>(shape.widths.clone()).reshape([1, m]);
        let column =
            |of: &Tensor<B, 2>, k: usize| of.clone().slice([k..k + 1, range.clone()]).reshape([range.len(), 1]);
        // By division: `recip` on NdArray is the processor's estimate with 12 bits.
        let square = widths.clone() * widths;
        let over = square.ones_like() / square.clone();
        let across: Vec<_> = (0..d).map(|k| column(&points, k) - centres.clone().slice([k..k + 1, 0..m])).collect();
        let distance = sum(across.iter().map(|delta| Some(delta.clone() * delta.clone())));
        let ratio = distance.unwrap_or_else(|| zeros([range.len(), m], &over)) / square;

        let coefficients = rows.coefficients.clone().map(float::<B, 2>);
        let mut row = 0;
        let mut next = || {
            row += 1;
            coefficients.as_ref().map(|all| column(all, row - 1))
        };
        let factor = |term, next: &mut dyn FnMut() -> Option<Tensor<B, 2>>| match term {
            Term::Zero => Factor::Zero,
            Term::One => Factor::One,
            Term::Each => next().map_or(Factor::Zero, Factor::Each),
        };
        let alpha = factor(rows.form.laplacian, &mut next);
        let beta = if rows.form.gradient { (0..d).filter_map(|_| next()).collect() } else { Vec::new() };
        let gamma = factor(rows.form.value, &mut next);
        Self { phi: ratio.clone().neg().exp(), across, over, ratio, alpha, beta, gamma }
    }

    fn dims(&self) -> f64 {
        self.across.len() as f64
    }

    /// β·(x − c)/a²; `None` without β.
    fn drift(&self) -> Option<Tensor<B, 2>> {
        let along = sum(self.beta.iter().zip(&self.across).map(|(b, x)| Some(x.clone() * b.clone())))?;
        Some(along * self.over.clone())
    }

    /// α(4s − `less`)/a² − 2β·(x − c)/a² + γ; `None` where it is 0.
    fn bracket(&self, less: f64) -> Option<Tensor<B, 2>> {
        let curvature = || self.ratio.clone().mul_scalar(4.0).sub_scalar(less) * self.over.clone();
        let drift = self.drift().map(|drift| drift.mul_scalar(-2.0));
        sum([self.alpha.times(curvature), drift, self.gamma.times(|| self.phi.ones_like())])
    }

    /// Lφ.
    fn matrix(&self) -> Tensor<B, 2> {
        self.bracket(2.0 * self.dims()).map_or_else(|| self.phi.zeros_like(), |bracket| self.phi.clone() * bracket)
    }

    /// ∂(Lφ)/∂c over 2φ/a² per coordinate; `None` where it is 0.
    fn pulls(&self) -> Vec<Option<Tensor<B, 2>>> {
        let bracket = self.bracket(2.0 * self.dims() + 4.0);
        let pull = |(k, delta): (usize, &Tensor<B, 2>)| {
            sum([
                bracket.clone().map(|bracket| bracket * delta.clone()),
                self.beta.get(k).map(|beta| self.phi.ones_like() * beta.clone()),
            ])
        };
        self.across.iter().enumerate().map(pull).collect()
    }

    /// Σ_k w_k·∂(Lφ_k)/∂x `[r, d]` for w `[1, m]`.
    fn point_slopes(&self, weights: &Tensor<B, 2>) -> Tensor<B, 2> {
        let factor = self.phi.clone() * (weights.clone() * self.over.clone()).mul_scalar(-2.0);
        let none = || zeros([factor.dims()[0], 1], &factor);
        let columns = self.pulls().into_iter();
        Tensor::cat(columns.map(|pull| pull.map_or_else(none, |pull| (factor.clone() * pull).sum_dim(1))).collect(), 1)
    }

    /// Σ_i v_i·∂(Lφ_k)/∂(c_k, a_k) `[d + 1, m]` for v `[r, 1]`; `widths` are `[1, m]`.
    fn slopes(&self, values: Tensor<B, 2>, widths: &Tensor<B, 2>) -> Tensor<B, 2> {
        let (d, phi, s) = (self.dims(), self.phi.clone() * values, &self.ratio);
        let none = || zeros([1, widths.dims()[1]], widths);
        let by_centre = self.pulls().into_iter().map(|inner| {
            inner.map_or_else(none, |inner| (phi.clone() * inner).sum_dim(0).mul_scalar(2.0) * self.over.clone())
        });
        let mut rows: Vec<_> = by_centre.collect();
        let curvature = || {
            let inner = s.clone().mul_scalar(8.0).sub_scalar(4.0 * d + 16.0) * s.clone();
            inner.add_scalar(4.0 * d) * self.over.clone()
        };
        let drift = self.drift().map(|drift| drift * s.clone().neg().add_scalar(1.0).mul_scalar(4.0));
        let inner = sum([self.alpha.times(curvature), drift, self.gamma.times(|| s.clone().mul_scalar(2.0))]);
        rows.push(inner.map_or_else(none, |inner| (phi.clone() * inner).sum_dim(0) / widths.clone()));
        Tensor::cat(rows, 0)
    }
}

/// n and m.
fn counts<B: DeviceLimits>(rows: &Rows<B>, shape: &Shape<B>) -> (usize, usize) {
    (float::<B, 1>(rows.target.clone()).dims()[0], float::<B, 1>(shape.widths.clone()).dims()[0])
}

/// Ranges of rows with at most [`BLOCK`] elements in m columns.
fn blocks(n: usize, m: usize) -> impl Iterator<Item = Range<usize>> {
    let height = (BLOCK / m.max(1)).max(1);
    (0..n).step_by(height).map(move |start| start..(start + height).min(n))
}

/// A·w − t `[r, 1]` of a block of A.
fn residual_of<B: DeviceLimits>(
    matrix: Tensor<B, 2>,
    weights: &Tensor<B, 2>,
    rows: &Rows<B>,
    range: Range<usize>,
) -> Tensor<B, 2> {
    let target = float::<B, 1>(rows.target.clone()).slice(range.clone()).reshape([range.len(), 1]);
    (matrix * weights.clone()).sum_dim(1) - target
}

/// The residual `[n]`, computed in blocks, whose A are passed to `keep`.
fn residual_with<B: DeviceLimits>(
    rows: &Rows<B>,
    shape: &Shape<B>,
    weights: FloatTensor<B>,
    mut keep: impl FnMut(Tensor<B, 2>),
) -> Tensor<B, 1> {
    let (n, m) = counts(rows, shape);
    let weights = float::<B, 1>(weights).reshape([1, m]);
    let mut parts = Vec::new();
    for range in blocks(n, m) {
        let matrix = Block::new(rows, shape, range.clone()).matrix();
        parts.push(residual_of(matrix.clone(), &weights, rows, range));
        keep(matrix);
    }
    if parts.is_empty() { zeros([0], &weights) } else { Tensor::cat(parts, 0).reshape([n]) }
}

pub(crate) fn matrix<B: DeviceLimits>(
    rows: &Rows<B>,
    shape: &Shape<B>,
    weights: FloatTensor<B>,
) -> (FloatTensor<B>, FloatTensor<B>) {
    let mut parts = Vec::new();
    let residual = residual_with(rows, shape, weights, |matrix| parts.push(matrix));
    let m = counts(rows, shape).1;
    let matrix = if parts.is_empty() { zeros([0, m], &residual) } else { Tensor::cat(parts, 0) };
    (primitive(matrix), primitive(residual))
}

pub(crate) fn residual<B: DeviceLimits>(rows: &Rows<B>, shape: &Shape<B>, weights: FloatTensor<B>) -> FloatTensor<B> {
    primitive(residual_with(rows, shape, weights, drop))
}

/// Σ of `part` `[height, m]` over blocks.
fn summed<B: DeviceLimits>(
    rows: &Rows<B>,
    shape: &Shape<B>,
    height: usize,
    part: impl FnMut(Range<usize>) -> Tensor<B, 2>,
) -> Tensor<B, 2> {
    let (n, m) = counts(rows, shape);
    let all = blocks(n, m).map(part).reduce(|a, b| a + b);
    all.unwrap_or_else(|| zeros([height, m], &float::<B, 1>(shape.widths.clone())))
}

pub(crate) fn transposed<B: DeviceLimits>(rows: &Rows<B>, shape: &Shape<B>, values: FloatTensor<B>) -> FloatTensor<B> {
    let values = float::<B, 1>(values);
    let (_, m) = counts(rows, shape);
    let all = summed(rows, shape, 1, |range| {
        let values = values.clone().slice(range.clone()).reshape([range.len(), 1]);
        (Block::new(rows, shape, range).matrix() * values).sum_dim(0)
    });
    primitive(all.reshape([m]))
}

pub(crate) fn normal<B: DeviceLimits>(
    rows: &Rows<B>,
    shape: &Shape<B>,
    matrix: Option<FloatTensor<B>>,
    vector: FloatTensor<B>,
) -> FloatTensor<B> {
    let (_, m) = counts(rows, shape);
    let (matrix, vector) = (matrix.map(float::<B, 2>), float::<B, 1>(vector).reshape([1, m]));
    let all = summed(rows, shape, 1, |range| {
        let block = match &matrix {
            Some(matrix) => matrix.clone().slice([range, 0..m]),
            None => Block::new(rows, shape, range).matrix(),
        };
        let product = (block.clone() * vector.clone()).sum_dim(1);
        (block * product).sum_dim(0)
    });
    primitive(all.reshape([m]))
}

pub(crate) fn gradient<B: DeviceLimits>(
    rows: &Rows<B>,
    shape: &Shape<B>,
    weights: FloatTensor<B>,
    values: FloatTensor<B>,
) -> FloatTensor<B> {
    let (_, m) = counts(rows, shape);
    let (weights, values) = (float::<B, 1>(weights).reshape([1, m]), float::<B, 1>(values));
    let widths = float::<B, 1>(shape.widths.clone()).reshape([1, m]);
    let d = float::<B, 2>(shape.centres.clone()).dims()[0];
    let all = summed(rows, shape, d + 1, |range| {
        let values = values.clone().slice(range.clone()).reshape([range.len(), 1]);
        Block::new(rows, shape, range).slopes(values, &widths)
    });
    primitive(all * weights)
}

pub(crate) fn slopes<B: DeviceLimits>(rows: &Rows<B>, shape: &Shape<B>, weights: FloatTensor<B>) -> FloatTensor<B> {
    let (n, m) = counts(rows, shape);
    let weights = float::<B, 1>(weights).reshape([1, m]);
    let d = float::<B, 2>(shape.centres.clone()).dims()[0];
    let parts: Vec<_> = blocks(n, m).map(|range| Block::new(rows, shape, range).point_slopes(&weights)).collect();
    primitive(if parts.is_empty() { zeros([d, 0], &weights) } else { Tensor::cat(parts, 0).transpose() })
}

/// Non-empty kinds of conditions with their factors 1/N and λ/K.
fn shares<B: DeviceLimits>(aim: &Aim<B>) -> impl Iterator<Item = (&Rows<B>, f64)> {
    [(&aim.interior, 1.0), (&aim.boundary, aim.penalty)].into_iter().filter_map(|(rows, factor)| {
        let n = float::<B, 1>(rows.target.clone()).dims()[0];
        (n > 0).then(|| (rows, factor / n as f64))
    })
}

pub(crate) fn descend<B: DeviceLimits>(
    aim: &Aim<B>,
    mut shape: Shape<B>,
    weights: FloatTensor<B>,
    [of_centres, of_widths]: [f64; 2],
    steps: usize,
) -> (Shape<B>, FloatTensor<B>) {
    let start = float::<B, 1>(shape.widths.clone());
    let [d, m] = float::<B, 2>(shape.centres.clone()).dims();
    let mut history = vec![empty(&start)];
    for _ in 0..steps {
        let (mut objective, mut slopes) = (zeros([1], &start), zeros([d + 1, m], &start));
        for (rows, share) in shares(aim) {
            let residual = float::<B, 1>(residual(rows, &shape, weights.clone()));
            let part = gradient(rows, &shape, weights.clone(), primitive(residual.clone()));
            slopes = slopes + float::<B, 2>(part).mul_scalar(share);
            objective = objective + (residual.clone() * residual).sum().mul_scalar(0.5 * share);
        }
        history.push(objective);
        let (centres, widths) = (float::<B, 2>(shape.centres), float::<B, 1>(shape.widths));
        let by_width = slopes.clone().slice([d..d + 1, 0..m]).reshape([m]);
        let centres = centres - slopes.slice([0..d, 0..m]).mul_scalar(of_centres);
        // Steps in q multiply a.
        let widths = widths.clone() * (widths * by_width).mul_scalar(-of_widths).exp();
        shape = Shape { centres: primitive(centres), widths: primitive(widths) };
    }
    let history = if steps == 0 { empty(&start) } else { Tensor::cat(history.split_off(1), 0) };
    (shape, primitive(history))
}

pub(crate) fn conjugate<B: DeviceLimits>(
    aim: &Aim<B>,
    shape: &Shape<B>,
    weights: FloatTensor<B>,
    iterations: usize,
) -> (FloatTensor<B>, FloatTensor<B>) {
    let mut weights = float::<B, 1>(weights);
    let m = weights.dims()[0];
    let mut normal_residual = zeros([m], &weights);
    for (rows, share) in shares(aim) {
        let part = transposed(rows, shape, residual(rows, shape, primitive(weights.clone())));
        normal_residual = normal_residual - float::<B, 1>(part).mul_scalar(share);
    }
    let dot = |a: &Tensor<B, 1>, b: &Tensor<B, 1>| (a.clone() * b.clone()).sum();
    let (mut direction, mut norm) = (normal_residual.clone(), dot(&normal_residual, &normal_residual));
    let mut history = vec![norm.clone()];
    for _ in 0..iterations {
        let mut product = zeros([m], &weights);
        for (rows, share) in shares(aim) {
            let part = normal(rows, shape, None, primitive(direction.clone()));
            product = product + float::<B, 1>(part).mul_scalar(share);
        }
        let curvature = dot(&direction, &product);
        let stays = norm.clone().lower_equal_elem(0.0).bool_or(curvature.clone().lower_equal_elem(0.0));
        let length = (norm.clone() / curvature).mask_fill(stays.clone(), 0.0);
        weights = weights + direction.clone() * length.clone();
        normal_residual = normal_residual - product * length;
        let next = dot(&normal_residual, &normal_residual);
        let ratio = next.clone() / norm;
        direction = (normal_residual.clone() + direction.clone() * ratio).mask_where(stays.expand([m]), direction);
        norm = next;
        history.push(norm.clone());
    }
    (primitive(weights), primitive(Tensor::cat(history, 0)))
}
