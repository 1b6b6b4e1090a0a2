//! The hot loops as operations on a backend.
//!
//! | backend | implementation |
//! |---|---|
//! | `NdArray` | `ndarray`: rayon and SIMD over slices |
//! | `CubeBackend` (CUDA, wgpu, ROCm) | `cube`: CubeCL kernels |
//! | `Fusion<B>` | `fusion`: `B`'s, queued as custom operations |
//! | `Autodiff<B>` | `autodiff`: `B`'s, with a backward pass for the operations of the layer |
//! | any other | default bodies: tensor operations on blocks of rows |
//!
//! Shapes: n ≥ 0 conditions, m ≥ 1 neurons, d = 2 or 3 dimensions. Points and centres are *dimension-major*, `[d, n]`
//! and `[d, m]`.
//!
//! With φ_k(x) = exp(−|x − c_k|²/a_k²), condition i is a row of A: A_ik = (Lφ_k)(x_i), Lφ = α·Δφ + β·∇φ + γ·φ, with the
//! residual r_i = Σ_k A_ik·w_k − t_i. Memory of the size of A is allocated only for results. `rbf_operators` and
//! `rbf_operator_values` have general L of second order, widths per axis and 1 to 5 dimensions.

mod autodiff;
#[cfg(feature = "cube")]
pub(crate) mod cube;
#[cfg(feature = "fusion")]
mod fusion;
pub(crate) mod ndarray;
pub(crate) mod operators;
pub(crate) mod tensor;
pub(crate) mod transfer;

use burn::tensor::ops::FloatTensor;
use firebox_backends::{DeviceLimits, operations};

use crate::types::{Aim, Ellipsoids, Extent, OperatorRows, Rows, Shape, Strategy};

/// Operations on conditions and neurons, with default bodies of tensor operations. Results are deterministic.
#[operations(rbf)]
pub trait RbfOps: DeviceLimits {
    /// How [`rbf_descend`](Self::rbf_descend) and [`rbf_conjugate`](Self::rbf_conjugate) run.
    #[forward]
    fn rbf_strategy(extent: &Extent, device: &Self::Device) -> Strategy {
        let _ = device;
        tensor::strategy(extent)
    }

    /// A `[n, m]` and r `[n]` in one pass.
    #[output([rows.target.shape()[0], weights.shape()[0]], weights.dtype())]
    #[output([rows.target.shape()[0]], weights.dtype())]
    fn rbf_matrix(
        rows: &Rows<Self>,
        shape: &Shape<Self>,
        weights: FloatTensor<Self>,
    ) -> (FloatTensor<Self>, FloatTensor<Self>) {
        tensor::matrix::<Self>(rows, shape, weights)
    }

    /// [`rbf_matrix`](Self::rbf_matrix) that reuses the memory of `spare`, an A of the same size, unless it is shared.
    /// Page faults of new memory cost the CPU several times the computation; devices return `spare` to their memory
    /// pool first.
    fn rbf_matrix_into(
        rows: &Rows<Self>,
        shape: &Shape<Self>,
        weights: FloatTensor<Self>,
        spare: FloatTensor<Self>,
    ) -> (FloatTensor<Self>, FloatTensor<Self>) {
        drop(spare);
        Self::rbf_matrix(rows, shape, weights)
    }

    /// r `[n]` without storing A.
    #[output([rows.target.shape()[0]], weights.dtype())]
    fn rbf_residual(rows: &Rows<Self>, shape: &Shape<Self>, weights: FloatTensor<Self>) -> FloatTensor<Self> {
        tensor::residual::<Self>(rows, shape, weights)
    }

    /// Aᵀv `[m]` for v `[n]` without storing A.
    #[output(shape.widths.shape(), values.dtype())]
    fn rbf_transposed(rows: &Rows<Self>, shape: &Shape<Self>, values: FloatTensor<Self>) -> FloatTensor<Self> {
        tensor::transposed::<Self>(rows, shape, values)
    }

