//! Burn's operations on primitives, with one machine code for all crates.
//!
//! rustc compiles a generic function again in every crate that uses it, with all of Burn's kernels below it, unless the
//! function is `#[inline(never)]` and a dependency contains it for the same types. `firebox-backends` contains each
//! function listed in [`addresses`] for each backend, so an algorithm's crate only links to it.

use burn::tensor::{
    Element, FloatDType, Shape, Slice, TensorData,
    backend::{Backend, ExecutionError},
    ops::{FloatTensor, IntTensor, QuantizedTensor, TransactionPrimitive},
    try_read_sync,
};

/// Result of a transfer, `None` if it is still pending.
pub(super) type Transfer<T> = Option<Result<T, ExecutionError>>;

/// Addresses of this module's functions for `B`: a static that refers to `addresses::<B>` compiles them.
pub fn addresses<B: Backend>() -> Vec<*const ()> {
    vec![
        upload::<B> as *const (),
        from_data::<B> as *const (),
        read::<B> as *const (),
        read_all::<B> as *const (),
        read_int::<B> as *const (),
        zeros::<B> as *const (),
        reshape::<B> as *const (),
        slice::<B> as *const (),
        slice_assign::<B> as *const (),
        repeat::<B> as *const (),
        concatenate::<B> as *const (),
        select::<B> as *const (),
        cast::<B> as *const (),
        dequantize::<B> as *const (),
        add::<B> as *const (),
        multiply::<B> as *const (),
        scale::<B> as *const (),
        reciprocal::<B> as *const (),
        upload_int::<B> as *const (),
        reshape_int::<B> as *const (),
        concatenate_int::<B> as *const (),
        select_int::<B> as *const (),
        add_int::<B> as *const (),
    ]
}

/// Creates a tensor of `shape` from row-major values that fill it.
#[inline(never)]
pub(super) fn upload<B: Backend>(values: Vec<B::FloatElem>, shape: Shape, device: &B::Device) -> FloatTensor<B> {
    let count = values.len();
    if count == 0 {
        return from_data::<B>(TensorData::new(values, shape), device);
    }
    // CUDA pads rows on upload, and every kernel would then have to copy the tensor; a single row is not padded.
    reshape::<B>(from_data::<B>(TensorData::new(values, [count]), device), shape)
}

/// Creates a tensor of the shape and type of `data`.
#[inline(never)]
pub fn from_data<B: Backend>(data: TensorData, device: &B::Device) -> FloatTensor<B> {
    B::float_from_data(data, device)
}

#[inline(never)]
pub(super) fn read<B: Backend>(tensor: FloatTensor<B>) -> Transfer<TensorData> {
    try_read_sync(B::float_into_data(tensor))
}

#[inline(never)]
pub(super) fn read_all<B: Backend>(tensors: Vec<FloatTensor<B>>) -> Transfer<Vec<TensorData>> {
    let transaction = TransactionPrimitive::<B>::new(tensors, Vec::new(), Vec::new(), Vec::new());
    try_read_sync(B::tr_execute(transaction)).map(|read| read.map(|data| data.read_floats))
}

#[inline(never)]
pub(super) fn read_int<B: Backend>(tensor: IntTensor<B>) -> Transfer<TensorData> {
    try_read_sync(B::int_into_data(tensor))
}

/// A tensor of zeros of `B`'s float type.
#[inline(never)]
pub fn zeros<B: Backend>(shape: Shape, device: &B::Device) -> FloatTensor<B> {
    B::float_zeros(shape, device, B::FloatElem::dtype().into())
}

/// The same values, row-major, in another shape.
///
/// # Panics
/// If the number of values differs.
#[inline(never)]
pub fn reshape<B: Backend>(tensor: FloatTensor<B>, shape: Shape) -> FloatTensor<B> {
    B::float_reshape(tensor, shape)
}

