//! The operations on CubeCL backends.

use std::ops::Range;

use burn::tensor::ops::{FloatTensor, IntTensor};
use burn_cubecl::{BoolElement, CubeBackend, CubeRuntime, FloatElement, IntElement};
use firebox_core::{Result, Share};

use super::{
    links,
    pair_counts::{Record, SignsDiffer, Within},
    sync,
};
use crate::{
    ops::OcnnOps,
    types::{Graph, Matvec, Metric, Network},
};

impl<R, F, I, BT> OcnnOps for CubeBackend<R, F, I, BT>
where
    R: CubeRuntime,
    F: FloatElement,
    I: IntElement,
    BT: BoolElement,
{
    fn ocnn_strategy(device: &Self::Device, matvec: Matvec, n: usize, d: usize) -> Result<&'static str> {
        Ok(super::step::launch::name(&R::client(device), matvec, n as u32, d as u32))
    }

    fn ocnn_strengths(
        points: FloatTensor<Self>,
        multiplicity: FloatTensor<Self>,
        self_coupling: bool,
        rows: Range<usize>,
    ) -> FloatTensor<Self> {
        super::step::launch::strengths::<R, F>(points, multiplicity, self_coupling, rows)
    }

    fn ocnn_weights(
        points: FloatTensor<Self>,
        multiplicity: FloatTensor<Self>,
        self_coupling: bool,
        rows: Range<usize>,
    ) -> FloatTensor<Self> {
        super::weights::weights::<R, F>(points, multiplicity, self_coupling, rows)
    }

    fn ocnn_steps(
        network: &Network<Self>,
        state: FloatTensor<Self>,
        steps: usize,
        matvec: Matvec,
    ) -> FloatTensor<Self> {
        super::step::launch::steps::<R, F>(super::step::launch::Inputs::of(network), state, steps, matvec)
    }

    fn ocnn_step_rows(network: &Network<Self>, state: FloatTensor<Self>, matvec: Matvec) -> FloatTensor<Self> {
        super::step::launch::step_rows::<R, F>(super::step::launch::Inputs::of(network), state, matvec)
    }

    fn ocnn_increase_bits(trajectory: FloatTensor<Self>) -> IntTensor<Self> {
        super::increase_bits::increase_bits::<R, F>(trajectory)
    }

    fn ocnn_phase_sync(bits: IntTensor<Self>, steps: usize, counts: Option<IntTensor<Self>>) -> IntTensor<Self> {
        sync::phase(bits, steps, counts)
    }

    fn ocnn_fragmentary_sync(
        outputs: FloatTensor<Self>,
        epsilon: f64,
        counts: Option<IntTensor<Self>>,
    ) -> IntTensor<Self> {
        sync::accumulate::<R, F, Within>(Record::outputs(outputs, epsilon), counts)
    }

    fn ocnn_phase_components(bits: IntTensor<Self>, steps: usize, limit: usize, share: Share) -> IntTensor<Self> {
        links::components::<R, u32, SignsDiffer>(Record::signs(bits, steps), limit, share)
    }

    fn ocnn_fragmentary_components(
        outputs: FloatTensor<Self>,
        epsilon: f64,
        limit: usize,
        share: Share,
    ) -> IntTensor<Self> {
        links::components::<R, F, Within>(Record::outputs(outputs, epsilon), limit, share)
    }

    fn ocnn_phase_links(bits: IntTensor<Self>, steps: usize, limit: usize, rows: &[u32]) -> IntTensor<Self> {
        links::link_rows::<R, u32, SignsDiffer>(Record::signs(bits, steps), limit, rows)
    }

    fn ocnn_fragmentary_links(outputs: FloatTensor<Self>, epsilon: f64, limit: usize, rows: &[u32]) -> IntTensor<Self> {
        links::link_rows::<R, F, Within>(Record::outputs(outputs, epsilon), limit, rows)
    }

    fn ocnn_graph_signs(
        graph: &Graph<Self>,
        state: FloatTensor<Self>,
        steps: usize,
    ) -> (FloatTensor<Self>, IntTensor<Self>) {
        let (starts, neighbours) = (graph.starts.clone(), graph.neighbours.clone());
        super::graph::step::signs::<R, F>(starts, neighbours, graph.weights.clone(), state, steps)
    }

    fn ocnn_common_ones(signs: IntTensor<Self>, edges: IntTensor<Self>, mask: u32) -> IntTensor<Self> {
        super::graph::common_ones::common_ones(signs, edges, mask)
    }

    fn ocnn_nearest(
        points: FloatTensor<Self>,
        queries: FloatTensor<Self>,
        k: usize,
        metric: Metric,
        own: Option<usize>,
    ) -> IntTensor<Self> {
        super::graph::nearest::nearest::<R, F>(points, queries, k, metric, own)
    }
}
