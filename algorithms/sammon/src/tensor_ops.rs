//! The hot loops in plain tensor operations, for any Burn backend: what the default bodies of [`SammonOps`] call.
//!
//! Nothing larger than a block of rows of an N × N matrix is made, but for the matrices that are the result.
//!
//! [`SammonOps`]: crate::SammonOps

use std::ops::Range;

use burn::tensor::{DType, FloatDType, Int, Tensor, TensorData, backend::Backend, ops::FloatTensor};
use firebox_backends::Limited;
use firebox_core::tensor::tensor as float;

use crate::ops::{self, Epoch, Forces, Metric, Problem, Source, partner};

/// Elements of a block: 16 MiB of f32, and a few of these are alive at a time.
const BLOCK: usize = 1 << 22;

fn primitive<B: Backend, const D: usize>(tensor: Tensor<B, D>) -> FloatTensor<B> {
    tensor.into_primitive().tensor()
}

fn zeros<B: Backend, const D: usize>(shape: [usize; D], like: &Tensor<B, 2>) -> Tensor<B, D> {
    Tensor::zeros(shape, (&like.device(), like.dtype()))
}

/// 1/x, and 0 for 0. By a division: `recip` on NdArray is the processor's estimate, right to 12 bits.
fn reciprocal<B: Backend, const D: usize>(x: Tensor<B, D>) -> Tensor<B, D> {
    let none = x.clone().equal_elem(0.0);
    (x.ones_like() / x).mask_fill(none, 0.0)
}

/// `[0, n]` from `[m, n]`: a view, for CUDA has no empty tensors to fill. The cast is for NdArray, whose empty views are
/// f32 whatever they are views of.
fn no_rows<B: Backend>(like: &Tensor<B, 2>) -> Tensor<B, 2> {
    let n = like.dims()[1];
    let float = if like.dtype() == DType::F64 { FloatDType::F64 } else { FloatDType::F32 };
    like.clone().slice([0..0, 0..n]).cast(float)
}

/// Ranges of rows whose block of `width` columns stays within [`BLOCK`].
fn blocks(rows: Range<usize>, width: usize) -> impl Iterator<Item = Range<usize>> {
    let height = (BLOCK / width.max(1)).max(1);
    let end = rows.end;
    rows.step_by(height).map(move |start| start..(start + height).min(end))
}

/// δ between columns of `rows` `[d, r]` and of `points` `[d, n]`, as `[r, n]`.
fn distances<B: Backend>(rows: &Tensor<B, 2>, points: &Tensor<B, 2>, metric: Metric) -> Tensor<B, 2> {
    let ([d, r], [_, n]) = (rows.dims(), points.dims());
    let mut sum = zeros([r, n], points);
    for k in 0..d {
        let delta = rows.clone().slice([k..k + 1, 0..r]).reshape([r, 1]) - points.clone().slice([k..k + 1, 0..n]);
        sum = sum + if metric == Metric::Manhattan { delta.abs() } else { delta.clone() * delta };
    }
    match metric {
        Metric::Euclidean => sum.sqrt(),
        Metric::Manhattan => sum,
        Metric::Cosine => sum.mul_scalar(0.5),
    }
}

/// 1/δ, 0 where δ = 0 and where row `first` + r is column j.
fn inverse_of<B: Backend>(distances: Tensor<B, 2>, first: Option<usize>) -> Tensor<B, 2> {
    let [r, n] = distances.dims();
    let device = distances.device();
    let inverse = reciprocal(distances);
    let Some(first) = first else { return inverse };
    let own = Tensor::<B, 1, Int>::arange(first as i64..(first + r) as i64, &device).reshape([r, 1]);
    let all = Tensor::<B, 1, Int>::arange(0..n as i64, &device).reshape([1, n]);
    inverse.mask_fill(own.expand([r, n]).equal(all.expand([r, n])), 0.0)
}

