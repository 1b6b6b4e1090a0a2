//! The hot loops as operations on a backend: signatures here, one implementation per kind of backend.
//!
//! | backend | implementation |
//! |---|---|
//! | `NdArray` | `cpu`: rayon and SIMD over slices |
//! | `CubeBackend` (CUDA, wgpu, ROCm) | `kernel`: CubeCL |
//! | `Fusion<B>` | `fusion`: queued, then `B`'s |
//! | any other | the default bodies: tensor operations, block by block |
//!
//! Shapes: n neurons, d dimensions, T steps. All integer tensors are 32 bits wide. Points are *scaled*
//! (v = (r − mean r)/(a√2), so that a weight is exp(−|v_i − v_j|²)) and *dimension-major* `[d, n]`. A neuron may stand
//! for several equal points: m_j of them. On a sparse graph, [`REPLICAS`] networks run side by side.

use std::ops::Range;

use burn::tensor::ops::{FloatTensor, IntTensor};
use firebox_backends::Limited;
use firebox_core::{Error, Result, Share};
use serde::{Deserialize, Serialize};

pub use crate::network::{Network, Parts};
use crate::tensor_ops;

/// How units share the work of a step on a GPU: the paper's three ways.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Matvec {
    /// X-threads that pass over tiles of neurons out of reach, from some thousand neurons in up to 8 dimensions on; else
    /// x-threads where planes reduce by themselves, and thread-per-neuron elsewhere.
    #[default]
    Auto,
    /// A unit computes a neuron; f(x) goes through shared memory.
    ThreadPerNeuron,
    /// Units of different planes share a neuron and add through shared-memory atomics, which is not deterministic: the
    /// order of the additions varies. Where the device adds no such floats atomically, they add row by row.
    YThreads,
    /// The units of a plane share neurons and reduce in log steps.
    XThreads,
}

impl std::fmt::Display for Matvec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Auto => "auto",
            Self::ThreadPerNeuron => "thread-per-neuron",
            Self::YThreads => "y-threads",
            Self::XThreads => "x-threads",
        })
    }
}

/// Shares of neurons are groups of so many, and what is left.
const GROUP: usize = 64;

/// The neurons of `n` whose steps are a share's.
pub fn rows(share: Share, n: usize) -> Range<usize> {
    share.of_units(n, GROUP)
}

/// Networks that run side by side on a [`Graph`], each from a state of its own: numbers that lie together in memory.
pub const REPLICAS: usize = 8;

/// A weighted directed graph on its device, in compressed rows.
#[derive(Debug, Clone)]
pub struct Graph<B: Limited> {
    /// Where each neuron's neighbours begin `[n + 1]`; the last number is where they end, e at most.
    pub starts: IntTensor<B>,
    /// Who they are `[e]`, all below n.
    pub neighbours: IntTensor<B>,
    /// How much each counts `[e]`; a row sums to 1, or has no entries.
    pub weights: FloatTensor<B>,
}

/// What is least for the nearest neighbours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Metric {
    /// Σ_k (a_k − b_k)², which orders as its root does.
    Euclidean,
    /// Σ_k |a_k − b_k|.
    Manhattan,
}

/// The most neighbours that [`OcnnOps::ocnn_nearest`] finds.
pub const MAX_NEAREST: usize = 64;

