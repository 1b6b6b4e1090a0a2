//! The hot loops as operations on a backend: signatures here, one implementation per kind of backend.
//!
//! | backend | implementation |
//! |---|---|
//! | `NdArray` | `cpu`: rayon and SIMD over slices |
//! | `CubeBackend` (CUDA, wgpu, ROCm) | `kernel`: CubeCL |
//! | `Fusion<B>` | `fusion`: queued, then `B`'s |
//! | `Autodiff<B>` | `autodiff`: `B`'s, with a backward of `B`'s operations where the layer needs one |
//! | any other | the default bodies: tensor operations, block by block |
//!
//! Shapes: n conditions, m neurons, d dimensions of space (2 or 3). Points and centres are *dimension-major*, `[d, n]`
//! and `[d, m]`. m is at least 1; n may be 0.
//!
//! With φ_k(x) = exp(−|x − c_k|²/a_k²), a condition is a row of A: A_ik = (Lφ_k)(x_i), Lφ = α·Δφ + β·∇φ + γ·φ, with its
//! residual r_i = Σ_k A_ik·w_k − t_i. Neither A nor anything of its size is made unless it is what is asked for.

use std::sync::Arc;

use burn::tensor::ops::FloatTensor;
use firebox_backends::Limited;

use crate::{
    strategy::{Extent, Strategy},
    tensor_ops,
};

/// What is known of a coefficient when a kernel is compiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Term {
    /// 0 everywhere: the term is not computed.
    Zero,
    /// 1 everywhere.
    One,
    /// A value a condition.
    Each,
}

/// The form of conditions: α·Δu + β·∇u + γ·u.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Form {
    /// α.
    pub laplacian: Term,
    /// Whether there is a β.
    pub gradient: bool,
    /// γ.
    pub value: Term,
}

impl Form {
    /// u.
    pub const VALUE: Self = Self { laplacian: Term::Zero, gradient: false, value: Term::One };
    /// Δu.
    pub const LAPLACIAN: Self = Self { laplacian: Term::One, gradient: false, value: Term::Zero };
    /// β·∇u.
    pub const DRIFT: Self = Self { laplacian: Term::Zero, gradient: true, value: Term::Zero };

    /// Coefficients a condition in `dims` dimensions.
    pub fn coefficients(self, dims: usize) -> usize {
        let each = |term| usize::from(term == Term::Each);
        each(self.laplacian) + if self.gradient { dims } else { 0 } + each(self.value)
    }
}

/// Conditions on a device.
#[derive(Debug, Clone)]
pub struct Rows<B: Limited> {
    /// `[d, n]`.
    pub points: FloatTensor<B>,
    /// Which terms there are.
    pub form: Form,
    /// `[c, n]`: α if it is [`Term::Each`], then the d rows of β, then γ if it is [`Term::Each`]; none for c = 0.
    pub coefficients: Option<FloatTensor<B>>,
    /// t, `[n]`.
    pub target: FloatTensor<B>,
}

/// Centres and widths.
#[derive(Debug, Clone)]
pub struct Shape<B: Limited> {
    /// c, `[d, m]`.
    pub centres: FloatTensor<B>,
    /// a > 0, `[m]`.
    pub widths: FloatTensor<B>,
}

/// What is trained for: I = 1/(2N) Σ r1² + λ/(2K) Σ r2² over N interior and K boundary conditions. Conditions of a kind
/// that there are none of add 0.
#[derive(Debug, Clone)]
pub struct Aim<B: Limited> {
    /// Inside.
    pub interior: Rows<B>,
    /// On the boundary.
    pub boundary: Rows<B>,
    /// λ.
    pub penalty: f64,
    /// The whole that these conditions are a rank's part of: sums are of that. Only on backends that
    /// [reach](Limited::reaches) each other.
    pub whole: Option<Whole>,
}

/// What the conditions of all ranks are, whose devices add up by themselves.
#[derive(Debug, Clone)]
pub struct Whole {
    /// N and K.
    pub counts: [usize; 2],
    /// The devices of all ranks, by number.
    pub peers: Arc<[u16]>,
}

/// The operations. The default bodies are tensor operations. The same input gives the same bits.
pub trait RbfOps: Limited {
    /// How [`rbf_descend`](Self::rbf_descend) and [`rbf_conjugate`](Self::rbf_conjugate) run.
    fn rbf_strategy(extent: &Extent, _device: &Self::Device) -> Strategy {
        tensor_ops::strategy(extent)
    }