pub(crate) fn inverse<B: Backend>(
    rows: FloatTensor<B>,
    points: FloatTensor<B>,
    first: Option<usize>,
    metric: Metric,
) -> FloatTensor<B> {
    let (rows, points) = (float::<B, 2>(rows), float::<B, 2>(points));
    let ([d, r], [_, n]) = (rows.dims(), points.dims());
    if r == 0 || n == 0 {
        return primitive(zeros([r, n], &points));
    }
    let parts = blocks(0..r, n)
        .map(|range| {
            let part = rows.clone().slice([0..d, range.clone()]);
            inverse_of(distances(&part, &points, metric), first.map(|first| first + range.start))
        })
        .collect();
    primitive(Tensor::cat(parts, 0))
}

/// Calls `work` with blocks of the share's rows and their 1/δ `[r, n]`.
fn each_block<B: Limited>(problem: &Problem<B>, n: usize, mut work: impl FnMut(Range<usize>, Tensor<B, 2>)) {
    match &problem.source {
        Source::Features { points, metric, .. } => {
            let points = float::<B, 2>(points.clone());
            let d = points.dims()[0];
            for range in blocks(ops::rows(problem.share, n), n) {
                let rows = points.clone().slice([0..d, range.clone()]);
                let inverse = inverse_of(distances(&rows, &points, *metric), Some(range.start));
                work(range, inverse);
            }
        }
        Source::Inverse(parts) => {
            let mut first = ops::rows(problem.share, n).start;
            for part in parts {
                let part = float::<B, 2>(part.clone());
                let height = part.dims()[0];
                for range in blocks(0..height, n) {
                    let block = part.clone().slice([range.clone(), 0..n]);
                    let dtype = float::<B, 1>(problem.multiplicity.clone()).dtype();
                    let block =
                        if dtype == DType::F64 { block.cast(FloatDType::F64) } else { block.cast(FloatDType::F32) };
                    work(first + range.start..first + range.end, block);
                }
                first += height;
            }
        }
    }
}

/// Blocks of the share's points side by side, and zeros for all other points.
fn whole<B: Limited>(
    blocks: Vec<Tensor<B, 2>>,
    height: usize,
    problem: &Problem<B>,
    embedding: &Tensor<B, 2>,
) -> Tensor<B, 2> {
    let n = embedding.dims()[1];
    let own = ops::rows(problem.share, n);
    let beside = |count: usize| (count > 0).then(|| zeros([height, count], embedding));
    let all = beside(own.start).into_iter().chain(blocks).chain(beside(n - own.end));
    Tensor::cat(all.collect(), 1)
}

/// A block of pairs: rows against columns.
struct Pairs<B: Backend> {
    /// Whether there is a pair: 1 or 0.
    there: Tensor<B, 2>,
    /// μ_j·w.
    weight: Tensor<B, 2>,
    /// δ, 0 where there is no pair.
    source: Tensor<B, 2>,
    /// d.
    target: Tensor<B, 2>,
    /// y_i − y_j, coordinate by coordinate.
    across: Vec<Tensor<B, 2>>,
}

impl<B: Backend> Pairs<B> {
    /// From 1/δ `[r, n]`, μ `[n]`, and the places of both, `[m, r]` and `[m, n]`.
    fn new(
        inverse: Tensor<B, 2>,
        multiplicity: &Tensor<B, 1>,
        power: f64,
        rows: &Tensor<B, 2>,
        columns: &Tensor<B, 2>,
    ) -> Self {
        let [r, n] = inverse.dims();
        let m = rows.dims()[0];
        let none = inverse.clone().equal_elem(0.0);
        let there = inverse.clone().ones_like().mask_fill(none.clone(), 0.0);
        let source = reciprocal(inverse.clone());
        let weight = match power {
            0.0 => there.clone(),
            1.0 => inverse,
            2.0 => inverse.clone() * inverse,
            _ => inverse.powf_scalar(power).mask_fill(none, 0.0),
        };
        let weight = weight * multiplicity.clone().reshape([1, n]);
        let across: Vec<_> = (0..m)
            .map(|k| rows.clone().slice([k..k + 1, 0..r]).reshape([r, 1]) - columns.clone().slice([k..k + 1, 0..n]))
            .collect();
        let mut square = zeros([r, n], rows);
        for delta in &across {
            square = square + delta.clone() * delta.clone();
        }
        Self { there, weight, source, target: square.sqrt(), across }
    }

