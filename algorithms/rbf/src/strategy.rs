//! How the loops of a training run on a backend, and what they keep in memory: known before they run.

use std::fmt;

use firebox_core::Share;

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

    /// That of a rank's part of the conditions.
    pub(crate) fn part(&self, share: Share) -> Self {
        Self { conditions: self.conditions.map(|count| share.of(count).len()), ..*self }
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

impl Way {
    /// How it runs where ranks share it: their sums meet after every pass, which one launch for all passes has no place
    /// for.
    pub(crate) fn shared(self) -> Self {
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