    /// A `[n, m]`, and r `[n]` of the same pass: hot loops 1 and 2.
    fn rbf_matrix(
        rows: &Rows<Self>,
        shape: &Shape<Self>,
        weights: FloatTensor<Self>,
    ) -> (FloatTensor<Self>, FloatTensor<Self>) {
        tensor_ops::matrix::<Self>(rows, shape, weights)
    }

    /// The same, into the memory of `spare` where it can be: an A of the same size that is done with, and that nothing
    /// else holds. New memory comes page by page, which on the CPU takes several times as long as the numbers in it;
    /// on devices it comes from a pool that `spare` goes back to first.
    fn rbf_matrix_into(
        rows: &Rows<Self>,
        shape: &Shape<Self>,
        weights: FloatTensor<Self>,
        spare: FloatTensor<Self>,
    ) -> (FloatTensor<Self>, FloatTensor<Self>) {
        drop(spare);
        Self::rbf_matrix(rows, shape, weights)
    }

    /// r `[n]`, A never stored.
    fn rbf_residual(rows: &Rows<Self>, shape: &Shape<Self>, weights: FloatTensor<Self>) -> FloatTensor<Self> {
        tensor_ops::residual::<Self>(rows, shape, weights)
    }

    /// Aᵀv `[m]` for v `[n]`, A never stored.
    fn rbf_transposed(rows: &Rows<Self>, shape: &Shape<Self>, values: FloatTensor<Self>) -> FloatTensor<Self> {
        tensor_ops::transposed::<Self>(rows, shape, values)
    }

    /// AᵀA·p `[m]` for p `[m]` in one pass: over `matrix`, A `[n, m]`, if it is given, else A is computed again.
    fn rbf_normal(
        rows: &Rows<Self>,
        shape: &Shape<Self>,
        matrix: Option<FloatTensor<Self>>,
        vector: FloatTensor<Self>,
    ) -> FloatTensor<Self> {
        tensor_ops::normal::<Self>(rows, shape, matrix, vector)
    }

    /// Σ_i v_i·w_k·∂(Lφ_k)(x_i)/∂(c_k, a_k) `[d + 1, m]` for v `[n]`, the last row by a: hot loop 3.
    fn rbf_gradient(
        rows: &Rows<Self>,
        shape: &Shape<Self>,
        weights: FloatTensor<Self>,
        values: FloatTensor<Self>,
    ) -> FloatTensor<Self> {
        tensor_ops::gradient::<Self>(rows, shape, weights, values)
    }

    /// ∂(Lu)/∂x = Σ_k w_k·∂(Lφ_k)/∂x at the points `[d, n]`, the coefficients as they are: ∇u for the form u.
    fn rbf_slopes(rows: &Rows<Self>, shape: &Shape<Self>, weights: FloatTensor<Self>) -> FloatTensor<Self> {
        tensor_ops::slopes::<Self>(rows, shape, weights)
    }

    /// Step 3 of the training: `steps` gradient steps on c and q = ln a with w fixed, c ← c − η·∂I/∂c and
    /// q ← q − η'·a·∂I/∂a. `rates` are η and η': one rate in one unit of length is two in another. The new shape, and I
    /// before each step `[steps]`.
    fn rbf_descend(
        aim: &Aim<Self>,
        shape: Shape<Self>,
        weights: FloatTensor<Self>,
        rates: [f64; 2],
        steps: usize,
    ) -> (Shape<Self>, FloatTensor<Self>) {
        tensor_ops::descend::<Self>(aim, shape, weights, rates, steps)
    }

    /// Step 4: at most `iterations` of conjugate gradients on (MᵀM/N + λNᵀN/K)·w = Mᵀf/N + λNᵀp/K from `weights`, c and a
    /// fixed. The new weights, and the squared norm of that equation's residual before each iteration and at the end
    /// `[iterations + 1]`. An iteration with a search direction without length or curvature changes nothing.
    fn rbf_conjugate(
        aim: &Aim<Self>,
        shape: &Shape<Self>,
        weights: FloatTensor<Self>,
        iterations: usize,
    ) -> (FloatTensor<Self>, FloatTensor<Self>) {
        tensor_ops::conjugate::<Self>(aim, shape, weights, iterations)
    }
}

#[cfg(feature = "flex")]
impl RbfOps for burn_flex::Flex {}