    /// F `[m, r]` and e `[1, r]`.
    fn forces(self) -> (Tensor<B, 2>, Tensor<B, 2>) {
        let r = self.target.dims()[0];
        let miss = self.source - self.target.clone();
        let stress = (self.weight.clone() * miss.clone() * miss.clone()).sum_dim(1).reshape([1, r]);
        let pull = self.weight * miss * reciprocal(self.target);
        let rows = self.across.into_iter().map(|delta| (pull.clone() * delta).sum_dim(1).reshape([1, r])).collect();
        (Tensor::cat(rows, 0), stress)
    }
}

/// F `[m, n]` and e `[1, n]`, of one point or more.
fn forces_of<B: Limited>(problem: &Problem<B>, embedding: &Tensor<B, 2>) -> (Tensor<B, 2>, Tensor<B, 2>) {
    let [m, n] = embedding.dims();
    let multiplicity = float::<B, 1>(problem.multiplicity.clone());
    let (mut force, mut stress) = (Vec::new(), Vec::new());
    each_block(problem, n, |range, inverse| {
        let rows = embedding.clone().slice([0..m, range]);
        let (f, e) = Pairs::new(inverse, &multiplicity, problem.power, &rows, embedding).forces();
        force.push(f);
        stress.push(e);
    });
    (whole(force, m, problem, embedding), whole(stress, 1, problem, embedding))
}

pub(crate) fn forces<B: Limited>(problem: &Problem<B>, embedding: FloatTensor<B>) -> Forces<B> {
    let embedding = float::<B, 2>(embedding);
    let n = embedding.dims()[1];
    if n == 0 {
        return Forces { stress: primitive(zeros([0], &embedding)), force: primitive(embedding) };
    }
    let (force, stress) = forces_of(problem, &embedding);
    Forces { force: primitive(force), stress: primitive(stress.reshape([n])) }
}

pub(crate) fn steps<B: Limited>(
    problem: &Problem<B>,
    embedding: FloatTensor<B>,
    rates: FloatTensor<B>,
    steps: usize,
) -> Forces<B> {
    let (mut embedding, rates) = (float::<B, 2>(embedding), float::<B, 1>(rates));
    let n = embedding.dims()[1];
    if steps == 0 {
        return Forces { stress: primitive(no_rows(&embedding)), force: primitive(embedding) };
    }
    if n == 0 {
        return Forces { stress: primitive(zeros([steps, n], &embedding)), force: primitive(embedding) };
    }
    let rates = rates.reshape([1, n]);
    let mut history = Vec::with_capacity(steps);
    for _ in 0..steps {
        let (force, stress) = forces_of(problem, &embedding);
        embedding = embedding + force * rates.clone();
        history.push(stress);
    }
    Forces { force: primitive(embedding), stress: primitive(Tensor::cat(history, 0)) }
}

pub(crate) fn measure<B: Limited>(problem: &Problem<B>, embedding: FloatTensor<B>) -> FloatTensor<B> {
    let embedding = float::<B, 2>(embedding);
    let [m, n] = embedding.dims();
    let multiplicity = float::<B, 1>(problem.multiplicity.clone());
    if n == 0 {
        return primitive(zeros([ops::MEASURES, 0], &embedding));
    }
    let mut parts = Vec::new();
    each_block(problem, n, |range, inverse| {
        let r = range.len();
        let rows = embedding.clone().slice([0..m, range]);
        let pairs = Pairs::new(inverse, &multiplicity, problem.power, &rows, &embedding);
        let plain = pairs.there * multiplicity.clone().reshape([1, n]);
        let (w, s, t) = (pairs.weight, pairs.source, pairs.target);
        let miss = s.clone() - t.clone();
        let sums = [
            w.clone(),
            w.clone() * s.clone() * s.clone(),
            w.clone() * s * t.clone(),
            w * t.clone() * t.clone(),
            plain.clone() * miss.clone() * miss,
            plain * t.clone() * t,
        ];
        parts.push(Tensor::cat(sums.into_iter().map(|sum| sum.sum_dim(1).reshape([1, r])).collect(), 0));
    });
    primitive(whole(parts, ops::MEASURES, problem, &embedding))
}

