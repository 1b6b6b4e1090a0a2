//! Blocks of rows, conversions and bit packing.

use std::ops::Range;

use burn::tensor::{DType, Int, Tensor, TensorData, backend::Backend, ops::IntTensor};
pub(super) use firebox_core::tensor::into_primitive as primitive;

/// Largest number of elements of a block: 64 MiB of f32.
const BLOCK: usize = 1 << 24;

pub(super) fn int<B: Backend, const D: usize>(tensor: IntTensor<B>) -> Tensor<B, D, Int> {
    Tensor::from_primitive(tensor)
}

/// 32-bit zeros.
pub(super) fn zeros<B: Backend, const D: usize>(shape: [usize; D], device: &B::Device) -> IntTensor<B> {
    Tensor::<B, D, Int>::zeros(shape, (device, DType::I32)).into_primitive()
}

/// Splits rows of `width` columns into blocks of at most [`BLOCK`] elements.
pub(super) fn blocks(rows: Range<usize>, width: usize) -> impl Iterator<Item = Range<usize>> {
    let height = (BLOCK / width.max(1)).max(1);
    let end = rows.end;
    rows.step_by(height).map(move |start| start..(start + height).min(end))
}

pub(super) fn indices<B: Backend>(rows: &[u32], device: &B::Device) -> Tensor<B, 1, Int> {
    let rows: Vec<i64> = rows.iter().map(|&row| i64::from(row)).collect();
    let count = rows.len();
    Tensor::from_data(TensorData::new(rows, [count]), device)
}

/// Packs rows of bits `[r, 32·w]` into words `[r, w]`.
pub(super) fn pack<B: Backend>(bits: Tensor<B, 2, Int>) -> Tensor<B, 2, Int> {
    let [rows, columns] = bits.dims();
    let device = bits.device();
    // Bit 31 is the sign of a 32-bit word.
    let values: Vec<i32> = (0..32).map(|bit| 1i32 << bit).collect();
    let values = Tensor::<B, 1, Int>::from_data(TensorData::new(values, [32]), (&device, DType::I32));
    (bits.cast(DType::I32).reshape([rows, columns / 32, 32]) * values.reshape([1, 1, 32]))
        .sum_dim(2)
        .reshape([rows, columns / 32])
}

/// Pads with columns of 0 to a multiple of 32.
pub(super) fn pad<B: Backend>(bits: Tensor<B, 2, Int>) -> Tensor<B, 2, Int> {
    let [rows, columns] = bits.dims();
    let missing = columns.next_multiple_of(32) - columns;
    if missing == 0 {
        return bits;
    }
    let zeros = Tensor::zeros([rows, missing], (&bits.device(), bits.dtype()));
    Tensor::cat(vec![bits, zeros], 1)
}