#[inline(never)]
pub(super) fn slice<B: Backend>(tensor: FloatTensor<B>, slices: &[Slice]) -> FloatTensor<B> {
    B::float_slice(tensor, slices)
}

/// `tensor` with the block `slices` replaced by `values`.
#[inline(never)]
pub fn slice_assign<B: Backend>(tensor: FloatTensor<B>, slices: &[Slice], values: FloatTensor<B>) -> FloatTensor<B> {
    B::float_slice_assign(tensor, slices, values)
}

/// The tensor `times` times, one after the other along dimension `dim`.
#[inline(never)]
pub fn repeat<B: Backend>(tensor: FloatTensor<B>, dim: usize, times: usize) -> FloatTensor<B> {
    B::float_repeat_dim(tensor, dim, times)
}

/// Concatenates tensors along dimension `dim`; their other dimensions are equal.
#[inline(never)]
pub fn concatenate<B: Backend>(tensors: Vec<FloatTensor<B>>, dim: usize) -> FloatTensor<B> {
    B::float_cat(tensors, dim)
}

/// The elements of dimension `dim` at `indices [k]`.
#[inline(never)]
pub fn select<B: Backend>(tensor: FloatTensor<B>, dim: usize, indices: IntTensor<B>) -> FloatTensor<B> {
    B::float_select(tensor, dim, indices)
}

/// The same values in another float type.
#[inline(never)]
pub fn cast<B: Backend>(tensor: FloatTensor<B>, dtype: FloatDType) -> FloatTensor<B> {
    B::float_cast(tensor, dtype)
}

#[inline(never)]
pub(super) fn dequantize<B: Backend>(tensor: QuantizedTensor<B>) -> FloatTensor<B> {
    B::dequantize(tensor, B::FloatElem::dtype().into())
}

/// `a` + `b`, element by element.
#[inline(never)]
pub fn add<B: Backend>(a: FloatTensor<B>, b: FloatTensor<B>) -> FloatTensor<B> {
    B::float_add(a, b)
}

/// `a` · `b`, element by element.
#[inline(never)]
pub fn multiply<B: Backend>(a: FloatTensor<B>, b: FloatTensor<B>) -> FloatTensor<B> {
    B::float_mul(a, b)
}

/// `factor` · `tensor`.
#[inline(never)]
pub fn scale<B: Backend>(tensor: FloatTensor<B>, factor: f64) -> FloatTensor<B> {
    B::float_mul_scalar(tensor, factor.into())
}

/// 1 / `tensor`, element by element.
#[inline(never)]
pub fn reciprocal<B: Backend>(tensor: FloatTensor<B>) -> FloatTensor<B> {
    B::float_recip(tensor)
}

/// Creates a vector `[n]` of 32-bit integers.
#[inline(never)]
pub fn upload_int<B: Backend>(values: Vec<i32>, device: &B::Device) -> IntTensor<B> {
    let shape = [values.len()];
    B::int_from_data(TensorData::new(values, shape), device)
}

/// [`reshape`] of integers.
///
/// # Panics
/// If the number of values differs.
#[inline(never)]
pub fn reshape_int<B: Backend>(tensor: IntTensor<B>, shape: Shape) -> IntTensor<B> {
    B::int_reshape(tensor, shape)
}

/// [`concatenate`] of integers.
#[inline(never)]
pub fn concatenate_int<B: Backend>(tensors: Vec<IntTensor<B>>, dim: usize) -> IntTensor<B> {
    B::int_cat(tensors, dim)
}

/// [`add`] of integers.
#[inline(never)]
pub fn add_int<B: Backend>(a: IntTensor<B>, b: IntTensor<B>) -> IntTensor<B> {
    B::int_add(a, b)
}

/// [`select`] of integers.
#[inline(never)]
pub fn select_int<B: Backend>(tensor: IntTensor<B>, dim: usize, indices: IntTensor<B>) -> IntTensor<B> {
    B::int_select(tensor, dim, indices)
}
