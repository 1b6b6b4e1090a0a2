//! Conditions and networks between the host and a device.

use std::ops::Range;

use burn::tensor::{Transaction, ops::FloatTensor};
use firebox_core::{
    Context, Result,
    tensor::{failed, primitive, tensor, widened},
};
use rayon::prelude::*;

use crate::{
    Coefficient, Conditions, Operator, RbfOps, System,
    limit::Limit,
    ops::{Aim, Form, Rows, Shape, Term},
    subset::part,
    trust::norm,
};

/// Numbers that a thread turns at once.
const TURNED: usize = 1 << 14;

/// Row-major n × `dims` as dims × n.
pub(crate) fn turned(values: &[f64], dims: usize) -> Vec<f64> {
    let n = values.len() / dims.max(1);
    let mut turned = vec![0.0; n * dims];
    for (axis, row) in turned.chunks_mut(n.max(1)).enumerate() {
        row.par_chunks_mut(TURNED).zip(values.par_chunks(TURNED * dims)).for_each(|(row, values)| {
            row.iter_mut().zip(values.iter().skip(axis).step_by(dims)).for_each(|(to, from)| *to = *from);
        });
    }
    turned
}

/// Row-major dims × n as n × dims.
pub(crate) fn turned_back(values: &[f64], dims: usize) -> Vec<f64> {
    let n = values.len() / dims;
    (0..n).flat_map(|i| (0..dims).map(move |axis| values[axis * n + i])).collect()
}

fn term(coefficient: &Coefficient) -> Term {
    match coefficient {
        Coefficient::Zero => Term::Zero,
        Coefficient::One => Term::One,
        Coefficient::Each(_) => Term::Each,
    }
}

/// Conditions as the operations take them.
pub(crate) fn rows<B: RbfOps>(conditions: &Conditions, device: &B::Device) -> Rows<B> {
    let Conditions { dims, points, laplacian, gradient, value, target } = conditions;
    let n = target.len();
    let mut coefficients = Vec::new();
    if let Coefficient::Each(alpha) = laplacian {
        coefficients.extend_from_slice(alpha);
    }
    if let Some(beta) = gradient {
        coefficients.extend(turned(beta, *dims));
    }
    if let Coefficient::Each(gamma) = value {
        coefficients.extend_from_slice(gamma);
    }
    let each = coefficients.len() / n.max(1);
    Rows {
        points: primitive::<B, 2>(turned(points, *dims), [*dims, n], device),
        form: Form { laplacian: term(laplacian), gradient: gradient.is_some(), value: term(value) },
        coefficients: (each > 0).then(|| primitive::<B, 2>(coefficients, [each, n], device)),
        target: primitive::<B, 1>(target.clone(), [n], device),
    }
}

/// A system as the operations take it.
pub(crate) fn aim<B: RbfOps>(system: &System, device: &B::Device) -> Aim<B> {
    Aim {
        interior: rows(&system.interior, device),
        boundary: rows(&system.boundary, device),
        penalty: system.penalty,
        whole: None,
    }
}

/// Centres, row-major m × `dims`, and widths.
pub(crate) fn shape<B: RbfOps>(centres: &[f64], widths: &[f64], dims: usize, device: &B::Device) -> Shape<B> {
    let m = widths.len();
    Shape {
        centres: primitive::<B, 2>(turned(centres, dims), [dims, m], device),
        widths: primitive::<B, 1>(widths.to_vec(), [m], device),
    }
}

/// Weights.
pub(crate) fn vector<B: RbfOps>(values: &[f64], device: &B::Device) -> FloatTensor<B> {
    primitive::<B, 1>(values.to_vec(), [values.len()], device)
}

/// Vectors and matrices on the host, all read at once; fails if anything asked of the device before them did.
pub(crate) fn fetch<B: RbfOps>(
    vectors: Vec<FloatTensor<B>>,
    matrices: Vec<FloatTensor<B>>,
    context: &Context<B>,
) -> Result<Vec<Vec<f64>>> {
    B::finish(&context.device, PHASE)?;
    peek(vectors, matrices, context)
}

/// [`fetch`] without a word on what failed before, which another round trip to the device tells: for numbers that nobody
/// sees before a `fetch` or `B::finish` after them.
pub(crate) fn peek<B: RbfOps>(
    vectors: Vec<FloatTensor<B>>,
    matrices: Vec<FloatTensor<B>>,
    context: &Context<B>,
) -> Result<Vec<Vec<f64>>> {
    let wanted = vectors.len() + matrices.len();
    if wanted == 0 {
        return Ok(Vec::new());
    }
    let mut transaction = Transaction::default();
    for vector in vectors {
        transaction = transaction.register(tensor::<B, 1>(vector));
    }
    for matrix in matrices {
        transaction = transaction.register(tensor::<B, 2>(matrix));
    }
    let lost = |error: String| failed(B::limits(&context.device).device, PHASE, error);
    let read = transaction.try_execute().map_err(|error| lost(error.to_string()))?;
    if read.len() != wanted {
        return Err(lost("less came back than was asked for".into()));
    }
    Ok(read.iter().map(widened).collect())
}

pub(crate) const PHASE: &str = "training";

