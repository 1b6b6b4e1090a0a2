//! Default bodies of [`RbfOps`] in tensor operations, for any Burn backend.
//!
//! Intermediate memory is limited to a block of rows of A.
//!
//! [`RbfOps`]: crate::ops::RbfOps

use std::ops::Range;

use burn::tensor::{TensorMetadata, backend::Backend, ops::FloatTensor};
use firebox_backends::DeviceLimits;
use firebox_core::tensor::Floats;
pub(crate) use firebox_core::tensor::into_primitive as primitive;

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

/// α or γ at a block of conditions.
enum Factor<B: Backend> {
    Zero,
    One,
    /// `[r, 1]`
    Each(Floats<B>),
}

impl<B: Backend> Factor<B> {
    /// The factor times `term`, which is computed unless the factor is 0.
    fn times(&self, term: impl FnOnce() -> Floats<B>) -> Option<Floats<B>> {
        match self {
            Self::Zero => None,
            Self::One => Some(term()),
            Self::Each(values) => Some(term() * values.clone()),
        }
    }
}

/// Sum of the terms that are present.
fn sum<B: Backend>(terms: impl IntoIterator<Item = Option<Floats<B>>>) -> Option<Floats<B>> {
    terms.into_iter().flatten().reduce(|a, b| a + b)
}

/// A block of r conditions and all m neurons. Matrices are `[r, m]`.
struct Block<B: Backend> {
    /// x − c per coordinate.
    across: Vec<Floats<B>>,
    /// 1/a² `[1, m]`.
    over: Floats<B>,
    /// s.
    ratio: Floats<B>,
    phi: Floats<B>,
    alpha: Factor<B>,
    /// `[r, 1]` per coordinate; empty without β.
    beta: Vec<Floats<B>>,
    gamma: Factor<B>,
}

impl<B: DeviceLimits> Block<B> {
    fn new(rows: &Rows<B>, shape: &Shape<B>, range: Range<usize>) -> Self {
        let (points, centres) = (Floats::<B>(rows.points.clone()), Floats::<B>(shape.centres.clone()));
        let [d, m] = centres.dims();
        let widths = Floats::<B>(shape.widths.clone()).reshape([1, m]);
        let column = |of: &Floats<B>, k: usize| of.clone().slice([k..k + 1, range.clone()]).reshape([range.len(), 1]);
        let square = widths.clone() * widths;
        let over = square.clone().reciprocal();
        let across: Vec<_> = (0..d).map(|k| column(&points, k) - centres.clone().slice([k..k + 1, 0..m])).collect();
        let distance = sum(across.iter().map(|delta| Some(delta.clone() * delta.clone())));
        let ratio = distance.unwrap_or_else(|| Floats::zeros([range.len(), m], &over)) / square;

        let coefficients = rows.coefficients.clone().map(Floats::<B>);
        let mut row = 0;
        let mut next = || {
            row += 1;
            coefficients.as_ref().map(|all| column(all, row - 1))
        };
        let factor = |term, next: &mut dyn FnMut() -> Option<Floats<B>>| match term {
            Term::Zero => Factor::Zero,
            Term::One => Factor::One,
            Term::Each => next().map_or(Factor::Zero, Factor::Each),
        };
        let alpha = factor(rows.form.laplacian, &mut next);
        let beta = if rows.form.gradient { (0..d).filter_map(|_| next()).collect() } else { Vec::new() };
        let gamma = factor(rows.form.value, &mut next);
        Self { phi: ratio.clone().scale(-1.0).exp(), across, over, ratio, alpha, beta, gamma }
    }

    fn dims(&self) -> f64 {
        self.across.len() as f64
    }

    /// β·(x − c)/a²; `None` without β.
    fn drift(&self) -> Option<Floats<B>> {
        let along = sum(self.beta.iter().zip(&self.across).map(|(b, x)| Some(x.clone() * b.clone())))?;
        Some(along * self.over.clone())
    }

