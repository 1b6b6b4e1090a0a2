//! Conversions between Burn's NdArray tensors and slices or vectors.

use burn::tensor::{Shape, TensorMetadata};
use burn_ndarray::{NdArrayTensor, SharedArray};
use ndarray::IxDyn;

#[doc(hidden)]
pub use burn::tensor::DType;

use crate::cpu::Real;

/// Float type of NdArray tensors.
pub trait Float: Real {
    /// Returns the elements in row-major order, converted to this type if necessary.
    fn dense(tensor: NdArrayTensor) -> SharedArray<Self>;
    /// Returns the buffer of a tensor of this type without other references, for reuse, or else an empty vector. Its
    /// contents are unspecified.
    fn memory(tensor: NdArrayTensor) -> Vec<Self>;
    /// Creates a tensor from row-major values.
    fn tensor(values: Vec<Self>, shape: &[usize]) -> NdArrayTensor;
}

macro_rules! float {
    ($float:ident, $variant:ident, $other:ident) => {
        impl Float for $float {
            fn dense(tensor: NdArrayTensor) -> SharedArray<Self> {
                match tensor {
                    NdArrayTensor::$variant(array) => dense(array.into_shared()),
                    NdArrayTensor::$other(array) => dense(array.into_shared().mapv(|x| x as $float).into_shared()),
                    // NdArray has no other float types.
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

/// Evaluates `$body` with `$E` the float type of `$tensor`.
#[macro_export]
macro_rules! by_float {
    ($tensor:expr, $E:ident => $body:expr) => {
        match $tensor.dtype() {
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

/// Returns the array in row-major order, copied only if its layout differs.
pub fn dense<E: Clone>(array: SharedArray<E>) -> SharedArray<E> {
    if array.is_standard_layout() { array } else { array.as_standard_layout().into_owned().into_shared() }
}

fn memory<E>(array: SharedArray<E>) -> Vec<E> {
    array.try_into_owned_nocopy().map(|array| array.into_raw_vec_and_offset().0).unwrap_or_default()
}

/// Elements of a [`dense`] array, in row-major order; an empty slice for arrays in another layout.
pub fn slice<E>(array: &SharedArray<E>) -> &[E] {
    array.as_slice().unwrap_or_default()
}

/// Creates an array from row-major values; zeros if they do not fill `shape`.
pub fn shaped<E: Clone + Default>(values: Vec<E>, shape: &[usize]) -> SharedArray<E> {
    SharedArray::from_shape_vec(IxDyn(shape), values).unwrap_or_else(|_| SharedArray::default(IxDyn(shape)))
}

/// Shape of a tensor of `D` dimensions.
pub fn dims<const D: usize>(tensor: &NdArrayTensor) -> [usize; D] {
    let shape: Shape = tensor.shape();
    shape.dims()
}
