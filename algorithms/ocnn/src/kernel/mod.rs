//! CubeCL kernels for the hot loops, a file each with its launch. They run on CUDA, Vulkan, Metal and ROCm.

mod bits;
mod couple;
mod graph;
mod link;
mod pairs;
mod step;
mod sync;
mod tensor_cores;
mod trajectory;

pub(crate) use step::FORCED;

use std::ops::Range;

use burn::tensor::ops::{FloatTensor, IntTensor};
use burn_cubecl::{BoolElement, CubeBackend, CubeRuntime, FloatElement, IntElement};

use firebox_core::{Result, Share};

use crate::ops::{Graph, Matvec, Metric, Network, OcnnOps};

impl<R, F, I, BT> OcnnOps for CubeBackend<R, F, I, BT>
where
    R: CubeRuntime,
    F: FloatElement,
    I: IntElement,
    BT: BoolElement,
{
    fn ocnn_strategy(device: &Self::Device, matvec: Matvec, n: usize, d: usize) -> Result<&'static str> {
        Ok(step::name(&R::client(device), matvec, n as u32, d as u32))
    }

    fn ocnn_strengths(
        points: FloatTensor<Self>,
        multiplicity: FloatTensor<Self>,
        self_coupling: bool,
        of: Range<usize>,
    ) -> FloatTensor<Self> {
        step::strengths::<R, F>(points, multiplicity, self_coupling, of)
    }

    fn ocnn_weights(
        points: FloatTensor<Self>,
        multiplicity: FloatTensor<Self>,
        self_coupling: bool,
        of: Range<usize>,
    ) -> FloatTensor<Self> {
        couple::weights::<R, F>(points, multiplicity, self_coupling, of)
    }

    fn ocnn_steps(
        network: &Network<Self>,
        state: FloatTensor<Self>,
        steps: usize,
        matvec: Matvec,
    ) -> FloatTensor<Self> {
        step::steps::<R, F>(step::Inputs::of(network), state, steps, matvec)
    }

    fn ocnn_step_rows(network: &Network<Self>, state: FloatTensor<Self>, matvec: Matvec) -> FloatTensor<Self> {
        step::step_rows::<R, F>(step::Inputs::of(network), state, matvec)
    }

    fn ocnn_increase_bits(trajectory: FloatTensor<Self>) -> IntTensor<Self> {
        bits::increase_bits::<R, F>(trajectory)
    }

    fn ocnn_phase_sync(bits: IntTensor<Self>, steps: usize, counts: Option<IntTensor<Self>>) -> IntTensor<Self> {
        sync::phase(bits, steps, counts)
    }

    fn ocnn_fragmentary_sync(
        outputs: FloatTensor<Self>,
        epsilon: f64,
        counts: Option<IntTensor<Self>>,
    ) -> IntTensor<Self> {
        sync::fragmentary::<R, F>(outputs, epsilon, counts)
    }

    fn ocnn_phase_components(bits: IntTensor<Self>, steps: usize, limit: usize, share: Share) -> IntTensor<Self> {
        link::phase_components(bits, steps, limit, share)
    }

    fn ocnn_fragmentary_components(
        outputs: FloatTensor<Self>,
        epsilon: f64,
        limit: usize,
        share: Share,
    ) -> IntTensor<Self> {
        link::fragmentary_components::<R, F>(outputs, epsilon, limit, share)
    }

    fn ocnn_phase_links(bits: IntTensor<Self>, steps: usize, limit: usize, rows: &[u32]) -> IntTensor<Self> {
        link::phase_links(bits, steps, limit, rows)
    }

    fn ocnn_fragmentary_links(outputs: FloatTensor<Self>, epsilon: f64, limit: usize, rows: &[u32]) -> IntTensor<Self> {
        link::fragmentary_links::<R, F>(outputs, epsilon, limit, rows)
    }

    fn ocnn_graph_steps(of: &Graph<Self>, state: FloatTensor<Self>, steps: usize) -> FloatTensor<Self> {
        graph::steps::<R, F>(of.starts.clone(), of.neighbours.clone(), of.weights.clone(), state, steps)
    }

    fn ocnn_signs(outputs: FloatTensor<Self>) -> IntTensor<Self> {
        graph::signs::<R, F>(outputs)
    }

    fn ocnn_common_ones(signs: IntTensor<Self>, edges: IntTensor<Self>) -> IntTensor<Self> {
        graph::common_ones(signs, edges)
    }

    fn ocnn_nearest(
        points: FloatTensor<Self>,
        queries: FloatTensor<Self>,
        k: usize,
        metric: Metric,
        own: Option<usize>,
    ) -> IntTensor<Self> {
        graph::nearest::<R, F>(points, queries, k, metric, own)
    }
}
