//! Tensors from numbers on the host.

use burn::tensor::{Element, Tensor, TensorData, backend::Backend, ops::FloatTensor};

/// A tensor of `B`'s own float type, whatever default the device has by now: Burn keeps one default float a device,
/// and whoever uses the device first sets it.
///
/// # Panics
/// If `values` does not fill `shape`.
pub fn floats<B: Backend, const D: usize>(values: Vec<f64>, shape: [usize; D], device: &B::Device) -> Tensor<B, D> {
    let data = TensorData::new(values, shape).convert::<B::FloatElem>();
    Tensor::from_data(data, (device, B::FloatElem::dtype()))
}

/// [`floats`] as the primitive that operations on backends take.
///
/// # Panics
/// If `values` does not fill `shape`.
pub fn primitive<B: Backend, const D: usize>(
    values: Vec<f64>,
    shape: [usize; D],
    device: &B::Device,
) -> FloatTensor<B> {
    floats::<B, D>(values, shape, device).into_primitive().tensor()
}
