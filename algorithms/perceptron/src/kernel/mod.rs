//! CubeCL kernels for the hot loops, a file each with its launch. They run on CUDA, Vulkan, Metal and ROCm.

#![allow(missing_docs)] // `#[cube]` writes companions that cannot be documented.

mod cubek;
mod squash;
mod tensor;
mod tile;

use burn::tensor::{DType, TensorMetadata, bf16, f16, ops::FloatTensor};
use burn_cubecl::{BoolElement, CubeBackend, CubeRuntime, FloatElement, IntElement, tensor::CubeTensor};
use firebox_backends::Limited;
use firebox_core::{Error, Result};

use self::cubek::Units;
use crate::ops::{Matmul, PerceptronOps, Sigmoid};

/// Runs `$body` with `$F` the tensor's float and `$A` the one that sums are kept in.
macro_rules! by_type {
    ($of:expr, $F:ident, $A:ident => $body:expr) => {
        match $of.dtype() {
            DType::F64 => by_type!(@ f64, f64, $F, $A, $body),
            DType::F16 => by_type!(@ f16, f32, $F, $A, $body),
            DType::BF16 => by_type!(@ bf16, f32, $F, $A, $body),
            _ => by_type!(@ f32, f32, $F, $A, $body),
        }
    };
    (@ $float:ident, $sum:ident, $F:ident, $A:ident, $body:expr) => {{
        type $F = $float;
        type $A = $sum;
        $body
    }};
}

/// The longest side of a matrix: kernels count in 32 bits, and a little past the end.
const LONGEST: usize = i32::MAX as usize;

/// Multiplications from which tensor cores are worth their set-up.
const LARGE: u128 = 1 << 20;

/// What `Auto` is for a size.
fn resolve<R: CubeRuntime>(device: &R::Device, dtype: DType, size: [usize; 3], matmul: Matmul, tf32: bool) -> Matmul {
    let large = size.iter().map(|&it| it as u128).product::<u128>() >= LARGE;
    let tensor = || cubek::has_tensor_cores::<R>(device, dtype);
    match matmul {
        Matmul::Auto if !large || dtype == DType::F64 || !tensor() => Matmul::Tile,
        Matmul::Auto if dtype == DType::F32 && !tf32 => Matmul::Split,
        Matmul::Auto => Matmul::Tensor,
        chosen => chosen,
    }
}

/// What reports call it.
fn name(way: Matmul, dtype: DType) -> &'static str {
    match way {
        Matmul::Auto | Matmul::Tile => "tile 16 × 16",
        Matmul::Simt => "cubek on scalar units",
        Matmul::Split => "3×TF32 on tensor cores",
        Matmul::Tensor if dtype == DType::F32 => "TF32 on tensor cores",
        Matmul::Tensor => "tensor cores",
    }
}

/// Why it cannot multiply this size, if it cannot.
fn refusal<R: CubeRuntime>(device: &R::Device, dtype: DType, size: [usize; 3], way: Matmul) -> Option<String> {
    match way {
        _ if size.contains(&0) => None,
        _ if size.iter().any(|&it| it > LONGEST) => Some("no side may have more than 2³¹ − 1".into()),
        Matmul::Auto | Matmul::Tile | Matmul::Split => None,
        Matmul::Simt => cubek::refusal::<R>(device, dtype, size, Units::Scalar),
        Matmul::Tensor if dtype == DType::F32 => None,
        Matmul::Tensor => cubek::refusal::<R>(device, dtype, size, Units::Tensor),
    }
}

