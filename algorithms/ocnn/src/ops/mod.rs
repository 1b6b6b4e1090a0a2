//! The hot loops as operations on a backend, with an implementation per kind of backend.
//!
//! | backend | implementation |
//! |---|---|
//! | `NdArray` | `ndarray`: rayon and SIMD over slices |
//! | `CubeBackend` (CUDA, wgpu, ROCm) | `cube`: CubeCL |
//! | `Fusion<B>` | `fusion`: queued operations of `B` |
//! | any other | `tensor`, the default bodies: tensor operations by blocks of rows |
//!
//! Shapes: n neurons, d dimensions, T steps. All integer tensors are 32 bits wide. Points are *scaled*
//! (v = (r − mean r)/(a√2), so that a weight is exp(−|v_i − v_j|²)) and *dimension-major* `[d, n]`. Neuron j stands for
//! m_j equal points. On a sparse graph, [`REPLICAS`](crate::REPLICAS) networks run side by side.

#[cfg(feature = "cube")]
pub(crate) mod cube;
#[cfg(feature = "fusion")]
mod fusion;
pub(crate) mod ndarray;
pub(crate) mod tensor;
pub(crate) mod union_find;

use std::ops::Range;

use burn::tensor::ops::{FloatTensor, IntTensor};
use firebox_backends::{DeviceLimits, operations};
use firebox_core::{Error, Result, Share};

use crate::types::{Graph, Matvec, Metric, Network};

