//! Launches by element type and matrix product method.

use burn::tensor::{DType, TensorMetadata, bf16, f16};
use burn_cubecl::{CubeRuntime, tensor::CubeTensor};

use super::cubek::{self, Units};
use super::strategy::{LONGEST, resolve};
use super::{adam as optimizer, loss, sigmoid as elementwise, tensor_cores::mma, tile};
use crate::types::{AdamStep, Matmul, Sigmoid};

/// Runs `$body` with `$F` the tensor's float and `$A` the accumulator's.
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

/// The sigmoid of every element, in the memory of `values` if `in_place` and no other tensor shares it.
pub(crate) fn sigmoid<R: CubeRuntime>(values: CubeTensor<R>, sigmoid: Sigmoid, in_place: bool) -> CubeTensor<R> {
    by_type!(values, F, A => elementwise::bias_sigmoid::<R, F, A>(values, None, Some(sigmoid), in_place))
}

/// ±σ·y·(1 − y)·g of every element.
pub(crate) fn delta<R: CubeRuntime>(
    outputs: CubeTensor<R>,
    gradient: CubeTensor<R>,
    sigmoid: Sigmoid,
) -> CubeTensor<R> {
    by_type!(outputs, F, A => elementwise::delta::<R, F, A>(outputs, gradient, sigmoid))
}

/// A·B + b, or the sigmoid of it.
pub(crate) fn layer<R: CubeRuntime>(
    left: CubeTensor<R>,
    right: CubeTensor<R>,
    bias: Option<CubeTensor<R>>,
    sigmoid: Option<Sigmoid>,
    matmul: Matmul,
) -> CubeTensor<R> {
    let ([n, k], [inner, m]): ([usize; 2], [usize; 2]) = (left.meta.shape().dims(), right.meta.shape().dims());
    let length = bias.as_ref().map_or(m, |bias| bias.meta.num_elements());
    assert_eq!((k, m), (inner, length), "inner sizes and length of the bias");
    assert!(bias.iter().all(|bias| bias.dtype == left.dtype) && right.dtype == left.dtype, "one element type");
    assert!(n.max(k).max(m) <= LONGEST, "sides below 2³¹");
    let single = left.dtype == DType::F32;
    if matmul == Matmul::Split || matmul == Matmul::Tensor && single {
        let has_cores = single && cubek::has_tensor_cores::<R>(&left.device, DType::F32);
        assert!(has_cores, "{matmul} requires f32 and tensor cores; perceptron_strategy checks this");
    }
    let method = resolve::<R>(&left.device, left.dtype, [n, k, m], matmul, false);
    let product = match method {
        _ if [n, k, m].contains(&0) => None,
        Matmul::Simt => cubek::product(&left, &right, Units::Scalar),
        Matmul::Split => return mma::product(left, right, bias, sigmoid, true),
        Matmul::Tensor if single => return mma::product(left, right, bias, sigmoid, false),
        Matmul::Tensor => cubek::product(&left, &right, Units::Tensor),
        Matmul::Auto | Matmul::Tile => None,
    };
    // cubek has no kernel for some sizes; the tile supports all.
    let Some(product) = product else {
        return by_type!(left, F, A => tile::product::<R, F, A>(left, right, bias, sigmoid));
    };
    if bias.is_none() && sigmoid.is_none() {
        return product;
    }
    by_type!(product, F, A => elementwise::bias_sigmoid::<R, F, A>(product, bias, sigmoid, true))
}

/// Cross-entropy of each row, and `scale` times its gradient.
pub(crate) fn cross_entropy<R: CubeRuntime>(
    outputs: CubeTensor<R>,
    classes: CubeTensor<R>,
    scale: f64,
) -> (CubeTensor<R>, CubeTensor<R>) {
    match outputs.dtype {
        DType::F64 => loss::cross_entropy::<R, f64>(outputs, classes, scale),
        _ => loss::cross_entropy::<R, f32>(outputs, classes, scale),
    }
}

/// Parameters, first and second moment and average after a step of Adam.
pub(crate) fn adam<R: CubeRuntime>(
    parameters: CubeTensor<R>,
    gradient: CubeTensor<R>,
    moments: [CubeTensor<R>; 3],
    step: AdamStep,
) -> [CubeTensor<R>; 4] {
    match parameters.dtype {
        DType::F64 => optimizer::adam::<R, f64>(parameters, gradient, moments, step),
        _ => optimizer::adam::<R, f32>(parameters, gradient, moments, step),
    }
}