/// A·B + b, or the sigmoid of that.
fn multiply<R: CubeRuntime>(
    left: CubeTensor<R>,
    right: CubeTensor<R>,
    bias: Option<CubeTensor<R>>,
    sigmoid: Option<Sigmoid>,
    matmul: Matmul,
) -> CubeTensor<R> {
    let ([n, k], [inner, m]): ([usize; 2], [usize; 2]) = (left.meta.shape().dims(), right.meta.shape().dims());
    let length = bias.as_ref().map_or(m, |bias| bias.meta.num_elements());
    assert_eq!((k, m), (inner, length), "the inner sizes, and the bias's length");
    assert!(bias.iter().all(|bias| bias.dtype == left.dtype) && right.dtype == left.dtype, "one type of numbers");
    assert!(n.max(k).max(m) <= LONGEST, "sides are counted in 31 bits");
    let single = left.dtype == DType::F32;
    if matmul == Matmul::Split || matmul == Matmul::Tensor && single {
        let cores = single && cubek::has_tensor_cores::<R>(&left.device, DType::F32);
        assert!(cores, "{matmul} is for f32 on tensor cores: perceptron_strategy says so");
    }
    let way = resolve::<R>(&left.device, left.dtype, [n, k, m], matmul, false);
    let product = match way {
        _ if [n, k, m].contains(&0) => None,
        Matmul::Simt => cubek::product(&left, &right, Units::Scalar),
        Matmul::Split => return tensor::product(left, right, bias, sigmoid, true),
        Matmul::Tensor if single => return tensor::product(left, right, bias, sigmoid, false),
        Matmul::Tensor => cubek::product(&left, &right, Units::Tensor),
        Matmul::Auto | Matmul::Tile => None,
    };
    // The tile takes any size; cubek has none for some.
    let Some(product) = product else {
        return by_type!(left, F, A => tile::product::<R, F, A>(left, right, bias, sigmoid));
    };
    if bias.is_none() && sigmoid.is_none() {
        return product;
    }
    by_type!(product, F, A => squash::squash_all::<R, F, A>(product, bias, sigmoid, true))
}

impl<R, F, I, BT> PerceptronOps for CubeBackend<R, F, I, BT>
where
    R: CubeRuntime,
    F: FloatElement,
    I: IntElement,
    BT: BoolElement,
{
    fn perceptron_strategy(
        device: &Self::Device,
        dtype: DType,
        size: [usize; 3],
        matmul: Matmul,
        tf32: bool,
    ) -> Result<(Matmul, &'static str)> {
        let refuse = |reason: String| Err(Error::Config { field: "matmul", value: matmul.to_string(), reason });
        let called = || Self::limits(device).device;
        let cores = || cubek::has_tensor_cores::<R>(device, dtype);
        match matmul {
            Matmul::Tensor if dtype == DType::F32 && !tf32 => {
                return refuse("cuts f32 off to the 11 bits of TF32; add --allow-tf32, or take split".into());
            }
            Matmul::Split if dtype != DType::F32 => return refuse("is for f32 only; leave it at auto".into()),
            Matmul::Simt | Matmul::Split | Matmul::Tensor if dtype == DType::F64 => {
                return refuse("there is no such kernel for f64; take tile".into());
            }
            Matmul::Split | Matmul::Tensor if !cores() => {
                return refuse(format!("{} has no tensor cores for such numbers; take tile or simt", called()));
            }
            _ => {}
        }
        let way = resolve::<R>(device, dtype, size, matmul, tf32);
        match refusal::<R>(device, dtype, size, way) {
            None => Ok((way, name(way, dtype))),
            Some(_) if matmul == Matmul::Auto => Ok((Matmul::Tile, name(Matmul::Tile, dtype))),
            Some(why) => {
                let [n, k, m] = size;
                refuse(format!("{} has no such kernel for [{n}, {k}] × [{k}, {m}]: {why}; take tile", called()))
            }
        }
    }

    fn perceptron_sigmoid(values: FloatTensor<Self>, sigmoid: Sigmoid, in_place: bool) -> FloatTensor<Self> {
        by_type!(values, F, A => squash::squash_all::<R, F, A>(values, None, Some(sigmoid), in_place))
    }

    fn perceptron_delta(
        outputs: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
        sigmoid: Sigmoid,
    ) -> FloatTensor<Self> {
        by_type!(outputs, F, A => squash::delta::<R, F, A>(outputs, gradient, sigmoid))
    }

    fn perceptron_layer(
        inputs: FloatTensor<Self>,
        weights: FloatTensor<Self>,
        bias: Option<FloatTensor<Self>>,
        sigmoid: Option<Sigmoid>,
        matmul: Matmul,
    ) -> FloatTensor<Self> {
        multiply(inputs, weights, bias, sigmoid, matmul)
    }
}
