//! How operations run on a backend, and their memory, known before they run.

use std::fmt;

use firebox_core::Share;

/// Problem size that determines the strategy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// N and K.
    pub conditions: [usize; 2],
    /// m.
    pub neurons: usize,
    /// Dimensions of space.
    pub dims: usize,
    /// Gradient steps per phase.
    pub steps: usize,
}

impl Extent {
    /// N + K.
    pub fn rows(&self) -> usize {
        self.conditions[0] + self.conditions[1]
    }

    /// The size of a rank's part.
    pub(crate) fn part(&self, share: Share) -> Self {
        Self { conditions: self.conditions.map(|count| share.of(count).len()), ..*self }
    }
}

/// How an operation runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// Tensor operations on blocks of A.
    TensorOperations,
    /// Loops on the CPU over a stored A.
    Kept,
    /// Loops on the CPU that recompute A in every pass.
    Computed,
    /// A single launch of one cube, A in its shared memory.
    OneCubeKept,
    /// A single launch of one cube that recomputes A in every pass.
    OneCubeComputed,
    /// Several launches per step, A computed once per pass.
    Launches,
    /// Several launches per step, A computed for A·p and again for Aᵀ times that.
    LaunchesTwice,
}

impl Way {
    /// How it runs on several ranks, which reduce sums after every pass: a single launch for all passes cannot.
    pub(crate) fn distributed(self) -> Self {
        match self {
            Self::OneCubeKept | Self::OneCubeComputed => Self::Launches,
            other => other,
        }
    }
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

/// How operations run for an [`Extent`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Strategy {
    /// Gradient steps.
    pub descend: Way,
    /// Conjugate gradients.
    pub conjugate: Way,
    /// Maximum number of scratch floats of either.
    pub scratch: u128,
}