#[allow(clippy::too_many_arguments)] // The operation's.
pub(crate) fn sampled<B: Limited>(
    points: FloatTensor<B>,
    metric: Metric,
    multiplicity: FloatTensor<B>,
    power: f64,
    embedding: FloatTensor<B>,
    epochs: &[Epoch],
    block: usize,
) -> FloatTensor<B> {
    let (points, multiplicity) = (float::<B, 2>(points), float::<B, 1>(multiplicity));
    let mut embedding = float::<B, 2>(embedding);
    let device = embedding.device();
    let ([d, n], m) = (points.dims(), embedding.dims()[0]);
    if n == 0 {
        return primitive(embedding);
    }
    let blocks = n.div_ceil(block);
    let part = |k: usize| k * block..((k + 1) * block).min(n);
    for epoch in epochs {
        let list = |order: Vec<i32>| Tensor::<B, 1, Int>::from_data(TensorData::new(order, [n]), (&device, DType::I32));
        let mut back = vec![0; n];
        for (at, &point) in epoch.order.iter().enumerate() {
            back[point as usize] = at as i32;
        }
        let order = list(epoch.order.iter().map(|&i| i as i32).collect());
        let x = points.clone().select(1, order.clone());
        let y = embedding.select(1, order.clone());
        let mu = multiplicity.clone().select(0, order);
        let mut moved = Vec::new();
        for k in 0..blocks {
            let (own, met) = (part(k), part(partner(k, blocks)));
            let rows = y.clone().slice([0..m, own.clone()]);
            if own == met {
                // A single block meets nobody.
                moved.push(rows);
                continue;
            }
            let delta = distances(&x.clone().slice([0..d, own.clone()]), &x.clone().slice([0..d, met.clone()]), metric);
            let columns = y.clone().slice([0..m, met.clone()]);
            moved
                .push(step_to(inverse_of(delta, None), &mu.clone().slice([met]), power, rows, &columns, epoch.alpha).0);
        }
        embedding = Tensor::cat(moved, 1).select(1, list(back));
    }
    primitive(embedding)
}

/// y + α·F/Σ μ·w, and e `[1, r]`.
fn step_to<B: Backend>(
    inverse: Tensor<B, 2>,
    multiplicity: &Tensor<B, 1>,
    power: f64,
    rows: Tensor<B, 2>,
    columns: &Tensor<B, 2>,
    alpha: f64,
) -> (Tensor<B, 2>, Tensor<B, 2>) {
    let r = rows.dims()[1];
    let pairs = Pairs::new(inverse, multiplicity, power, &rows, columns);
    let weight = pairs.weight.clone().sum_dim(1).reshape([1, r]);
    let rate = reciprocal(weight).mul_scalar(alpha);
    let (force, stress) = pairs.forces();
    (rows + force * rate, stress)
}

pub(crate) fn place<B: Limited>(
    inverse: FloatTensor<B>,
    multiplicity: FloatTensor<B>,
    power: f64,
    fixed: FloatTensor<B>,
    embedding: FloatTensor<B>,
    steps: usize,
) -> Forces<B> {
    let (inverse, multiplicity) = (float::<B, 2>(inverse), float::<B, 1>(multiplicity));
    let (fixed, embedding) = (float::<B, 2>(fixed), float::<B, 2>(embedding));
    let ([q, n], m) = (inverse.dims(), embedding.dims()[0]);
    let mut history = if steps == 0 { no_rows(&embedding) } else { zeros([steps, q], &embedding) };
    if q == 0 || n == 0 {
        return Forces { force: primitive(embedding), stress: primitive(history) };
    }
    let mut placed = Vec::new();
    for range in blocks(0..q, n) {
        let block = inverse.clone().slice([range.clone(), 0..n]);
        let mut rows = embedding.clone().slice([0..m, range.clone()]);
        for step in 0..steps {
            let (moved, stress) = step_to(block.clone(), &multiplicity, power, rows, &fixed, 1.0);
            rows = moved;
            history = history.slice_assign([step..step + 1, range.clone()], stress);
        }
        placed.push(rows);
    }
    Forces { force: primitive(Tensor::cat(placed, 1)), stress: primitive(history) }
}
