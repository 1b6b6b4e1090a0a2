//! Transfers of conditions and networks between host and device.

use burn::tensor::ops::FloatTensor;
use firebox_core::{
    Context, Error, Result,
    tensor::{all_float_data, failed, primitive, upload_int, widened},
};
use rayon::prelude::*;

use super::RbfOps;
use crate::types::{Aim, Coefficient, Conditions, Form, RowSums, Rows, Shape, System, Term};

/// The phase named by device errors.
pub(crate) const PHASE: &str = "training";

/// Points transposed per task.
const TASK_LEN: usize = 1 << 14;

/// Transposes row-major n × `dims` to dims × n.
pub(crate) fn to_dimension_major(values: &[f64], dims: usize) -> Vec<f64> {
    let n = values.len() / dims.max(1);
    let mut transposed = vec![0.0; n * dims];
    for (axis, row) in transposed.chunks_mut(n.max(1)).enumerate() {
        row.par_chunks_mut(TASK_LEN).zip(values.par_chunks(TASK_LEN * dims)).for_each(|(row, values)| {
            row.iter_mut().zip(values.iter().skip(axis).step_by(dims)).for_each(|(to, from)| *to = *from);
        });
    }
    transposed
}

/// Transposes row-major dims × n to n × dims.
pub(crate) fn to_row_major(values: &[f64], dims: usize) -> Vec<f64> {
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

/// Coefficients that differ per condition, c × n: α, the rows of β, γ.
pub(crate) fn coefficients(conditions: &Conditions) -> Vec<f64> {
    let Conditions { dims, laplacian, gradient, value, .. } = conditions;
    let each = |coefficient: &Coefficient| match coefficient {
        Coefficient::Each(values) => values.clone(),
        Coefficient::Zero | Coefficient::One => Vec::new(),
    };
    let beta = gradient.as_ref().map_or_else(Vec::new, |beta| to_dimension_major(beta, *dims));
    [each(laplacian), beta, each(value)].concat()
}

/// Uploads conditions.
pub(crate) fn rows<B: RbfOps>(conditions: &Conditions, device: &B::Device) -> Rows<B> {
    let Conditions { dims, points, laplacian, gradient, value, target } = conditions;
    let (n, coefficients) = (target.len(), coefficients(conditions));
    let each = coefficients.len() / n.max(1);
    Rows {
        points: primitive::<B, 2>(to_dimension_major(points, *dims), [*dims, n], device),
        form: Form { laplacian: term(laplacian), gradient: gradient.is_some(), value: term(value) },
        coefficients: (each > 0).then(|| primitive::<B, 2>(coefficients, [each, n], device)),
        target: primitive::<B, 1>(target.clone(), [n], device),
    }
}

/// Uploads a system.
pub(crate) fn aim<B: RbfOps>(system: &System, device: &B::Device) -> Aim<B> {
    Aim {
        interior: rows(&system.interior, device),
        boundary: rows(&system.boundary, device),
        penalty: system.penalty,
        whole: None,
    }
}

/// Uploads centres, row-major m × `dims`, and widths.
pub(crate) fn shape<B: RbfOps>(centres: &[f64], widths: &[f64], dims: usize, device: &B::Device) -> Shape<B> {
    let m = widths.len();
    Shape {
        centres: primitive::<B, 2>(to_dimension_major(centres, dims), [dims, m], device),
        widths: primitive::<B, 1>(widths.to_vec(), [m], device),
    }
}

/// Uploads a vector.
pub(crate) fn vector<B: RbfOps>(values: &[f64], device: &B::Device) -> FloatTensor<B> {
    primitive::<B, 1>(values.to_vec(), [values.len()], device)
}

/// Uploads weighted sums of rows, each a list of rows and factors; `None` without terms.
pub(crate) fn row_sums<B: RbfOps>(sums: &[Vec<(usize, f64)>], device: &B::Device) -> Option<RowSums<B>> {
    let owned = sums.iter().enumerate().flat_map(|(owner, sum)| sum.iter().map(move |_| owner as i32)).collect();
    let terms = || sums.iter().flatten();
    let mut starts = vec![0];
    sums.iter().for_each(|sum| starts.push(starts[starts.len() - 1] + sum.len() as i32));
    (terms().count() > 0).then(|| RowSums {
        starts: upload_int::<B>(starts, device),
        owners: upload_int::<B>(owned, device),
        rows: upload_int::<B>(terms().map(|(row, _)| *row as i32).collect(), device),
        factors: vector::<B>(&terms().map(|(_, factor)| *factor).collect::<Vec<_>>(), device),
        count: sums.len(),
    })
}

/// Downloads tensors in one transaction. Fails if any preceding work on the device failed.
pub(crate) fn fetch<B: RbfOps, const N: usize>(
    tensors: [FloatTensor<B>; N],
    context: &Context<B>,
) -> Result<[Vec<f64>; N]> {
    fetch_all(tensors.into(), context)?.try_into().map_err(|_| incomplete(context))
}

/// [`fetch`] for any number of tensors.
pub(crate) fn fetch_all<B: RbfOps>(tensors: Vec<FloatTensor<B>>, context: &Context<B>) -> Result<Vec<Vec<f64>>> {
    B::finish(&context.device, PHASE)?;
    peek(tensors, context)
}

/// [`fetch_all`] without checking preceding work, which saves a round trip: for numbers that are not used before a later
/// `fetch` or `B::finish`.
pub(crate) fn peek<B: RbfOps>(tensors: Vec<FloatTensor<B>>, context: &Context<B>) -> Result<Vec<Vec<f64>>> {
    let requested = tensors.len();
    if requested == 0 {
        return Ok(Vec::new());
    }
    let read = all_float_data::<B>(tensors, PHASE)?;
    if read.len() == requested { Ok(read.iter().map(widened).collect()) } else { Err(incomplete(context)) }
}

fn incomplete<B: RbfOps>(context: &Context<B>) -> Error {
    failed(B::limits(&context.device).device, PHASE, "fewer tensors were returned than requested")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transposing_twice_is_the_identity() {
        let values: Vec<f64> = (0..12).map(f64::from).collect();
        for dims in [2, 3] {
            assert_eq!(to_row_major(&to_dimension_major(&values, dims), dims), values);
        }
        assert_eq!(to_dimension_major(&values[..4], 2), [0.0, 2.0, 1.0, 3.0]);
    }
}
