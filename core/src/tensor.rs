//! Transfer of tensors between host and device, and Burn's operations on primitives.
//!
//! Runs work on float primitives: a method of Burn's float `Tensor` compiles its quantised counterpart too, with all
//! kernels that this takes, for every backend.

mod arithmetic;
mod floats;
#[cfg(test)]
mod floats_tests;
mod operations;

use std::{fmt::Display, ops::Range};

use burn::tensor::{
    DType, DataError, Element, Int, Shape, Slice, Tensor, TensorData, TensorPrimitive,
    backend::{Backend, ExecutionError},
    ops::{FloatTensor, IntTensor},
};
use bytemuck::Pod;

use crate::communicator::Communicator;
use crate::error::{Error, Result};

#[doc(hidden)]
pub use arithmetic::addresses as arithmetic_addresses;
pub use arithmetic::{divide, exponential, shift, transpose};
pub use floats::Floats;
#[doc(hidden)]
pub use operations::addresses;
pub use operations::from_data;
pub use operations::{
    add, add_int, cast, concatenate, concatenate_int, multiply, reciprocal, repeat, reshape, reshape_int, scale,
    select, select_int, slice_assign, upload_int, zeros,
};

/// Creates a tensor of `B`'s float type from row-major values, regardless of the device's default type: Burn keeps one
/// default float type per device, which the first use of the device sets.
///
/// # Panics
/// If `values` does not fill `shape`.
pub fn floats<B: Backend, const D: usize>(
    values: Vec<impl Element>,
    shape: [usize; D],
    device: &B::Device,
) -> Tensor<B, D> {
    tensor(primitive::<B, D>(values, shape, device))
}

/// [`floats`] as a primitive, which backend operations take.
///
/// # Panics
/// If `values` does not fill `shape`.
pub fn primitive<B: Backend, const D: usize>(
    values: Vec<impl Element>,
    shape: [usize; D],
    device: &B::Device,
) -> FloatTensor<B> {
    let count = values.len();
    assert_eq!(count, shape.iter().product::<usize>(), "values that do not fill the shape {shape:?}");
    // `TensorData::convert` dispatches on the type for each number.
    let values: Vec<B::FloatElem> = values.into_iter().map(|value| value.elem()).collect();
    operations::upload::<B>(values, Shape::from(shape), device)
}

/// The block of a tensor in the given range of each dimension, none of them empty.
pub fn slice<B: Backend, const D: usize>(tensor: FloatTensor<B>, ranges: [Range<usize>; D]) -> FloatTensor<B> {
    operations::slice::<B>(tensor, &ranges.map(Slice::from))
}

/// Wraps a primitive as a tensor.
pub fn tensor<B: Backend, const D: usize>(primitive: FloatTensor<B>) -> Tensor<B, D> {
    Tensor::from_primitive(TensorPrimitive::Float(primitive))
}

/// The primitive of a tensor, which is dequantised if it is quantised. Burn's `TensorPrimitive::tensor` compiles the kernel
/// for that in every crate.
pub fn into_primitive<B: Backend, const D: usize>(tensor: Tensor<B, D>) -> FloatTensor<B> {
    match tensor.into_primitive() {
        TensorPrimitive::Float(primitive) => primitive,
        TensorPrimitive::QFloat(quantised) => operations::dequantize::<B>(quantised),
    }
}

/// Reads a tensor's numbers to the host, row-major.
///
/// Fails with an [`Error::Run`] in `phase` if the device failed, where Burn's `into_data` would panic, and with
/// [`Error::Input`] if the tensor is quantised.
pub fn read_floats<B: Backend, const D: usize>(tensor: Tensor<B, D>, phase: &str) -> Result<Vec<f64>> {
    match tensor.into_primitive() {
        TensorPrimitive::Float(primitive) => float_values::<B>(primitive, phase),
        TensorPrimitive::QFloat(_) => Err(Error::input("the tensor is quantised", "call `dequantize` on it")),
    }
}

/// [`read_floats`] of a primitive. Fails with an [`Error::Run`] in `phase` if the device failed.
pub fn float_values<B: Backend>(tensor: FloatTensor<B>, phase: &str) -> Result<Vec<f64>> {
    Ok(widened(&float_data::<B>(tensor, phase)?))
}

/// Reads a primitive's data in the device's type. Fails as [`float_values`] does.
pub fn float_data<B: Backend>(tensor: FloatTensor<B>, phase: &str) -> Result<TensorData> {
    let device = B::name(&B::float_device(&tensor));
    completed(operations::read::<B>(tensor), device, phase)
}

/// Reads several primitives in one transaction, in their order. Fails as [`float_values`] does.
pub fn all_float_data<B: Backend>(tensors: Vec<FloatTensor<B>>, phase: &str) -> Result<Vec<TensorData>> {
    let device = tensors.first().map_or_else(String::new, |tensor| B::name(&B::float_device(tensor)));
    completed(operations::read_all::<B>(tensors), device, phase)
}

