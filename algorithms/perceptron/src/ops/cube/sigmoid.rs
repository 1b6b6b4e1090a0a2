//! Element-wise kernels: bias and sigmoid, in place or not, and the backward pass of the sigmoid.

use burn_cubecl::{CubeRuntime, FloatElement, tensor::CubeTensor};
use cubecl::prelude::*;
use firebox_backends::kernel::launch;

use super::grid::{Grid, width};
use crate::types::Sigmoid;

/// 1/(1 + exp(−(x − μ)·steepness)). An overflowing power is infinite, and its inverse 0.
#[cube]
pub(super) fn logistic<A: Float, N: Size>(x: Vector<A, N>, location: A, steepness: A) -> Vector<A, N> {
    let one = Vector::<A, N>::new(A::new(1.0));
    // μ − x, since CubeCL's C++ has no unary minus for vectors.
    let t = (Vector::<A, N>::new(location) - x) * Vector::<A, N>::new(steepness);
    one / (one + Vector::<A, N>::exp(t))
}

#[cube(launch_unchecked, address_type = "dynamic")]
fn bias_sigmoid_kernel<F: Float + CubeElement, A: Float + CubeElement, N: Size>(
    values: &Array<Vector<F, N>>,
    bias: &Array<Vector<F, N>>,
    out: &mut Array<Vector<F, N>>,
    location: A,
    steepness: A,
    columns: usize,
    count: usize,
    #[comptime] has_bias: bool,
    #[comptime] has_sigmoid: bool,
) {
    let at = CUBE_POS * CUBE_DIM as usize + UNIT_POS as usize;
    if at < count {
        let mut x = Vector::<A, N>::cast_from(values[at]);
        if comptime!(has_bias) {
            x += Vector::<A, N>::cast_from(bias[at % columns]);
        }
        if comptime!(has_sigmoid) {
            x = logistic::<A, N>(x, location, steepness);
        }
        out[at] = Vector::<F, N>::cast_from(x);
    }
}

#[cube(launch_unchecked, address_type = "dynamic")]
fn delta_kernel<F: Float + CubeElement, A: Float + CubeElement, N: Size>(
    outputs: &Array<Vector<F, N>>,
    gradient: &Array<Vector<F, N>>,
    out: &mut Array<Vector<F, N>>,
    steepness: A,
    count: usize,
) {
    let at = CUBE_POS * CUBE_DIM as usize + UNIT_POS as usize;
    if at < count {
        let y = Vector::<A, N>::cast_from(outputs[at]);
        let g = Vector::<A, N>::cast_from(gradient[at]);
        let one = Vector::<A, N>::new(A::new(1.0));
        out[at] = Vector::<F, N>::cast_from(g * (y * (one - y)) * Vector::<A, N>::new(steepness));
    }
}

/// x + b of rows of length m with bias `[m]`, or the sigmoid of it, in the memory of `values` if `in_place` and no other
/// tensor shares it.
pub(super) fn bias_sigmoid<R: CubeRuntime, F: FloatElement, A: FloatElement>(
    values: CubeTensor<R>,
    bias: Option<CubeTensor<R>>,
    sigmoid: Option<Sigmoid>,
    in_place: bool,
) -> CubeTensor<R> {
    let values = launch::dense(values);
    let bias = bias.map(launch::dense);
    let row = bias.as_ref().map_or(values.meta.num_elements(), |bias| bias.meta.num_elements());
    if values.meta.num_elements() == 0 {
        return values;
    }
    let Grid { client, cubes, units, address, width, count } = Grid::new(&values, width(row));
    let (has_bias, has_sigmoid) = (bias.is_some(), sigmoid.is_some());
    let sigmoid = sigmoid.unwrap_or_default();
    let (location, steepness) = (A::from_elem(sigmoid.location), A::from_elem(sigmoid.steepness()));
    let reuse = in_place && values.can_mut();
    let out = if reuse { values.clone() } else { launch::output(&values, values.meta.shape().clone(), values.dtype) };
    let target = if reuse { values.as_tensor_alias(0).into_array_arg() } else { out.clone().into_array_arg() };
    // Without a bias the argument is not read: any buffer will do.
    let bias = bias.unwrap_or_else(|| values.clone());
    // SAFETY: the kernel bounds its index by `count`, and reads the bias at the index modulo its length.
    unsafe {
        bias_sigmoid_kernel::launch_unchecked::<F, A, R>(
            &client,
            cubes,
            units,
            address,
            width,
            values.into_array_arg(),
            bias.into_array_arg(),
            target,
            location,
            steepness,
            row / width,
            count,
            has_bias,
            has_sigmoid,
        );
    }
    out
}

/// ±σ·y·(1 − y)·g of every element.
pub(super) fn delta<R: CubeRuntime, F: FloatElement, A: FloatElement>(
    outputs: CubeTensor<R>,
    gradient: CubeTensor<R>,
    sigmoid: Sigmoid,
) -> CubeTensor<R> {
    let (outputs, gradient) = (launch::dense(outputs), launch::dense(gradient));
    let out = launch::output(&outputs, outputs.meta.shape().clone(), outputs.dtype);
    if outputs.meta.num_elements() == 0 {
        return out;
    }
    let width = width(outputs.meta.num_elements());
    let Grid { client, cubes, units, address, width, count } = Grid::new(&outputs, width);
    // SAFETY: the kernel bounds its index by `count`, the length of all three arrays.
    unsafe {
        delta_kernel::launch_unchecked::<F, A, R>(
            &client,
            cubes,
            units,
            address,
            width,
            outputs.into_array_arg(),
            gradient.into_array_arg(),
            out.clone().into_array_arg(),
            A::from_elem(sigmoid.steepness()),
            count,
        );
    }
    out
}