    /// α(4s − `less`)/a² − 2β·(x − c)/a² + γ; `None` where it is 0.
    fn bracket(&self, less: f64) -> Option<Floats<B>> {
        let curvature = || self.ratio.clone().scale(4.0).shift(-less) * self.over.clone();
        let drift = self.drift().map(|drift| drift.scale(-2.0));
        sum([self.alpha.times(curvature), drift, self.gamma.times(|| self.phi.ones_like())])
    }

    /// Lφ.
    fn matrix(&self) -> Floats<B> {
        self.bracket(2.0 * self.dims()).map_or_else(|| self.phi.zeros_like(), |bracket| self.phi.clone() * bracket)
    }

    /// ∂(Lφ)/∂c over 2φ/a² per coordinate; `None` where it is 0.
    fn pulls(&self) -> Vec<Option<Floats<B>>> {
        let bracket = self.bracket(2.0 * self.dims() + 4.0);
        let pull = |(k, delta): (usize, &Floats<B>)| {
            sum([
                bracket.clone().map(|bracket| bracket * delta.clone()),
                self.beta.get(k).map(|beta| self.phi.ones_like() * beta.clone()),
            ])
        };
        self.across.iter().enumerate().map(pull).collect()
    }

    /// Σ_k w_k·∂(Lφ_k)/∂x `[r, d]` for w `[1, m]`.
    fn point_slopes(&self, weights: &Floats<B>) -> Floats<B> {
        let factor = self.phi.clone() * (weights.clone() * self.over.clone()).scale(-2.0);
        let none = || Floats::zeros([factor.dims::<2>()[0], 1], &factor);
        let columns = self.pulls().into_iter();
        Floats::concatenate(
            columns.map(|pull| pull.map_or_else(none, |pull| (factor.clone() * pull).sum_along(1))).collect(),
            1,
        )
    }

    /// Σ_i v_i·∂(Lφ_k)/∂(c_k, a_k) `[d + 1, m]` for v `[r, 1]`; `widths` are `[1, m]`.
    fn slopes(&self, values: Floats<B>, widths: &Floats<B>) -> Floats<B> {
        let (d, phi, s) = (self.dims(), self.phi.clone() * values, &self.ratio);
        let none = || Floats::zeros([1, widths.dims::<2>()[1]], widths);
        let by_centre = self.pulls().into_iter().map(|inner| {
            inner.map_or_else(none, |inner| (phi.clone() * inner).sum_along(0).scale(2.0) * self.over.clone())
        });
        let mut rows: Vec<_> = by_centre.collect();
        let curvature = || {
            let inner = s.clone().scale(8.0).shift(-(4.0 * d + 16.0)) * s.clone();
            inner.shift(4.0 * d) * self.over.clone()
        };
        let drift = self.drift().map(|drift| drift * s.clone().scale(-1.0).shift(1.0).scale(4.0));
        let inner = sum([self.alpha.times(curvature), drift, self.gamma.times(|| s.clone().scale(2.0))]);
        rows.push(inner.map_or_else(none, |inner| (phi.clone() * inner).sum_along(0) / widths.clone()));
        Floats::concatenate(rows, 0)
    }
}

/// n and m.
fn counts<B: DeviceLimits>(rows: &Rows<B>, shape: &Shape<B>) -> (usize, usize) {
    (rows.target.shape()[0], shape.widths.shape()[0])
}

/// Ranges of rows with at most [`BLOCK`] elements in m columns.
fn blocks(n: usize, m: usize) -> impl Iterator<Item = Range<usize>> {
    let height = (BLOCK / m.max(1)).max(1);
    (0..n).step_by(height).map(move |start| start..(start + height).min(n))
}

/// A·w − t `[r, 1]` of a block of A.
fn residual_of<B: DeviceLimits>(
    matrix: Floats<B>,
    weights: &Floats<B>,
    rows: &Rows<B>,
    range: Range<usize>,
) -> Floats<B> {
    let target = Floats::<B>(rows.target.clone()).slice([range.clone()]).reshape([range.len(), 1]);
    (matrix * weights.clone()).sum_along(1) - target
}

