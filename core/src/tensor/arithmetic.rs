//! Burn's arithmetic on float primitives, with one machine code for all crates, as in the module `operations`.
//!
//! `firebox-backends` contains each function listed in [`addresses`] for backends on the host. GPUs have kernels in place of
//! default bodies; the perceptron's crate compiles what it uses of this module for them.

use burn::tensor::{FloatDType, Shape, TensorMetadata, backend::Backend, get_device_settings, ops::FloatTensor};

/// Addresses of this module's functions for `B`: a static that refers to `addresses::<B>` compiles them.
pub fn addresses<B: Backend>() -> Vec<*const ()> {
    vec![
        empty::<B> as *const (),
        zeros_of::<B> as *const (),
        ones_of::<B> as *const (),
        subtract::<B> as *const (),
        divide::<B> as *const (),
        shift::<B> as *const (),
        exponential::<B> as *const (),
        transpose::<B> as *const (),
        sum_along::<B> as *const (),
        sum::<B> as *const (),
        where_not_positive::<B> as *const (),
    ]
}

/// A tensor of zeros of the type `dtype`.
#[inline(never)]
pub fn zeros_of<B: Backend>(shape: Shape, device: &B::Device, dtype: FloatDType) -> FloatTensor<B> {
    B::float_zeros(shape, device, dtype)
}

/// A tensor of ones of the type `dtype`.
#[inline(never)]
pub fn ones_of<B: Backend>(shape: Shape, device: &B::Device, dtype: FloatDType) -> FloatTensor<B> {
    B::float_ones(shape, device, dtype)
}

/// A tensor of the type `dtype` that is not filled.
#[inline(never)]
pub fn empty<B: Backend>(shape: Shape, device: &B::Device, dtype: FloatDType) -> FloatTensor<B> {
    B::float_empty(shape, device, dtype)
}

/// `a` − `b`, element by element.
#[inline(never)]
pub fn subtract<B: Backend>(a: FloatTensor<B>, b: FloatTensor<B>) -> FloatTensor<B> {
    B::float_sub(a, b)
}

/// `a` / `b`, element by element.
#[inline(never)]
pub fn divide<B: Backend>(a: FloatTensor<B>, b: FloatTensor<B>) -> FloatTensor<B> {
    B::float_div(a, b)
}

/// `tensor` + `addend`.
#[inline(never)]
pub fn shift<B: Backend>(tensor: FloatTensor<B>, addend: f64) -> FloatTensor<B> {
    B::float_add_scalar(tensor, addend.into())
}

/// exp of each element.
#[inline(never)]
pub fn exponential<B: Backend>(tensor: FloatTensor<B>) -> FloatTensor<B> {
    B::float_exp(tensor)
}

/// The last two dimensions swapped.
#[inline(never)]
pub fn transpose<B: Backend>(tensor: FloatTensor<B>) -> FloatTensor<B> {
    B::float_transpose(tensor)
}

/// Sums along dimension `dim`, which keeps the length 1.
#[inline(never)]
pub fn sum_along<B: Backend>(tensor: FloatTensor<B>, dim: usize) -> FloatTensor<B> {
    B::float_sum_dim(tensor, dim)
}

/// The sum `[1]` of all elements.
#[inline(never)]
pub fn sum<B: Backend>(tensor: FloatTensor<B>) -> FloatTensor<B> {
    B::float_sum(tensor)
}

/// The vector `a` if the number `condition` `[1]` is 0 or negative, otherwise the vector `b` of the same shape.
#[inline(never)]
pub fn where_not_positive<B: Backend>(
    condition: FloatTensor<B>,
    a: FloatTensor<B>,
    b: FloatTensor<B>,
) -> FloatTensor<B> {
    let dtype = get_device_settings::<B>(&B::float_device(&a)).bool_dtype;
    let mask = B::float_lower_equal_elem(condition, 0.0.into(), dtype);
    let mask = B::bool_expand(mask, b.shape());
    B::float_mask_where(b, mask, a)
}
