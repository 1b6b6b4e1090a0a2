//! How the loops of a training run on a backend, and what they keep in memory: known before they run.

use std::fmt;

/// What is decided by: the size of a training.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// N and K.
    pub conditions: [usize; 2],
    /// m.
    pub neurons: usize,
    /// Dimensions of space.
    pub dims: usize,
    /// Gradient steps of a phase.
    pub steps: usize,
}

impl Extent {
    /// N + K.
    pub fn rows(&self) -> usize {
        self.conditions[0] + self.conditions[1]
    }
}

/// How a loop runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// Tensor operations on blocks of A.
    TensorOperations,
    /// Loops on the CPU over A, which is kept.
    Kept,
    /// Loops on the CPU that compute A in every pass.
    Computed,
    /// One launch of one cube, A in its shared memory.
    OneCubeKept,
    /// One launch of one cube that computes A in every pass.
    OneCubeComputed,
    /// Some launches a step, A computed once in every pass.
    Launches,
    /// Some launches a step, A computed for A·p and again for Aᵀ times that.
    LaunchesTwice,
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TensorOperations => "tensor operations",
            Self::Kept => "loops, matrix kept",
            Self::Computed => "loops, matrix computed in every pass",
            Self::OneCubeKept => "one launch, matrix kept",
            Self::OneCubeComputed => "one launch, matrix computed in every pass",
            Self::Launches => "some launches a step, matrix computed in every pass",
            Self::LaunchesTwice => "some launches a step, matrix computed twice in every pass",
        })
    }
}

/// What runs for an [`Extent`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Strategy {
    /// Of gradient steps.
    pub descend: Way,
    /// Of conjugate gradients.
    pub conjugate: Way,
    /// Numbers that either keeps besides what it is given, at most.
    pub scratch: u128,
}