/// The residual `[n]`, computed in blocks, whose A are passed to `keep`.
fn residual_with<B: DeviceLimits>(
    rows: &Rows<B>,
    shape: &Shape<B>,
    weights: FloatTensor<B>,
    mut keep: impl FnMut(Floats<B>),
) -> Floats<B> {
    let (n, m) = counts(rows, shape);
    let weights = Floats::<B>(weights).reshape([1, m]);
    let mut parts = Vec::new();
    for range in blocks(n, m) {
        let matrix = Block::new(rows, shape, range.clone()).matrix();
        parts.push(residual_of(matrix.clone(), &weights, rows, range));
        keep(matrix);
    }
    if parts.is_empty() { Floats::zeros([0], &weights) } else { Floats::concatenate(parts, 0).reshape([n]) }
}

pub(crate) fn matrix<B: DeviceLimits>(
    rows: &Rows<B>,
    shape: &Shape<B>,
    weights: FloatTensor<B>,
) -> (FloatTensor<B>, FloatTensor<B>) {
    let mut parts = Vec::new();
    let residual = residual_with(rows, shape, weights, |matrix| parts.push(matrix));
    let m = counts(rows, shape).1;
    let matrix = if parts.is_empty() { Floats::zeros([0, m], &residual) } else { Floats::concatenate(parts, 0) };
    (matrix.0, residual.0)
}

pub(crate) fn residual<B: DeviceLimits>(rows: &Rows<B>, shape: &Shape<B>, weights: FloatTensor<B>) -> FloatTensor<B> {
    residual_with(rows, shape, weights, drop).0
}

/// Σ of `part` `[height, m]` over blocks.
fn summed<B: DeviceLimits>(
    rows: &Rows<B>,
    shape: &Shape<B>,
    height: usize,
    part: impl FnMut(Range<usize>) -> Floats<B>,
) -> Floats<B> {
    let (n, m) = counts(rows, shape);
    let all = blocks(n, m).map(part).reduce(|a, b| a + b);
    all.unwrap_or_else(|| Floats::zeros([height, m], &Floats::<B>(shape.widths.clone())))
}

pub(crate) fn transposed<B: DeviceLimits>(rows: &Rows<B>, shape: &Shape<B>, values: FloatTensor<B>) -> FloatTensor<B> {
    let values = Floats::<B>(values);
    let (_, m) = counts(rows, shape);
    let all = summed(rows, shape, 1, |range| {
        let values = values.clone().slice([range.clone()]).reshape([range.len(), 1]);
        (Block::new(rows, shape, range).matrix() * values).sum_along(0)
    });
    all.reshape([m]).0
}

pub(crate) fn normal<B: DeviceLimits>(
    rows: &Rows<B>,
    shape: &Shape<B>,
    matrix: Option<FloatTensor<B>>,
    vector: FloatTensor<B>,
) -> FloatTensor<B> {
    let (_, m) = counts(rows, shape);
    let (matrix, vector) = (matrix.map(Floats::<B>), Floats::<B>(vector).reshape([1, m]));
    let all = summed(rows, shape, 1, |range| {
        let block = match &matrix {
            Some(matrix) => matrix.clone().slice([range, 0..m]),
            None => Block::new(rows, shape, range).matrix(),
        };
        let product = (block.clone() * vector.clone()).sum_along(1);
        (block * product).sum_along(0)
    });
    all.reshape([m]).0
}

pub(crate) fn gradient<B: DeviceLimits>(
    rows: &Rows<B>,
    shape: &Shape<B>,
    weights: FloatTensor<B>,
    values: FloatTensor<B>,
) -> FloatTensor<B> {
    let (_, m) = counts(rows, shape);
    let (weights, values) = (Floats::<B>(weights).reshape([1, m]), Floats::<B>(values));
    let widths = Floats::<B>(shape.widths.clone()).reshape([1, m]);
    let d = shape.centres.shape()[0];
    let all = summed(rows, shape, d + 1, |range| {
        let values = values.clone().slice([range.clone()]).reshape([range.len(), 1]);
        Block::new(rows, shape, range).slopes(values, &widths)
    });
    (all * weights).0
}

