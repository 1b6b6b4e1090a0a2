//! Conditions and networks between the host and a device.

use burn::tensor::{Transaction, ops::FloatTensor};
use firebox_core::{
    Context, Error, Result,
    tensor::{failed, primitive, tensor, widened},
};

use crate::{
    Coefficient, Conditions, Operator, RbfOps, System,
    ops::{Aim, Form, Rows, Shape, Term},
};

/// Row-major n × `dims` as dims × n.
pub(crate) fn turned(values: &[f64], dims: usize) -> Vec<f64> {
    (0..dims).flat_map(|axis| values.iter().skip(axis).step_by(dims).copied()).collect()
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
    Aim { interior: rows(&system.interior, device), boundary: rows(&system.boundary, device), penalty: system.penalty }
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

/// Vectors and matrices on the host, all read at once.
pub(crate) fn fetch<B: RbfOps>(
    vectors: Vec<FloatTensor<B>>,
    matrices: Vec<FloatTensor<B>>,
    context: &Context<B>,
) -> Result<Vec<Vec<f64>>> {
    let wanted = vectors.len() + matrices.len();
    B::finish(&context.device, PHASE)?;
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

/// A of a system, each row multiplied by what it counts, known by its products on the device.
pub(crate) struct DeviceMatrix<'a, B: RbfOps> {
    /// Interior and boundary, their targets 0, so that a residual is a product.
    kinds: [(Rows<B>, usize, f64); 2],
    shape: Shape<B>,
    context: &'a Context<B>,
}

impl<'a, B: RbfOps> DeviceMatrix<'a, B> {
    pub(crate) fn new(system: &System, centres: &[f64], widths: &[f64], context: &'a Context<B>) -> Self {
        let kind = |conditions: &Conditions, factor: f64| {
            let n = conditions.len();
            let plain = Conditions { target: vec![0.0; n], ..conditions.clone() };
            (rows::<B>(&plain, &context.device), n, (factor / n.max(1) as f64).sqrt())
        };
        let kinds = [kind(&system.interior, 1.0), kind(&system.boundary, system.penalty)];
        Self { kinds, shape: shape(centres, widths, system.interior.dims, &context.device), context }
    }
}

impl<B: RbfOps> Operator for DeviceMatrix<'_, B> {
    fn apply(&mut self, x: &[f64]) -> Result<Vec<f64>> {
        go_on(self.context)?;
        let product = |(rows, _, _): &(Rows<B>, usize, f64)| {
            B::rbf_residual(rows, &self.shape, vector::<B>(x, &self.context.device))
        };
        let products = self.kinds.iter().map(product).collect();
        let products = fetch(products, Vec::new(), self.context)?;
        let scaled = products.into_iter().zip(&self.kinds);
        Ok(scaled.flat_map(|(product, &(_, _, share))| product.into_iter().map(move |it| share * it)).collect())
    }

    fn transposed(&mut self, y: &[f64]) -> Result<Vec<f64>> {
        let (inside, outside) = y.split_at(self.kinds[0].1.min(y.len()));
        let product = |((rows, _, share), values): (&(Rows<B>, usize, f64), &[f64])| {
            let values: Vec<f64> = values.iter().map(|it| share * it).collect();
            B::rbf_transposed(rows, &self.shape, vector::<B>(&values, &self.context.device))
        };
        let products = self.kinds.iter().zip([inside, outside]).map(product).collect();
        let mut products = fetch(products, Vec::new(), self.context)?.into_iter();
        let mut sum = products.next().unwrap_or_default();
        products.for_each(|product| sum.iter_mut().zip(product).for_each(|(sum, it)| *sum += it));
        Ok(sum)
    }
}

/// Ends a long solution if that is wished.
fn go_on<B: RbfOps>(context: &Context<B>) -> Result<()> {
    if context.observer.cancelled() { Err(Error::Cancelled) } else { Ok(()) }
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