/// The hot loops of the OCNN on a backend. Default bodies use tensor operations on blocks of rows; backends with
/// kernels override all of them.
#[operations(ocnn)]
pub trait OcnnOps: DeviceLimits {
    /// The name of the kernel for steps of n neurons in d dimensions, 0 for stored weights.
    ///
    /// # Errors
    /// If the device does not support `matvec`.
    #[forward]
    fn ocnn_strategy(device: &Self::Device, matvec: Matvec, n: usize, d: usize) -> Result<&'static str> {
        let _ = (device, n, d);
        if matvec == Matvec::Auto { Ok("tensor operations") } else { Err(no_units(matvec)) }
    }

    /// Strengths C_i = Σ_{j≠i} m_j·exp(−|v_i − v_j|²) + (m_i − 1 + s) `[r]` of the neurons `rows`, a share by
    /// [`rows`](crate::rows); s = 1 with self-coupling, else 0. Weights below the smallest normal f32 count as 0.
    #[output([rows.len()], points.dtype())]
    fn ocnn_strengths(
        points: FloatTensor<Self>,
        multiplicity: FloatTensor<Self>,
        self_coupling: bool,
        rows: Range<usize>,
    ) -> FloatTensor<Self> {
        tensor::network::strengths::<Self>(points, multiplicity, self_coupling, rows)
    }

    /// Rows `rows` of the weights J `[r, n]`: J_ij = m_j·exp(−|v_i − v_j|²) for i ≠ j, J_ii = m_i − 1 + s.
    #[output([rows.len(), multiplicity.shape()[0]], points.dtype())]
    fn ocnn_weights(
        points: FloatTensor<Self>,
        multiplicity: FloatTensor<Self>,
        self_coupling: bool,
        rows: Range<usize>,
    ) -> FloatTensor<Self> {
        tensor::network::weights::<Self>(points, multiplicity, self_coupling, rows)
    }

    /// One step of a network's [`rows`](crate::Parts::rows) from the `state` of all neurons `[n]`: their next outputs
    /// `[r]`. Bit-identical to [`OcnnOps::ocnn_steps`], except that GPUs read stored weights by X-threads, since whole
    /// columns are missing.
    #[output([network.rows.len()], state.dtype())]
    fn ocnn_step_rows(network: &Network<Self>, state: FloatTensor<Self>, matvec: Matvec) -> FloatTensor<Self> {
        let _ = matvec;
        tensor::network::step_rows::<Self>(network, state)
    }

    /// `steps` steps x_i ← (1/C_i) Σ_j J_ij·f(x_j), f(x) = 1 − 2x², of all neurons from `state`, `[n]`: the trajectory
    /// `[steps + 1, n]`, row 0 the state itself.
    #[output([steps + 1, state.shape()[0]], state.dtype())]
    fn ocnn_steps(
        network: &Network<Self>,
        state: FloatTensor<Self>,
        steps: usize,
        matvec: Matvec,
    ) -> FloatTensor<Self> {
        let _ = matvec;
        tensor::network::steps::<Self>(network, state, steps)
    }

    /// Signs of increase of a trajectory `[P + 1, n]` as words `[⌈P/32⌉, n]`: bit t mod 32 of word t div 32 is
    /// x(t + 1) > x(t); bits past P are 0.
    #[output([(trajectory.shape()[0] - 1).div_ceil(32), trajectory.shape()[1]], DType::I32)]
    fn ocnn_increase_bits(trajectory: FloatTensor<Self>) -> IntTensor<Self> {
        tensor::sync::increase_bits::<Self>(trajectory)
    }

    /// Adds to `counts`, S `[n, n]`, the number of the `steps` at which both neurons increase or both do not, from
    /// words `[w, n]`; a missing S counts as 0.
    #[output([bits.shape()[1]; 2], DType::I32)]
    fn ocnn_phase_sync(bits: IntTensor<Self>, steps: usize, counts: Option<IntTensor<Self>>) -> IntTensor<Self> {
        tensor::sync::phase_sync::<Self>(bits, steps, counts)
    }

    /// Adds to `counts`, S `[n, n]`, the number of steps at which |x_i − x_j| < ε, from outputs `[P, n]`; a missing S
    /// counts as 0.
    #[output([outputs.shape()[1]; 2], DType::I32)]
    fn ocnn_fragmentary_sync(
        outputs: FloatTensor<Self>,
        epsilon: f64,
        counts: Option<IntTensor<Self>>,
    ) -> IntTensor<Self> {
        tensor::sync::fragmentary_sync::<Self>(outputs, epsilon, counts)
    }

    /// The smallest index in each neuron's component `[n]`; neurons are linked if in phase at more than `limit` steps.
    /// Only a share's links are searched; joining the components of all shares gives those of the network.
    #[output([bits.shape()[1]], DType::I32)]
    fn ocnn_phase_components(bits: IntTensor<Self>, steps: usize, limit: usize, share: Share) -> IntTensor<Self> {
        tensor::sync::phase_components::<Self>(bits, steps, limit, share)
    }

    /// As [`OcnnOps::ocnn_phase_components`], with neurons linked if |x_i − x_j| < ε at more than `limit` steps.
    #[output([outputs.shape()[1]], DType::I32)]
    fn ocnn_fragmentary_components(
        outputs: FloatTensor<Self>,
        epsilon: f64,
        limit: usize,
        share: Share,
    ) -> IntTensor<Self> {
        tensor::sync::fragmentary_components::<Self>(outputs, epsilon, limit, share)
    }

    /// Links of the neurons `rows` by phase, a bit per neuron `[r, ⌈n/32⌉]`, without self-links.
    #[output([rows.len(), bits.shape()[1].div_ceil(32)], DType::I32)]
    fn ocnn_phase_links(bits: IntTensor<Self>, steps: usize, limit: usize, rows: &[u32]) -> IntTensor<Self> {
        tensor::sync::phase_links::<Self>(bits, steps, limit, rows)
    }

    /// Links of the neurons `rows` by |x_i − x_j| < ε, a bit per neuron `[r, ⌈n/32⌉]`, without self-links.
    #[output([rows.len(), outputs.shape()[1].div_ceil(32)], DType::I32)]
    fn ocnn_fragmentary_links(outputs: FloatTensor<Self>, epsilon: f64, limit: usize, rows: &[u32]) -> IntTensor<Self> {
        tensor::sync::fragmentary_links::<Self>(outputs, epsilon, limit, rows)
    }

    /// `steps` steps x_i ← Σ_j w_ij·f(x_j), f(x) = 1 − 2x², of [`REPLICAS`](crate::REPLICAS) states `[n, r]`: the last
    /// states `[n, r]`, and the signs of the states after each step as words `[n, ⌈steps/w⌉]`,
    /// w = [`WORD_STEPS`](crate::WORD_STEPS). Bit r·(t mod w) + k of word t div w is x > 0 of replica k after step t,
    /// from t = 0 on; bits without a step are 0. A neuron without neighbours follows its own map. States are clamped to
    /// [−1, 1], outside of which f diverges.
    #[output(state.shape(), state.dtype())]
    #[output([state.shape()[0], steps.div_ceil(crate::types::WORD_STEPS)], DType::I32)]
    fn ocnn_graph_signs(
        graph: &Graph<Self>,
        state: FloatTensor<Self>,
        steps: usize,
    ) -> (FloatTensor<Self>, IntTensor<Self>) {
        tensor::graph::graph_signs::<Self>(graph, state, steps)
    }

    /// The number of bits set in `mask` and in both rows of words `[n, w]` at the ends of each edge `[2, e]`: `[e]`. An
    /// edge (i, i) counts the bits of i.
    #[output([edges.shape()[1]], DType::I32)]
    fn ocnn_common_ones(signs: IntTensor<Self>, edges: IntTensor<Self>, mask: u32) -> IntTensor<Self> {
        tensor::graph::common_ones::<Self>(signs, edges, mask)
    }

    /// The k nearest of the points `[d, n]` to each of the queries `[d, q]`, from all pairs: indices `[q, k]`, nearest
    /// first, the smaller index first among equals. With `own`, query r is point `own` + r, which is excluded.
    /// Distances are in the backend's floats; they must not overflow, and underflow to 0 must not matter.
    ///
    /// k is at most [`MAX_NEAREST`](crate::MAX_NEAREST) and the number of points, without the excluded one.
    #[output([queries.shape()[1], k], DType::I32)]
    fn ocnn_nearest(
        points: FloatTensor<Self>,
        queries: FloatTensor<Self>,
        k: usize,
        metric: Metric,
        own: Option<usize>,
    ) -> IntTensor<Self> {
        tensor::graph::nearest::<Self>(points, queries, k, metric, own)
    }
}

#[cfg(feature = "flex")]
impl OcnnOps for burn_flex::Flex {}

/// The error of a backend without GPU units for a choice other than [`Matvec::Auto`].
pub(crate) fn no_units(matvec: Matvec) -> Error {
    Error::Config {
        field: "matvec",
        value: matvec.to_string(),
        reason: "this backend has no GPU units that could share a neuron; leave it at auto".into(),
    }
}