pub(crate) fn slopes<B: DeviceLimits>(rows: &Rows<B>, shape: &Shape<B>, weights: FloatTensor<B>) -> FloatTensor<B> {
    let (n, m) = counts(rows, shape);
    let weights = Floats::<B>(weights).reshape([1, m]);
    let d = shape.centres.shape()[0];
    let parts: Vec<_> = blocks(n, m).map(|range| Block::new(rows, shape, range).point_slopes(&weights)).collect();
    let all =
        if parts.is_empty() { Floats::zeros([d, 0], &weights) } else { Floats::concatenate(parts, 0).transpose() };
    all.0
}

/// Non-empty kinds of conditions with their factors 1/N and λ/K.
fn shares<B: DeviceLimits>(aim: &Aim<B>) -> impl Iterator<Item = (&Rows<B>, f64)> {
    [(&aim.interior, 1.0), (&aim.boundary, aim.penalty)].into_iter().filter_map(|(rows, factor)| {
        let n = rows.target.shape()[0];
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
    let start = Floats::<B>(shape.widths.clone());
    let [d, m] = shape.centres.shape().dims();
    let mut history = Vec::new();
    for _ in 0..steps {
        let (mut objective, mut slopes) = (Floats::zeros([1], &start), Floats::zeros([d + 1, m], &start));
        for (rows, share) in shares(aim) {
            let residual = Floats::<B>(residual(rows, &shape, weights.clone()));
            let part = gradient(rows, &shape, weights.clone(), residual.0.clone());
            slopes = slopes + Floats::<B>(part).scale(share);
            objective = objective + (residual.clone() * residual).sum().scale(0.5 * share);
        }
        history.push(objective);
        let (centres, widths) = (Floats::<B>(shape.centres), Floats::<B>(shape.widths));
        let by_width = slopes.clone().slice([d..d + 1, 0..m]).reshape([m]);
        let centres = centres - slopes.slice([0..d, 0..m]).scale(of_centres);
        // Steps in q multiply a.
        let widths = widths.clone() * (widths * by_width).scale(-of_widths).exp();
        shape = Shape { centres: centres.0, widths: widths.0 };
    }
    let history = if steps == 0 { Floats::empty([0], &start) } else { Floats::concatenate(history, 0) };
    (shape, history.0)
}

pub(crate) fn conjugate<B: DeviceLimits>(
    aim: &Aim<B>,
    shape: &Shape<B>,
    weights: FloatTensor<B>,
    iterations: usize,
) -> (FloatTensor<B>, FloatTensor<B>) {
    let mut weights = Floats::<B>(weights);
    let [m] = weights.dims();
    let mut normal_residual = Floats::zeros([m], &weights);
    for (rows, share) in shares(aim) {
        let part = transposed(rows, shape, residual(rows, shape, weights.0.clone()));
        normal_residual = normal_residual - Floats::<B>(part).scale(share);
    }
    let dot = |a: &Floats<B>, b: &Floats<B>| (a.clone() * b.clone()).sum();
    let (mut direction, mut norm) = (normal_residual.clone(), dot(&normal_residual, &normal_residual));
    let mut history = vec![norm.clone()];
    for _ in 0..iterations {
        let mut product = Floats::zeros([m], &weights);
        for (rows, share) in shares(aim) {
            let part = normal(rows, shape, None, direction.0.clone());
            product = product + Floats::<B>(part).scale(share);
        }
        let curvature = dot(&direction, &product);
        // Without curvature or residual the iterate stays.
        let stop = |new: Floats<B>, old: Floats<B>| {
            new.replaced_if_not_positive(norm.clone(), old.clone()).replaced_if_not_positive(curvature.clone(), old)
        };
        let length = stop(norm.clone() / curvature.clone(), Floats::zeros([1], &norm));
        weights = weights + direction.clone() * length.clone();
        normal_residual = normal_residual - product * length;
        let next = dot(&normal_residual, &normal_residual);
        let ratio = next.clone() / norm.clone();
        direction = stop(normal_residual.clone() + direction.clone() * ratio, direction);
        norm = next;
        history.push(norm.clone());
    }
    (weights.0, Floats::concatenate(history, 0).0)
}