/// The hot loops of the OCNN on a backend. Every default body is in plain tensor operations with memory for a block
/// of rows; backends with kernels override all of them.
pub trait OcnnOps: Limited {
    /// Checks a way to share the work of n neurons at points in d dimensions, 0 where weights are stored, against the
    /// device; the name of what will run.
    fn ocnn_strategy(device: &Self::Device, matvec: Matvec, n: usize, d: usize) -> Result<&'static str> {
        let _ = (device, n, d);
        if matvec == Matvec::Auto { Ok("tensor operations") } else { Err(no_units(matvec)) }
    }

    /// Strengths C_i = Σ_{j≠i} m_j·exp(−|v_i − v_j|²) + (m_i − 1 + s) `[r]` of the neurons `of`, a share's [`rows`], s = 1
    /// with self-coupling and else 0; weights below the smallest normal f32 count as 0.
    fn ocnn_strengths(
        points: FloatTensor<Self>,
        multiplicity: FloatTensor<Self>,
        self_coupling: bool,
        of: Range<usize>,
    ) -> FloatTensor<Self> {
        tensor_ops::strengths::<Self>(points, multiplicity, self_coupling, of)
    }

    /// The weights J `[r, n]` of the neurons `of`, a share's [`rows`]: J_ij = m_j·exp(−|v_i − v_j|²) for i ≠ j,
    /// J_ii = m_i − 1 + s.
    fn ocnn_weights(
        points: FloatTensor<Self>,
        multiplicity: FloatTensor<Self>,
        self_coupling: bool,
        of: Range<usize>,
    ) -> FloatTensor<Self> {
        tensor_ops::weights::<Self>(points, multiplicity, self_coupling, of)
    }

    /// One step of a network's [`rows`](Parts::rows) from the `state` of all neurons `[n]`: their next outputs `[r]`.
    /// What [`OcnnOps::ocnn_steps`] would give them, to the bit; but stored weights, of which not all columns are here, are
    /// always read by X-threads where there are units.
    fn ocnn_step_rows(network: &Network<Self>, state: FloatTensor<Self>, matvec: Matvec) -> FloatTensor<Self> {
        let _ = matvec;
        tensor_ops::step_rows::<Self>(network, state)
    }

    /// `steps` steps x_i ← (1/C_i) Σ_j J_ij·f(x_j), f(x) = 1 − 2x², of all neurons from `state`, `[n]`: the trajectory
    /// `[steps + 1, n]`, row 0 the state itself.
    fn ocnn_steps(
        network: &Network<Self>,
        state: FloatTensor<Self>,
        steps: usize,
        matvec: Matvec,
    ) -> FloatTensor<Self> {
        let _ = matvec;
        tensor_ops::steps::<Self>(network, state, steps)
    }

    /// From a trajectory `[P + 1, n]` the words [⌈P/32⌉, n]: bit t mod 32 of word t div 32 says whether
    /// x(t + 1) > x(t); bits past P are 0.
    fn ocnn_increase_bits(trajectory: FloatTensor<Self>) -> IntTensor<Self> {
        tensor_ops::increase_bits::<Self>(trajectory)
    }

    /// S `[n, n]` + the number of the `steps` at which both neurons rose or both did not, from words `[w, n]`. Without S
    /// nothing is counted yet, which saves reading it.
    fn ocnn_phase_sync(bits: IntTensor<Self>, steps: usize, counts: Option<IntTensor<Self>>) -> IntTensor<Self> {
        tensor_ops::phase_sync::<Self>(bits, steps, counts)
    }

    /// S `[n, n]`, if there is one, + the number of steps at which |x_i − x_j| < ε, from outputs `[P, n]`.
    fn ocnn_fragmentary_sync(
        outputs: FloatTensor<Self>,
        epsilon: f64,
        counts: Option<IntTensor<Self>>,
    ) -> IntTensor<Self> {
        tensor_ops::fragmentary_sync::<Self>(outputs, epsilon, counts)
    }

    /// The smallest index in each neuron's component `[n]`; neurons are linked if in phase at more than `limit` steps. Of
    /// links only a share's are looked for: components of all are what those of the shares are once they are joined.
    fn ocnn_phase_components(bits: IntTensor<Self>, steps: usize, limit: usize, share: Share) -> IntTensor<Self> {
        tensor_ops::phase_components::<Self>(bits, steps, limit, share)
    }

    /// The smallest index in each neuron's component `[n]`, likewise; neurons are linked if within ε at more than `limit`
    /// steps.
    fn ocnn_fragmentary_components(
        outputs: FloatTensor<Self>,
        epsilon: f64,
        limit: usize,
        share: Share,
    ) -> IntTensor<Self> {
        tensor_ops::fragmentary_components::<Self>(outputs, epsilon, limit, share)
    }

    /// Links of the neurons `rows` by phase, a bit per neuron `[r, ⌈n/32⌉]`; none of a neuron with itself.
    fn ocnn_phase_links(bits: IntTensor<Self>, steps: usize, limit: usize, rows: &[u32]) -> IntTensor<Self> {
        tensor_ops::phase_links::<Self>(bits, steps, limit, rows)
    }

    /// Links of the neurons `rows` by closeness, a bit per neuron `[r, ⌈n/32⌉]`; none of a neuron with itself.
    fn ocnn_fragmentary_links(outputs: FloatTensor<Self>, epsilon: f64, limit: usize, rows: &[u32]) -> IntTensor<Self> {
        tensor_ops::fragmentary_links::<Self>(outputs, epsilon, limit, rows)
    }

    /// `steps` steps x_i ← Σ_j w_ij·f(x_j), f(x) = 1 − 2x², of [`REPLICAS`] states `[n, 8]`: the trajectory
    /// `[steps + 1, n, 8]`, row 0 the states themselves. A neuron without neighbours follows its own map. What rounding
    /// leads out of [−1, 1], from where f leads to infinity, is put back.
    fn ocnn_graph_steps(graph: &Graph<Self>, state: FloatTensor<Self>, steps: usize) -> FloatTensor<Self> {
        tensor_ops::graph_steps::<Self>(graph, state, steps)
    }

    /// Signs of outputs `[p, n, 8]`, p a multiple of 4: words `[n, p/4]`. Bit 8·(t mod 4) + r of word t div 4 says
    /// whether x of replica r is above 0 at step t.
    fn ocnn_signs(outputs: FloatTensor<Self>) -> IntTensor<Self> {
        tensor_ops::signs::<Self>(outputs)
    }

    /// For each of the edges `[2, e]` the number of bits that both its ends have set, of words `[n, w]`: `[e]`. An edge
    /// (i, i) gives i's own ones.
    fn ocnn_common_ones(signs: IntTensor<Self>, edges: IntTensor<Self>) -> IntTensor<Self> {
        tensor_ops::common_ones::<Self>(signs, edges)
    }

    /// The k nearest of the points `[d, n]` to each of the queries `[d, q]`, from all pairs: indices `[q, k]`, nearest
    /// first, of equally near ones the smaller index first. With `own`, query r is the point `own` + r itself, which is
    /// left out. Distances are the backend's floats: they must neither overflow, nor matter where they underflow.
    ///
    /// k is at most [`MAX_NEAREST`], and no more than there are points (but its own).
    fn ocnn_nearest(
        points: FloatTensor<Self>,
        queries: FloatTensor<Self>,
        k: usize,
        metric: Metric,
        own: Option<usize>,
    ) -> IntTensor<Self> {
        tensor_ops::nearest::<Self>(points, queries, k, metric, own)
    }
}

/// The error of a backend whose steps are not shared among units.
pub(crate) fn no_units(matvec: Matvec) -> Error {
    Error::Config {
        field: "matvec",
        value: matvec.to_string(),
        reason: "this backend has no GPU units to share the work of a neuron; leave it at auto".into(),
    }
}

#[cfg(feature = "flex")]
impl OcnnOps for burn_flex::Flex {}
