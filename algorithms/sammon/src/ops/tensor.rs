//! Default bodies of [`SammonOps`] in tensor operations, for any Burn backend.
//!
//! No temporary is larger than a block of rows of an n × n matrix.
//!
//! [`SammonOps`]: crate::ops::SammonOps

use std::ops::Range;

use burn::tensor::{DType, FloatDType, Int, Tensor, TensorData, backend::Backend, ops::FloatTensor};
use firebox_backends::DeviceLimits;
pub(crate) use firebox_core::tensor::into_primitive as primitive;
use firebox_core::tensor::tensor as float;

use crate::types::{self, Epoch, Forces, MEASURES, Metric, Problem, Source, Steps, partner};

/// Elements per block: 16 MiB in f32, of which a few are alive at a time.
const BLOCK: usize = 1 << 22;

fn zeros<B: Backend, const D: usize>(shape: [usize; D], like: &Tensor<B, 2>) -> Tensor<B, D> {
    Tensor::zeros(shape, (&like.device(), like.dtype()))
}

/// Float type of computations: f64 or f32.
fn computed_in(dtype: DType) -> FloatDType {
    if dtype == DType::F64 { FloatDType::F64 } else { FloatDType::F32 }
}

/// 1/x, and 0 for x = 0. Divides, because `recip` on NdArray is the processor's estimate with 12 correct bits.
fn reciprocal<B: Backend, const D: usize>(x: Tensor<B, D>) -> Tensor<B, D> {
    let none = x.clone().equal_elem(0.0);
    (x.ones_like() / x).mask_fill(none, 0.0)
}

/// Zeros `[steps, n]` for the stresses of an embedding `[m, n]`. For no steps a view, since CUDA cannot allocate empty
/// tensors; cast, since empty views on NdArray are always f32.
fn no_stress<B: Backend>(steps: usize, like: &Tensor<B, 2>) -> Tensor<B, 2> {
    let n = like.dims()[1];
    match steps {
        0 => like.clone().slice([0..0, 0..n]).cast(computed_in(like.dtype())),
        _ => zeros([steps, n], like),
    }
}

/// Splits `rows` into blocks of at most [`BLOCK`] elements of `width` columns.
fn blocks(rows: Range<usize>, width: usize) -> impl Iterator<Item = Range<usize>> {
    let height = (BLOCK / width.max(1)).max(1);
    let end = rows.end;
    rows.step_by(height).map(move |start| start..(start + height).min(end))
}

/// δ `[r, n]` between columns of `rows` `[d, r]` and of `points` `[d, n]`.
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
        Metric::Cosine | Metric::Correlation => sum.mul_scalar(0.5),
    }
}

/// 1/δ; 0 where δ = 0 and, with `first`, where row i is column `first` + i.
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

/// Calls `work` with each block of the share's rows and its 1/δ `[r, n]`.
fn each_block<B: DeviceLimits>(problem: &Problem<B>, n: usize, mut work: impl FnMut(Range<usize>, Tensor<B, 2>)) {
    match &problem.source {
        Source::Features { points, metric, .. } => {
            let points = float::<B, 2>(points.clone());
            let d = points.dims()[0];
            for range in blocks(types::rows(problem.share, n), n) {
                let rows = points.clone().slice([0..d, range.clone()]);
                let inverse = inverse_of(distances(&rows, &points, *metric), Some(range.start));
                work(range, inverse);
            }
        }
        Source::Inverse(parts) => {
            let mut first = types::rows(problem.share, n).start;
            for part in parts {
                let part = float::<B, 2>(part.clone());
                let height = part.dims()[0];
                for range in blocks(0..height, n) {
                    let block = part.clone().slice([range.clone(), 0..n]);
                    let dtype = float::<B, 1>(problem.multiplicity.clone()).dtype();
                    work(first + range.start..first + range.end, block.cast(computed_in(dtype)));
                }
                first += height;
            }
        }
    }
}

/// Concatenates blocks of the share's points along columns, with zeros for all other points.
fn pad_share<B: DeviceLimits>(
    blocks: Vec<Tensor<B, 2>>,
    height: usize,
    problem: &Problem<B>,
    embedding: &Tensor<B, 2>,
) -> Tensor<B, 2> {
    let n = embedding.dims()[1];
    let own = types::rows(problem.share, n);
    let beside = |count: usize| (count > 0).then(|| zeros([height, count], embedding));
    let all = beside(own.start).into_iter().chain(blocks).chain(beside(n - own.end));
    Tensor::cat(all.collect(), 1)
}

