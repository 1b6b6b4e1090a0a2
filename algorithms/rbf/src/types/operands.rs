//! Arguments of operations: conditions, neurons and the objective as tensors of a backend.

use std::sync::Arc;

use burn::tensor::ops::FloatTensor;
use firebox_backends::DeviceLimits;

/// Compile-time knowledge of a coefficient.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Term {
    /// 0 everywhere: the term is not computed.
    Zero,
    /// 1 everywhere.
    One,
    /// One value per condition.
    Each,
}

/// The form of conditions: α·Δu + β·∇u + γ·u.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Form {
    /// α.
    pub laplacian: Term,
    /// Presence of β.
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

    /// Number of coefficients per condition in `dims` dimensions.
    pub fn coefficients(self, dims: usize) -> usize {
        let each = |term| usize::from(term == Term::Each);
        each(self.laplacian) + if self.gradient { dims } else { 0 } + each(self.value)
    }
}

/// Conditions on a device.
#[derive(Debug, Clone)]
pub struct Rows<B: DeviceLimits> {
    /// `[d, n]`.
    pub points: FloatTensor<B>,
    /// The form of the conditions.
    pub form: Form,
    /// `[c, n]`: α if [`Term::Each`], the d rows of β, γ if [`Term::Each`]; `None` for c = 0.
    pub coefficients: Option<FloatTensor<B>>,
    /// t, `[n]`.
    pub target: FloatTensor<B>,
}

/// Centres and widths.
#[derive(Debug, Clone)]
pub struct Shape<B: DeviceLimits> {
    /// c, `[d, m]`.
    pub centres: FloatTensor<B>,
    /// a > 0, `[m]`.
    pub widths: FloatTensor<B>,
}

/// The objective I = 1/(2N) Σ r1² + λ/(2K) Σ r2² over N interior and K boundary conditions. Empty kinds
/// contribute 0.
#[derive(Debug, Clone)]
pub struct Aim<B: DeviceLimits> {
    /// Interior conditions.
    pub interior: Rows<B>,
    /// Boundary conditions.
    pub boundary: Rows<B>,
    /// λ.
    pub penalty: f64,
    /// The whole of which these conditions are a rank's part, if operations reduce over ranks. Only on backends with
    /// [peer-to-peer access](DeviceLimits::supports_p2p).
    pub whole: Option<Whole>,
}

/// The conditions of all ranks, over which devices reduce sums among themselves.
#[derive(Debug, Clone)]
pub struct Whole {
    /// N and K.
    pub counts: [usize; 2],
    /// The devices of all ranks, by ordinal.
    pub peers: Arc<[u16]>,
}
