//! Tensors from numbers on the host, and back.

use std::fmt::Display;

use burn::tensor::{
    BasicOps, DType, DataError, Element, Int, Tensor, TensorData, TensorKind, TensorPrimitive,
    backend::{Backend, ExecutionError},
    ops::FloatTensor,
};

use bytemuck::Pod;

use crate::{Communicator, Error, Result};

/// A tensor of `B`'s own float type, whatever default the device has by now: Burn keeps one default float a device,
/// and whoever uses the device first sets it.
///
/// # Panics
/// If `values` does not fill `shape`.
pub fn floats<B: Backend, const D: usize>(
    values: Vec<impl Element>,
    shape: [usize; D],
    device: &B::Device,
) -> Tensor<B, D> {
    let count = values.len();
    assert_eq!(count, shape.iter().product::<usize>(), "values that do not fill the shape {shape:?}");
    let on = (device, B::FloatElem::dtype());
    // Data's own conversion asks for the type of each number.
    let values: Vec<B::FloatElem> = values.into_iter().map(|value| value.elem()).collect();
    if count == 0 {
        return Tensor::from_data(TensorData::new(values, shape), on);
    }
    // CUDA pads the rows of what it is given as rows, and every kernel then has to copy it; one row is padded nowhere.
    Tensor::<B, 1>::from_data(TensorData::new(values, [count]), on).reshape(shape)
}

/// [`floats`] as the primitive that operations on backends take.
///
/// # Panics
/// If `values` does not fill `shape`.
pub fn primitive<B: Backend, const D: usize>(
    values: Vec<impl Element>,
    shape: [usize; D],
    device: &B::Device,
) -> FloatTensor<B> {
    floats::<B, D>(values, shape, device).into_primitive().tensor()
}

/// A primitive as a tensor.
pub fn tensor<B: Backend, const D: usize>(primitive: FloatTensor<B>) -> Tensor<B, D> {
    Tensor::from_primitive(TensorPrimitive::Float(primitive))
}

/// A tensor's numbers on the host, row-major. [`Error::Run`] names `phase` if the device failed by then: Burn's
/// `into_data` would panic.
pub fn read_floats<B: Backend, const D: usize>(tensor: Tensor<B, D>, phase: &str) -> Result<Vec<f64>> {
    Ok(widened(&read(tensor, phase)?))
}

/// Data's numbers as f64. Its own iterator asks for the type of each.
pub fn widened(data: &TensorData) -> Vec<f64> {
    match data.dtype {
        DType::F32 => data.as_slice::<f32>().map(|values| values.iter().map(|&x| f64::from(x)).collect()),
        DType::F64 => data.as_slice::<f64>().map(<[f64]>::to_vec),
        _ => Ok(data.iter::<f64>().collect()),
    }
    .unwrap_or_else(|_| data.iter::<f64>().collect())
}

/// [`read_floats`] for whole numbers of 32 bits; the very memory of the data where it can be had.
pub fn read_ints<B: Backend, const D: usize>(tensor: Tensor<B, D, Int>, phase: &str) -> Result<Vec<i32>> {
    let device = B::name(&tensor.device());
    let data = read(tensor, phase)?.convert::<i32>();
    data.into_vec::<i32>().map_err(|error| failed(device, phase, format!("{error:?}")))
}

/// A tensor's data as it is on the device; fails as [`read_floats`] does.
pub fn read<B: Backend, const D: usize, K: TensorKind<B> + BasicOps<B>>(
    tensor: Tensor<B, D, K>,
    phase: &str,
) -> Result<TensorData> {
    let device = B::name(&tensor.device());
    tensor.try_into_data().map_err(|error: ExecutionError| failed(device, phase, error))
}

/// A vector `[n]` of the parts that all ranks have of it, in the order of the ranks, on each rank's device. A rank without a
/// part has no tensor, since not every device holds an empty one.
pub fn all_gather<B: Backend>(
    own: Option<Tensor<B, 1>>,
    device: &B::Device,
    ranks: &dyn Communicator,
    phase: &str,
) -> Result<Tensor<B, 1>> {
    let own = own.map(|own| read(own, phase)).transpose()?;
    let all = if B::FloatElem::dtype() == DType::F64 { gather::<f64>(own, ranks) } else { gather::<f32>(own, ranks) };
    let all = all.map_err(|error| failed("the host".into(), phase, format!("{error:?}")))?;
    Ok(Tensor::from_data(all, (device, B::FloatElem::dtype())))
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

/// Adds the floats of all ranks up, as wide as they are: `all_sum` of a [`Communicator`].
pub fn all_sum(data: &mut TensorData, ranks: &dyn Communicator) -> Result<()> {
    let error = |error| failed("the host".into(), "adding up", format!("{error:?}"));
    if data.dtype == DType::F64 {
        ranks.all_sum(data.as_mut_slice::<f64>().map_err(error)?);
    } else {
        ranks.all_sum(data.as_mut_slice::<f32>().map_err(error)?);
    }
    Ok(())
}

/// [`Error::Run`] of what the stack says failed on a device.
pub fn failed(device: String, phase: &str, error: impl Display) -> Error {
    // Errors of the stack carry chains and backtraces; a person needs what is said first.
    let text = error.to_string();
    let said = text.lines().map(str::trim);
    let what = said.filter(|line| !line.is_empty() && *line != "Caused by:" && !line.starts_with("An error happened"));
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