/// The result of a transfer, `None` if it is still pending.
fn completed<T>(transfer: Option<std::result::Result<T, ExecutionError>>, device: String, phase: &str) -> Result<T> {
    match transfer {
        Some(Ok(data)) => Ok(data),
        Some(Err(error)) => Err(failed(device, phase, error)),
        None => Err(failed(device, phase, "the platform cannot wait for a transfer")),
    }
}

/// Converts data to f64. Unlike `TensorData::iter` it does not dispatch on the type for each number.
pub fn widened(data: &TensorData) -> Vec<f64> {
    match data.dtype {
        DType::F32 => data.as_slice::<f32>().map(|values| values.iter().map(|&x| f64::from(x)).collect()),
        DType::F64 => data.as_slice::<f64>().map(<[f64]>::to_vec),
        _ => Ok(data.iter::<f64>().collect()),
    }
    .unwrap_or_else(|_| data.iter::<f64>().collect())
}

/// [`read_floats`] for 32-bit integers, without a copy where possible.
pub fn read_ints<B: Backend, const D: usize>(tensor: Tensor<B, D, Int>, phase: &str) -> Result<Vec<i32>> {
    int_values::<B>(tensor.into_primitive(), phase)
}

/// [`read_ints`] of a primitive. Fails with an [`Error::Run`] in `phase` if the device failed.
pub fn int_values<B: Backend>(tensor: IntTensor<B>, phase: &str) -> Result<Vec<i32>> {
    let device = B::name(&B::int_device(&tensor));
    let data = completed(operations::read_int::<B>(tensor), device.clone(), phase)?.convert::<i32>();
    data.into_vec::<i32>().map_err(|error| failed(device, phase, format!("{error:?}")))
}

/// Concatenates the vectors of all ranks in rank order, on each rank's device, to a vector `[n]`. A rank without a part
/// passes `None`, since not every device supports empty tensors.
pub fn all_gather<B: Backend>(
    own: Option<FloatTensor<B>>,
    device: &B::Device,
    ranks: &dyn Communicator,
    phase: &str,
) -> Result<FloatTensor<B>> {
    let own = own.map(|own| float_data::<B>(own, phase)).transpose()?;
    let all = if B::FloatElem::dtype() == DType::F64 { gather::<f64>(own, ranks) } else { gather::<f32>(own, ranks) };
    let all = all.map_err(|error| failed("the host".into(), phase, format!("{error:?}")))?;
    Ok(operations::from_data::<B>(all, device))
}

fn gather<T: Element + Pod>(
    own: Option<TensorData>,
    ranks: &dyn Communicator,
) -> std::result::Result<TensorData, DataError> {
    let all = match &own {
        Some(own) => ranks.all_gather(own.as_slice::<T>()?),
        None => ranks.all_gather::<T>(&[]),
    };
    let count = all.len();
    Ok(TensorData::new(all, [count]))
}

/// All-reduce of floats in their own precision: `all_sum` of a [`Communicator`].
pub fn all_sum(data: &mut TensorData, ranks: &dyn Communicator) -> Result<()> {
    let error = |error| failed("the host".into(), "adding up", format!("{error:?}"));
    if data.dtype == DType::F64 {
        ranks.all_sum(data.as_mut_slice::<f64>().map_err(error)?);
    } else {
        ranks.all_sum(data.as_mut_slice::<f32>().map_err(error)?);
    }
    Ok(())
}

/// [`Error::Run`] with the first informative line of a device error.
pub fn failed(device: String, phase: &str, error: impl Display) -> Error {
    // Burn's and CubeCL's errors carry chains and backtraces.
    let text = error.to_string();
    let lines = text.lines().map(str::trim);
    let what = lines.filter(|line| !line.is_empty() && *line != "Caused by:" && !line.starts_with("An error happened"));
    Error::Run { device, phase: phase.into(), what: what.take(1).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_any_width_are_widened() {
        let wide = vec![0.5, -2.0, 1e-3];
        for data in [TensorData::from([0.5f32, -2.0, 1e-3]), TensorData::from([0.5f64, -2.0, 1e-3])] {
            assert!(widened(&data).iter().zip(&wide).all(|(x, y)| (x - y).abs() < 1e-9));
        }
        assert_eq!(widened(&TensorData::from([1i32, 2])), [1.0, 2.0]);
    }

    #[test]
    fn a_failure_names_the_device_the_phase_and_the_cause() {
        let error = ExecutionError::WithContext { reason: "wgpu error: Out of Memory\n   0: backtrace".into() };
        let error = failed("gpu".into(), "linking", error);
        assert_eq!(error.to_string(), "gpu failed during linking: wgpu error: Out of Memory");
    }
}