/// A block of pairs between r row points and n column points.
struct Pairs<B: Backend> {
    /// 1 where a pair exists, else 0.
    exists: Tensor<B, 2>,
    /// μ_j·w_ij.
    weight: Tensor<B, 2>,
    /// δ, 0 where no pair exists.
    source: Tensor<B, 2>,
    /// d.
    target: Tensor<B, 2>,
    /// y_i − y_j by coordinate.
    difference: Vec<Tensor<B, 2>>,
}

impl<B: Backend> Pairs<B> {
    /// From 1/δ `[r, n]`, μ `[n]`, and the embeddings `[m, r]` and `[m, n]`.
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
        let exists = inverse.clone().ones_like().mask_fill(none.clone(), 0.0);
        let source = reciprocal(inverse.clone());
        let weight = match power {
            0.0 => exists.clone(),
            1.0 => inverse,
            2.0 => inverse.clone() * inverse,
            _ => inverse.powf_scalar(power).mask_fill(none, 0.0),
        };
        let weight = weight * multiplicity.clone().reshape([1, n]);
        let difference: Vec<_> = (0..m)
            .map(|k| rows.clone().slice([k..k + 1, 0..r]).reshape([r, 1]) - columns.clone().slice([k..k + 1, 0..n]))
            .collect();
        let mut square = zeros([r, n], rows);
        for delta in &difference {
            square = square + delta.clone() * delta.clone();
        }
        Self { exists, weight, source, target: square.sqrt(), difference }
    }

    /// F `[m, r]` and e `[1, r]`.
    fn forces(self) -> (Tensor<B, 2>, Tensor<B, 2>) {
        let r = self.target.dims()[0];
        let residual = self.source - self.target.clone();
        let stress = (self.weight.clone() * residual.clone() * residual.clone()).sum_dim(1).reshape([1, r]);
        let pull = self.weight * residual * reciprocal(self.target);
        let rows = self.difference.into_iter().map(|delta| (pull.clone() * delta).sum_dim(1).reshape([1, r])).collect();
        (Tensor::cat(rows, 0), stress)
    }
}

/// F `[m, n]` and e `[1, n]`, n ≥ 1.
fn forces_of<B: DeviceLimits>(problem: &Problem<B>, embedding: &Tensor<B, 2>) -> (Tensor<B, 2>, Tensor<B, 2>) {
    let [m, n] = embedding.dims();
    let multiplicity = float::<B, 1>(problem.multiplicity.clone());
    let (mut force, mut stress) = (Vec::new(), Vec::new());
    each_block(problem, n, |range, inverse| {
        let rows = embedding.clone().slice([0..m, range]);
        let (f, e) = Pairs::new(inverse, &multiplicity, problem.power, &rows, embedding).forces();
        force.push(f);
        stress.push(e);
    });
    (pad_share(force, m, problem, embedding), pad_share(stress, 1, problem, embedding))
}

pub(crate) fn forces<B: DeviceLimits>(problem: &Problem<B>, embedding: FloatTensor<B>) -> Forces<B> {
    let embedding = float::<B, 2>(embedding);
    let n = embedding.dims()[1];
    if n == 0 {
        return Forces { stress: primitive(zeros([0], &embedding)), force: primitive(embedding) };
    }
    let (force, stress) = forces_of(problem, &embedding);
    Forces { force: primitive(force), stress: primitive(stress.reshape([n])) }
}

pub(crate) fn steps<B: DeviceLimits>(
    problem: &Problem<B>,
    embedding: FloatTensor<B>,
    rates: FloatTensor<B>,
    steps: usize,
) -> Steps<B> {
    let (mut embedding, rates) = (float::<B, 2>(embedding), float::<B, 1>(rates));
    let n = embedding.dims()[1];
    if steps == 0 || n == 0 {
        return Steps { stresses: primitive(no_stress(steps, &embedding)), embedding: primitive(embedding) };
    }
    let rates = rates.reshape([1, n]);
    let mut stresses = Vec::with_capacity(steps);
    for _ in 0..steps {
        let (force, stress) = forces_of(problem, &embedding);
        embedding = embedding + force * rates.clone();
        stresses.push(stress);
    }
    Steps { embedding: primitive(embedding), stresses: primitive(Tensor::cat(stresses, 0)) }
}

