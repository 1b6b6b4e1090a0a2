//! Slices out of Burn's NdArray tensors, and tensors out of vectors.

use burn::tensor::{Shape, TensorMetadata};
use burn_ndarray::{NdArrayTensor, SharedArray};
use ndarray::IxDyn;

#[doc(hidden)]
pub use burn::tensor::DType;

use crate::cpu::Real;

/// A float that NdArray computes with.
pub trait Float: Real {
    /// The tensor's numbers in row-major order, converted if it holds others.
    fn dense(tensor: NdArrayTensor) -> SharedArray<Self>;
    /// The memory of a tensor that nothing else holds, whatever its numbers are; none of any other.
    fn memory(tensor: NdArrayTensor) -> Vec<Self>;
    /// A tensor of these numbers.
    fn tensor(values: Vec<Self>, shape: &[usize]) -> NdArrayTensor;
}

macro_rules! float {
    ($float:ident, $variant:ident, $other:ident) => {
        impl Float for $float {
            fn dense(tensor: NdArrayTensor) -> SharedArray<Self> {
                match tensor {
                    NdArrayTensor::$variant(array) => dense(array.into_shared()),
                    NdArrayTensor::$other(array) => dense(array.into_shared().mapv(|x| x as $float).into_shared()),
                    // Floats have these two types on NdArray.
                    _ => SharedArray::default(IxDyn(&[0])),
                }
            }

            fn memory(tensor: NdArrayTensor) -> Vec<Self> {
                match tensor {
                    NdArrayTensor::$variant(array) if array.is_unique() => memory(array.into_shared()),
                    _ => Vec::new(),
                }
            }

            fn tensor(values: Vec<Self>, shape: &[usize]) -> NdArrayTensor {
                shaped(values, shape).into()
            }
        }
    };
}

float!(f32, F32, F64);
float!(f64, F64, F32);

/// Runs `$body` with `$E` the float of the tensor `$of`.
#[macro_export]
macro_rules! by_float {
    ($of:expr, $E:ident => $body:expr) => {
        match $of.dtype() {
            $crate::ndarray::DType::F64 => {
                type $E = f64;
                $body
            }
            _ => {
                type $E = f32;
                $body
            }
        }
    };
}

pub use crate::by_float;

/// An array in row-major order, copied only where the numbers lie in another.
pub fn dense<E: Clone>(array: SharedArray<E>) -> SharedArray<E> {
    if array.is_standard_layout() { array } else { array.as_standard_layout().into_owned().into_shared() }
}

fn memory<E>(array: SharedArray<E>) -> Vec<E> {
    array.try_into_owned_nocopy().map(|array| array.into_raw_vec_and_offset().0).unwrap_or_default()
}

/// The numbers of a [`dense`] array.
pub fn slice<E>(array: &SharedArray<E>) -> &[E] {
    // A dense array always is one.
    array.as_slice().unwrap_or_default()
}

/// An array of these numbers.
pub fn shaped<E: Clone + Default>(values: Vec<E>, shape: &[usize]) -> SharedArray<E> {
    // Every caller fills its shape.
    SharedArray::from_shape_vec(IxDyn(shape), values).unwrap_or_else(|_| SharedArray::default(IxDyn(shape)))
}

/// The shape of a tensor of `D` dimensions.
pub fn dims<const D: usize>(tensor: &NdArrayTensor) -> [usize; D] {
    let shape: Shape = tensor.shape();
    shape.dims()
}
