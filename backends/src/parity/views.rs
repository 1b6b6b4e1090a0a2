//! Tensors of inputs with unusual memory layouts, between numbers that no operation may read.

use burn::tensor::{Element, backend::Backend, ops::FloatTensor};
use firebox_core::tensor::{primitive, slice};

/// Numbers before and after each row of a view: a multiple of all backends' alignment of binding offsets (at most 512
/// bytes), so that no backend copies the view.
const PAD: usize = 128;

/// A vector `[n]` as a view that begins within its memory.
pub fn vector<B: Backend>(values: &[f64], device: &B::Device) -> FloatTensor<B> {
    if values.is_empty() {
        return B::float_empty([0].into(), device, B::FloatElem::dtype().into());
    }
    let padded = padded(values, values.len());
    let count = padded.len();
    let own = PAD..PAD + values.len();
    slice::<B, 1>(primitive::<B, 1>(padded, [count], device), [own])
}

/// A matrix from row-major `values` as a non-contiguous view: transposed, or a slice of a wider one.
pub fn matrix<B: Backend>(values: &[f64], [rows, columns]: [usize; 2], device: &B::Device) -> FloatTensor<B> {
    if rows % 2 == 0 || columns == 0 {
        let turned = (0..columns).flat_map(|column| values.iter().skip(column).step_by(columns));
        return B::float_transpose(primitive::<B, 2>(turned.copied().collect(), [columns, rows], device));
    }
    let wide = primitive::<B, 2>(padded(values, columns), [rows, columns + 2 * PAD], device);
    slice::<B, 2>(wide, [0..rows, PAD..PAD + columns])
}

/// Each row with [`PAD`] NaNs before and after it.
fn padded(values: &[f64], columns: usize) -> Vec<f64> {
    let padding = [f64::NAN; PAD];
    values.chunks(columns).flat_map(|row| [&padding, row, &padding].concat()).collect()
}