    /// AᵀA·p `[m]` for p `[m]` in one pass over `matrix`, A `[n, m]`; recomputes A without it.
    #[output(vector.shape(), vector.dtype())]
    fn rbf_normal(
        rows: &Rows<Self>,
        shape: &Shape<Self>,
        matrix: Option<FloatTensor<Self>>,
        vector: FloatTensor<Self>,
    ) -> FloatTensor<Self> {
        tensor::normal::<Self>(rows, shape, matrix, vector)
    }

    /// Σ_i v_i·w_k·∂(Lφ_k)(x_i)/∂(c_k, a_k) `[d + 1, m]` for v `[n]`; the last row is by a.
    #[output([shape.centres.shape()[0] + 1, shape.centres.shape()[1]], weights.dtype())]
    fn rbf_gradient(
        rows: &Rows<Self>,
        shape: &Shape<Self>,
        weights: FloatTensor<Self>,
        values: FloatTensor<Self>,
    ) -> FloatTensor<Self> {
        tensor::gradient::<Self>(rows, shape, weights, values)
    }

    /// ∂(Lu)/∂x = Σ_k w_k·∂(Lφ_k)/∂x at the points `[d, n]` with coefficients held constant: ∇u for the form u.
    #[output([shape.centres.shape()[0], rows.target.shape()[0]], weights.dtype())]
    fn rbf_slopes(rows: &Rows<Self>, shape: &Shape<Self>, weights: FloatTensor<Self>) -> FloatTensor<Self> {
        tensor::slopes::<Self>(rows, shape, weights)
    }

    /// `steps` gradient steps on c and q = ln a with w fixed: c ← c − η·∂I/∂c, q ← q − η'·a·∂I/∂a for `rates` [η, η'],
    /// which differ because c has a unit of length and q has none. Returns the new shape, and I before each step
    /// `[steps]`.
    #[output(shape.centres.shape(), weights.dtype())]
    #[output(shape.widths.shape(), weights.dtype())]
    #[output([steps], weights.dtype())]
    fn rbf_descend(
        aim: &Aim<Self>,
        shape: Shape<Self>,
        weights: FloatTensor<Self>,
        rates: [f64; 2],
        steps: usize,
    ) -> (Shape<Self>, FloatTensor<Self>) {
        tensor::descend::<Self>(aim, shape, weights, rates, steps)
    }

    /// `iterations` of conjugate gradients on (MᵀM/N + λNᵀN/K)·w = Mᵀf/N + λNᵀp/K from `weights`, with c and a fixed.
    /// Returns the new weights, and the squared residual norm of that equation before each iteration and at the end
    /// `[iterations + 1]`. Iterations with a zero residual or curvature change nothing.
    #[output(weights.shape(), weights.dtype())]
    #[output([iterations + 1], weights.dtype())]
    fn rbf_conjugate(
        aim: &Aim<Self>,
        shape: &Shape<Self>,
        weights: FloatTensor<Self>,
        iterations: usize,
    ) -> (FloatTensor<Self>, FloatTensor<Self>) {
        tensor::conjugate::<Self>(aim, shape, weights, iterations)
    }

    /// Aᵀ `[m, n + s]`, A_ik = (L_iφ_k)(x_i), of general operators and neurons with a width per axis; the last s columns
    /// are sums of the others. This is column-major A, the order of dense decompositions.
    #[output([neurons.centres.shape()[1], rows.len()], neurons.centres.dtype())]
    fn rbf_operators(rows: &OperatorRows<Self>, neurons: &Ellipsoids<Self>) -> FloatTensor<Self> {
        operators::matrix::<Self>(rows, neurons)
    }

    /// Σ_k A_ik·w_k `[n]` for the n rows of [`rbf_operators`](Self::rbf_operators) that are no sums, without storing A.
    #[output([rows.points.shape()[1]], weights.dtype())]
    fn rbf_operator_values(
        rows: &OperatorRows<Self>,
        neurons: &Ellipsoids<Self>,
        weights: FloatTensor<Self>,
    ) -> FloatTensor<Self> {
        operators::values::<Self>(rows, neurons, weights)
    }
}

#[cfg(feature = "flex")]
impl RbfOps for burn_flex::Flex {}