pub(crate) fn measure<B: DeviceLimits>(problem: &Problem<B>, embedding: FloatTensor<B>) -> FloatTensor<B> {
    let embedding = float::<B, 2>(embedding);
    let [m, n] = embedding.dims();
    let multiplicity = float::<B, 1>(problem.multiplicity.clone());
    if n == 0 {
        return primitive(zeros([MEASURES, 0], &embedding));
    }
    let mut parts = Vec::new();
    each_block(problem, n, |range, inverse| {
        let r = range.len();
        let rows = embedding.clone().slice([0..m, range]);
        let pairs = Pairs::new(inverse, &multiplicity, problem.power, &rows, &embedding);
        let unweighted = pairs.exists * multiplicity.clone().reshape([1, n]);
        let (w, s, t) = (pairs.weight, pairs.source, pairs.target);
        let residual = s.clone() - t.clone();
        let sums = [
            w.clone(),
            w.clone() * s.clone() * s.clone(),
            w.clone() * s * t.clone(),
            w * t.clone() * t.clone(),
            unweighted.clone() * residual.clone() * residual,
            unweighted * t.clone() * t,
        ];
        parts.push(Tensor::cat(sums.into_iter().map(|sum| sum.sum_dim(1).reshape([1, r])).collect(), 0));
    });
    primitive(pad_share(parts, MEASURES, problem, &embedding))
}

#[allow(clippy::too_many_arguments)] // The operation's.
pub(crate) fn sampled<B: DeviceLimits>(
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
        let mut inverse_order = vec![0; n];
        for (at, &point) in epoch.order.iter().enumerate() {
            inverse_order[point as usize] = at as i32;
        }
        let order = list(epoch.order.iter().map(|&i| i as i32).collect());
        let x = points.clone().select(1, order.clone());
        let y = embedding.select(1, order.clone());
        let mu = multiplicity.clone().select(0, order);
        let mut moved = Vec::new();
        for k in 0..blocks {
            let (own, other) = (part(k), part(partner(k, blocks)));
            let rows = y.clone().slice([0..m, own.clone()]);
            if own == other {
                // A single block has no partner.
                moved.push(rows);
                continue;
            }
            let [own_x, other_x] = [own, other.clone()].map(|points| x.clone().slice([0..d, points]));
            let inverse = inverse_of(distances(&own_x, &other_x, metric), None);
            let columns = y.clone().slice([0..m, other.clone()]);
            moved.push(jacobi_step(inverse, &mu.clone().slice([other]), power, rows, &columns, epoch.alpha).0);
        }
        embedding = Tensor::cat(moved, 1).select(1, list(inverse_order));
    }
    primitive(embedding)
}

/// Step y + α·F/Σ μ·w, and e `[1, r]` before it.
fn jacobi_step<B: Backend>(
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

pub(crate) fn place<B: DeviceLimits>(
    inverse: FloatTensor<B>,
    multiplicity: FloatTensor<B>,
    power: f64,
    fixed: FloatTensor<B>,
    embedding: FloatTensor<B>,
    steps: usize,
) -> Steps<B> {
    let (inverse, multiplicity) = (float::<B, 2>(inverse), float::<B, 1>(multiplicity));
    let (fixed, embedding) = (float::<B, 2>(fixed), float::<B, 2>(embedding));
    let ([q, n], m) = (inverse.dims(), embedding.dims()[0]);
    let mut stresses = no_stress(steps, &embedding);
    if q == 0 || n == 0 {
        return Steps { embedding: primitive(embedding), stresses: primitive(stresses) };
    }
    let mut placed = Vec::new();
    for range in blocks(0..q, n) {
        let block = inverse.clone().slice([range.clone(), 0..n]);
        let mut rows = embedding.clone().slice([0..m, range.clone()]);
        for step in 0..steps {
            let (moved, stress) = jacobi_step(block.clone(), &multiplicity, power, rows, &fixed, 1.0);
            rows = moved;
            stresses = stresses.slice_assign([step..step + 1, range.clone()], stress);
        }
        placed.push(rows);
    }
    Steps { embedding: primitive(Tensor::cat(placed, 1)), stresses: primitive(stresses) }
}
