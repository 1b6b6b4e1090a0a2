//! The fitted embedding.

use burn::tensor::{Tensor, backend::Backend};
use firebox_core::report::Timings;

use super::fitted::FittedPoints;
use crate::{
    config::Memory,
    solve::{quality::Neighbourhoods, state::Stop},
};

/// Embedding of points in few dimensions, with measures of its quality.
#[derive(Debug, Clone)]
pub struct Embedding<B: Backend> {
    /// Coordinates `[N, m]`, in the unit of the input. Equal points have equal coordinates.
    pub embedding: Tensor<B, 2>,
    /// Coordinates on the host in f64, row-major N × m.
    pub coordinates: Vec<f64>,
    /// Stress E of the embedding, eq. (1), recomputed at the end: sums of each point in the backend's precision, total
    /// in f64.
    pub stress: f64,
    /// E at the start, before rescaling.
    pub stress_start: f64,
    /// Kruskal's stress-1, √(Σ(δ − d)²/Σd²).
    pub stress1: f64,
    /// Contribution of each point to E; `None` if E is of a sample.
    pub point_stress: Option<Vec<f64>>,
    /// Size of the sample of points whose stress is reported, if not of all.
    pub stress_sample: Option<usize>,
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
    /// Description of the step.
    pub step: String,
    /// Implementation that computed the forces.
    pub variant: &'static str,
    /// Memory mode, never [`Memory::Auto`]; `None` if at most two distinct points need no distances.
    pub memory_mode: Option<Memory>,
    /// Number of points that equal an earlier one.
    pub duplicates: usize,
    /// Whether the state file is older than the end of the run, because writing failed.
    pub stale_state: bool,
    /// Sampled pairs for a Shepard diagram: source distance and distance in the map, in the unit of the input.
    pub shepard: Vec<(f64, f64)>,
    /// Seconds by phase.
    pub timings: Timings,
    /// Planned peak of live device buffers in bytes.
    pub peak_device_bytes: u64,
    /// The input points, for placing new ones; `None` for an input of distances.
    pub(super) fitted: Option<FittedPoints>,
}