/// Rows of A of one kind.
struct Kind<B: RbfOps> {
    /// 0 inside, 1 on the boundary.
    place: usize,
    /// Their targets are 0, so that a residual is a product.
    rows: Rows<B>,
    /// Which of all rows, the interior ones first.
    range: Range<usize>,
    /// What each counts.
    share: f64,
}

/// This rank's rows of A of a system, each multiplied by what it counts, known by products on the device. Vectors of as
/// many numbers as there are rows have this rank's; others are the same on all ranks.
pub(crate) struct DeviceMatrix<'a, B: RbfOps> {
    kinds: Vec<Kind<B>>,
    shape: Shape<B>,
    neurons: usize,
    /// Applies until the time is up and the caller knows it.
    limit: Option<Limit>,
    context: &'a Context<B>,
}

impl<'a, B: RbfOps> DeviceMatrix<'a, B> {
    pub(crate) fn new(system: &System, centres: &[f64], widths: &[f64], limit: Limit, context: &'a Context<B>) -> Self {
        let share = context.communicator.share();
        let kind = |(place, conditions, first, factor): (usize, &Conditions, usize, f64)| {
            let (n, own) = (conditions.len(), share.of(conditions.len()));
            let rows = || {
                let plain = Conditions { target: vec![0.0; own.len()], ..part(conditions, share) };
                rows::<B>(&plain, &context.device)
            };
            let range = first + own.start..first + own.end;
            // Some devices have no empty tensors.
            (!own.is_empty()).then(|| Kind { place, rows: rows(), range, share: (factor / n as f64).sqrt() })
        };
        let System { interior, boundary, penalty } = system;
        let kinds = [(0, interior, 0, 1.0), (1, boundary, interior.len(), *penalty)];
        Self {
            kinds: kinds.into_iter().filter_map(kind).collect(),
            shape: shape(centres, widths, interior.dims, &context.device),
            neurons: widths.len(),
            limit: Some(limit),
            context,
        }
    }

    /// From now on products are whole, whatever the time.
    pub(crate) fn lift_limit(&mut self) {
        self.limit = None;
    }

    fn watched<R>(&self, work: impl FnOnce() -> Result<R>) -> Result<R> {
        match &self.limit {
            Some(limit) => limit.watched(self.context, work),
            None => self.context.watched(work)?,
        }
    }

    /// This rank's of a number for every row.
    pub(crate) fn own(&self, all: &[f64]) -> Vec<f64> {
        self.kinds.iter().flat_map(|kind| &all[kind.range.clone()]).copied().collect()
    }

    /// Σ of the squares of a number for every row of this rank, over all ranks: inside, and on the boundary.
    pub(crate) fn squares(&self, mut own: &[f64]) -> [f64; 2] {
        let mut sums = [0.0; 2];
        for kind in &self.kinds {
            let (these, rest) = own.split_at(kind.range.len());
            (sums[kind.place], own) = (these.iter().map(|it| it * it).sum(), rest);
        }
        self.context.communicator.all_sum(&mut sums);
        sums
    }
}

impl<B: RbfOps> Operator for DeviceMatrix<'_, B> {
    fn apply(&mut self, x: &[f64]) -> Result<Vec<f64>> {
        self.context.go_on()?;
        let product = |kind: &Kind<B>| B::rbf_residual(&kind.rows, &self.shape, vector::<B>(x, &self.context.device));
        let products = self.watched(|| fetch(self.kinds.iter().map(product).collect(), Vec::new(), self.context))?;
        let scaled = products.into_iter().zip(&self.kinds);
        Ok(scaled.flat_map(|(product, kind)| product.into_iter().map(move |it| kind.share * it)).collect())
    }

    fn transposed(&mut self, mut y: &[f64]) -> Result<Vec<f64>> {
        let products = self.watched(|| {
            let mut products = Vec::new();
            for kind in &self.kinds {
                let (values, rest) = y.split_at(kind.range.len());
                let values: Vec<f64> = values.iter().map(|it| kind.share * it).collect();
                let values = vector::<B>(&values, &self.context.device);
                products.push(B::rbf_transposed(&kind.rows, &self.shape, values));
                y = rest;
            }
            fetch(products, Vec::new(), self.context)
        });
        let mut products = products?.into_iter();
        let mut sum = products.next().unwrap_or_else(|| vec![0.0; self.neurons]);
        products.for_each(|product| sum.iter_mut().zip(product).for_each(|(sum, it)| *sum += it));
        self.context.communicator.all_sum(&mut sum);
        Ok(sum)
    }

    fn length(&self, y: &[f64]) -> f64 {
        let (own, ranks) = (norm(y.iter().copied()), &*self.context.communicator);
        if ranks.size() == 1 { own } else { norm(ranks.all_gather(&[own]).into_iter()) }
    }

    fn out_of_time(&mut self) -> bool {
        let over = self.limit.is_some_and(|limit| limit.is_over());
        let over = self.agreed(over || self.limit.is_none()) && !self.context.cancelled();
        if over {
            self.limit = None;
        }
        over
    }

    fn agreed(&self, done: bool) -> bool {
        self.context.communicator.first(u8::from(done)) == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turning_twice_changes_nothing() {
        let values: Vec<f64> = (0..12).map(f64::from).collect();
        for dims in [2, 3] {
            assert_eq!(turned_back(&turned(&values, dims), dims), values);
        }
        assert_eq!(turned(&values[..4], 2), [0.0, 2.0, 1.0, 3.0]);
    }
}
