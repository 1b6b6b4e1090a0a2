//! The implementations under test.

use std::ops::Range;

use burn::tensor::ops::{FloatTensor, IntTensor};
use firebox_core::Share;

use crate::{
    ops::{OcnnOps, tensor},
    types::{Graph, Matvec, Metric, Network},
};

type PhaseSync<B> = fn(IntTensor<B>, usize, Option<IntTensor<B>>) -> IntTensor<B>;
type FragmentarySync<B> = fn(FloatTensor<B>, f64, Option<IntTensor<B>>) -> IntTensor<B>;
type Couplings<B> = fn(FloatTensor<B>, FloatTensor<B>, bool, Range<usize>) -> FloatTensor<B>;
type Nearest<B> = fn(FloatTensor<B>, FloatTensor<B>, usize, Metric, Option<usize>) -> IntTensor<B>;

/// The implementations under test on one backend.
#[derive(Clone)]
pub struct Suite<B: OcnnOps> {
    /// Name in tests.
    pub name: &'static str,
    pub(super) strengths: Couplings<B>,
    pub(super) weights: Couplings<B>,
    pub(super) steps: fn(&Network<B>, FloatTensor<B>, usize, Matvec) -> FloatTensor<B>,
    pub(super) step_rows: fn(&Network<B>, FloatTensor<B>, Matvec) -> FloatTensor<B>,
    pub(super) increase_bits: fn(FloatTensor<B>) -> IntTensor<B>,
    pub(super) phase_sync: PhaseSync<B>,
    pub(super) fragmentary_sync: FragmentarySync<B>,
    pub(super) phase_components: fn(IntTensor<B>, usize, usize, Share) -> IntTensor<B>,
    pub(super) fragmentary_components: fn(FloatTensor<B>, f64, usize, Share) -> IntTensor<B>,
    pub(super) phase_links: fn(IntTensor<B>, usize, usize, &[u32]) -> IntTensor<B>,
    pub(super) fragmentary_links: fn(FloatTensor<B>, f64, usize, &[u32]) -> IntTensor<B>,
    pub(super) graph_steps: fn(&Graph<B>, FloatTensor<B>, usize) -> FloatTensor<B>,
    pub(super) signs: fn(FloatTensor<B>) -> IntTensor<B>,
    pub(super) common_ones: fn(IntTensor<B>, IntTensor<B>) -> IntTensor<B>,
    pub(super) nearest: Nearest<B>,
}

impl<B: OcnnOps> Suite<B> {
    /// Name of the backend's own implementations.
    pub(super) const KERNELS: &str = "kernels";

    /// The backend's own implementations.
    pub fn backend() -> Self {
        Self {
            name: Self::KERNELS,
            strengths: B::ocnn_strengths,
            weights: B::ocnn_weights,
            steps: B::ocnn_steps,
            step_rows: B::ocnn_step_rows,
            increase_bits: B::ocnn_increase_bits,
            phase_sync: B::ocnn_phase_sync,
            fragmentary_sync: B::ocnn_fragmentary_sync,
            phase_components: B::ocnn_phase_components,
            fragmentary_components: B::ocnn_fragmentary_components,
            phase_links: B::ocnn_phase_links,
            fragmentary_links: B::ocnn_fragmentary_links,
            graph_steps: B::ocnn_graph_steps,
            signs: B::ocnn_signs,
            common_ones: B::ocnn_common_ones,
            nearest: B::ocnn_nearest,
        }
    }

    /// The default bodies on this backend.
    pub fn tensor_operations() -> Self {
        Self {
            name: "tensor operations",
            strengths: tensor::network::strengths::<B>,
            weights: tensor::network::weights::<B>,
            steps: |network, state, steps, _| tensor::network::steps::<B>(network, state, steps),
            step_rows: |network, state, _| tensor::network::step_rows::<B>(network, state),
            increase_bits: tensor::sync::increase_bits::<B>,
            phase_sync: tensor::sync::phase_sync::<B>,
            fragmentary_sync: tensor::sync::fragmentary_sync::<B>,
            phase_components: tensor::sync::phase_components::<B>,
            fragmentary_components: tensor::sync::fragmentary_components::<B>,
            phase_links: tensor::sync::phase_links::<B>,
            fragmentary_links: tensor::sync::fragmentary_links::<B>,
            graph_steps: tensor::graph::graph_steps::<B>,
            signs: tensor::graph::signs::<B>,
            common_ones: tensor::graph::common_ones::<B>,
            nearest: tensor::graph::nearest::<B>,
        }
    }
}
