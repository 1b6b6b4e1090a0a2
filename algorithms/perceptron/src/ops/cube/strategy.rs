//! Selection of a matrix product kernel.

use burn::tensor::DType;
use burn_cubecl::CubeRuntime;
use firebox_core::{Error, Result};

use super::cubek::{self, Units};
use crate::types::{Matmul, MatmulKernel};

/// Largest side of a matrix: kernels index in 32 bits, and slightly past the end.
pub(super) const LONGEST: usize = i32::MAX as usize;

/// Number of multiplications from which tensor cores make up for their set-up.
const LARGE: u128 = 1 << 20;

/// Replaces `Auto` by the method for a size.
pub(super) fn resolve<R: CubeRuntime>(
    device: &R::Device,
    dtype: DType,
    size: [usize; 3],
    matmul: Matmul,
    tf32: bool,
) -> Matmul {
    let large = size.iter().map(|&it| it as u128).product::<u128>() >= LARGE;
    let has_cores = || cubek::has_tensor_cores::<R>(device, dtype);
    match matmul {
        Matmul::Auto if !large || dtype == DType::F64 || !has_cores() => Matmul::Tile,
        Matmul::Auto if dtype == DType::F32 && !tf32 => Matmul::Split,
        Matmul::Auto => Matmul::Tensor,
        chosen => chosen,
    }
}

fn kernel(method: Matmul, dtype: DType) -> MatmulKernel {
    match method {
        Matmul::Auto | Matmul::Tile => MatmulKernel::Tile,
        Matmul::Simt => MatmulKernel::Simt,
        Matmul::Split => MatmulKernel::Split,
        Matmul::Tensor if dtype == DType::F32 => MatmulKernel::Tf32,
        Matmul::Tensor => MatmulKernel::Tensor,
    }
}

/// Reason why a method does not support a size; `None` if it does.
fn refusal<R: CubeRuntime>(device: &R::Device, dtype: DType, size: [usize; 3], method: Matmul) -> Option<String> {
    match method {
        _ if size.contains(&0) => None,
        _ if size.iter().any(|&it| it > LONGEST) => Some("sides are limited to 2³¹ − 1".into()),
        Matmul::Auto | Matmul::Tile | Matmul::Split => None,
        Matmul::Simt => cubek::refusal::<R>(device, dtype, size, Units::Scalar),
        Matmul::Tensor if dtype == DType::F32 => None,
        Matmul::Tensor => cubek::refusal::<R>(device, dtype, size, Units::Tensor),
    }
}

/// Resolves `matmul` for a product of `[n, k]` by `[k, m]`, with its kernel; fails if the device, named `device_name` in
/// errors, has no such kernel.
pub(crate) fn choose<R: CubeRuntime>(
    device: &R::Device,
    device_name: impl Fn() -> String,
    dtype: DType,
    size: [usize; 3],
    matmul: Matmul,
    tf32: bool,
) -> Result<(Matmul, MatmulKernel)> {
    let refuse = |reason: String| Err(Error::Config { field: "matmul", value: matmul.to_string(), reason });
    let has_cores = || cubek::has_tensor_cores::<R>(device, dtype);
    match matmul {
        Matmul::Tensor if dtype == DType::F32 && !tf32 => {
            return refuse("truncates f32 to the 11 bits of TF32; add `allow_tf32`, or use split".into());
        }
        Matmul::Split if dtype != DType::F32 => return refuse("supports f32 only; use auto".into()),
        Matmul::Simt | Matmul::Split | Matmul::Tensor if dtype == DType::F64 => {
            return refuse("has no kernel for f64; use tile".into());
        }
        Matmul::Split | Matmul::Tensor if !has_cores() => {
            return refuse(format!("{} has no tensor cores for {dtype:?}; use tile or simt", device_name()));
        }
        _ => {}
    }
    let method = resolve::<R>(device, dtype, size, matmul, tf32);
    match refusal::<R>(device, dtype, size, method) {
        None => Ok((method, kernel(method, dtype))),
        Some(_) if matmul == Matmul::Auto => Ok((Matmul::Tile, MatmulKernel::Tile)),
        Some(reason) => {
            let [n, k, m] = size;
            refuse(format!("{} has no kernel for [{n}, {k}] × [{k}, {m}]: {reason}; use tile", device_name()))
        }
    }
}
