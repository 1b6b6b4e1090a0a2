//! The fitted map.

use std::fmt;

use burn::tensor::{Tensor, backend::Backend};
use firebox_core::report::Timings;

use crate::{
    config::{Memory, SammonConfig},
    solve::{
        fitted::SammonModel,
        quality::{Neighbourhoods, ShepardPair},
        state::{AppliedStep, Stop},
    },
    types::Variant,
};

/// Map of points in few dimensions, with measures of its quality. Further points are placed in it by
/// [`transform`](Self::transform).
#[derive(Debug, Clone)]
pub struct SammonMap<B: Backend> {
    /// Coordinates on the host in f64, row-major N × m, in the unit of the input. Equal points have equal coordinates.
    pub coordinates: Vec<f64>,
    /// Stress E, eq. (1), recomputed at the end: of all pairs, with sums of each point in the backend's precision and
    /// their total in f64, or of a sample of pairs in f64.
    pub stress: f64,
    /// E at the start of the first run, before rescaling.
    pub stress_start: f64,
    /// Kruskal's stress-1, √(Σ(δ − d)²/Σd²).
    pub stress1: f64,
    /// Contribution of each point to E; `None` if E is estimated from a sample, which `point_stress` of the configuration
    /// prevents.
    pub point_stress: Option<Vec<f64>>,
    /// The sample of pairs that E and stress-1 are estimated from, if not all were used.
    pub stress_sample: Option<StressSample>,
    /// Trustworthiness and continuity, if configured and n ≥ 3; on rank 0 only.
    pub neighbourhoods: Option<Neighbourhoods>,
    /// E before the first iteration and after each (block sampling: every ten epochs, of a sample).
    pub history: Vec<f64>,
    /// Iterations of the best run.
    pub iterations: usize,
    /// Force evaluations of the best run.
    pub evaluations: usize,
    /// Stopping criterion of the best run.
    pub stop: Stop,
    /// Step of the best run.
    pub step: AppliedStep,
    /// Implementation that computed the forces.
    pub implementation: Implementation,
    /// Memory mode, never [`Memory::Auto`]; `None` if at most two distinct points need no distances.
    pub memory_mode: Option<Memory>,
    /// Number of points that equal an earlier one.
    pub duplicates: usize,
    /// Number of distinct points so close to another one that they were mapped with it, and set apart in f64 afterwards.
    /// On a device in f32 their positions may be equal; [`coordinates`](Self::coordinates) are not.
    pub close_points: usize,
    /// True if the state file is older than the end of the run, because writing failed.
    pub stale_state: bool,
    /// Pairs of a Shepard diagram: all, or a sample.
    pub shepard: Vec<ShepardPair>,
    /// Seconds by phase.
    pub timings: Timings,
    /// Planned peak of live device buffers in bytes.
    pub peak_device_bytes: u64,
    pub(super) embedding: Tensor<B, 2>,
    pub(super) config: SammonConfig,
    pub(super) model: SammonModel,
}

/// The sample of pairs that a stress is estimated from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StressSample {
    /// Number of pairs.
    pub pairs: usize,
    /// Standard error of E.
    pub error: f64,
}

impl<B: Backend> SammonMap<B> {
    /// Coordinates `[N, m]` on the device of the fit, in the unit of the input.
    pub fn embedding(&self) -> Tensor<B, 2> {
        self.embedding.clone()
    }

    /// The model that places new points, which can be saved.
    pub fn model(&self) -> &SammonModel {
        &self.model
    }

    /// Configuration of the fit.
    pub fn config(&self) -> &SammonConfig {
        &self.config
    }

    /// The unit of the history, and how many of it lie between two entries.
    #[cfg(feature = "plot")]
    pub(crate) fn history_interval(&self) -> (&'static str, f64) {
        if self.memory_mode == Some(Memory::Sampled) { ("epoch", 10.0) } else { ("iteration", 1.0) }
    }
}

/// Names of the axes of a map: `y1`, `y2`, …
#[cfg(feature = "plot")]
pub(crate) fn axis_names(dims: usize) -> Vec<String> {
    (1..=dims).map(|k| format!("y{k}")).collect()
}

/// Implementation of the forces, `variant` in the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Implementation {
    /// At most two distinct points need no forces.
    None,
    /// Epochs of block sampling.
    BlockSampled,
    /// The backend's implementation of a variant.
    AllPairs {
        /// Distribution of the pairs over units of the device.
        variant: Variant,
        /// Name of the implementation on this backend.
        name: &'static str,
    },
}

impl fmt::Display for Implementation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "none",
            Self::BlockSampled => "block-sampled",
            Self::AllPairs { name, .. } => name,
        })
    }
}
