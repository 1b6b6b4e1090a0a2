//! The operations on `Fusion<B>`: queued as custom operations that run on `B`.

use std::ops::Range;

use burn::tensor::{
    DType, Shape, TensorMetadata,
    ops::{FloatTensor, IntTensor},
};
use burn_fusion::{Fusion, FusionBackend};
use firebox_backends::fusion::register;
use firebox_core::{Result, Share};

use super::OcnnOps;
use crate::types::{Graph, Matvec, Metric, Network, Parts};

/// Queues an operation on a network and its state.
fn with_network<B: FusionBackend + OcnnOps>(
    name: &'static str,
    network: &Network<Fusion<B>>,
    state: FloatTensor<Fusion<B>>,
    shape: Shape,
    run: impl Fn(&Network<B>, FloatTensor<B>) -> FloatTensor<B> + Send + Sync + 'static,
) -> FloatTensor<Fusion<B>> {
    let dtype = state.dtype();
    let (self_coupling, rows, cache) = (network.self_coupling, network.rows.clone(), network.cache.clone());
    let mut inputs =
        vec![state, network.points.clone(), network.multiplicity.clone(), network.inverse_strength.clone()];
    inputs.extend(network.weights.clone());
    register::<B, _>(name, inputs, shape, dtype, move |ir, handles| {
        let mut inputs = ir.inputs.iter().map(|tensor| handles.get_float_tensor::<B>(tensor)).collect::<Vec<_>>();
        let weights = if inputs.len() > 4 { inputs.pop() } else { None };
        if let Ok([state, points, multiplicity, inverse_strength]) = <[_; 4]>::try_from(inputs) {
            let rows = rows.clone();
            let parts = Parts { points, weights, multiplicity, inverse_strength, self_coupling, rows };
            let network = Network::with_cache(parts, cache.clone());
            handles.register_float_tensor::<B>(&ir.outputs[0].id, run(&network, state));
        }
    })
}

impl<B: FusionBackend + OcnnOps> OcnnOps for Fusion<B> {
    fn ocnn_strategy(device: &Self::Device, matvec: Matvec, n: usize, d: usize) -> Result<&'static str> {
        B::ocnn_strategy(device, matvec, n, d)
    }

    fn ocnn_strengths(
        points: FloatTensor<Self>,
        multiplicity: FloatTensor<Self>,
        self_coupling: bool,
        rows: Range<usize>,
    ) -> FloatTensor<Self> {
        let (shape, dtype) = (Shape::new([rows.len()]), points.dtype());
        register::<B, _>("ocnn_strengths", vec![points, multiplicity], shape, dtype, move |ir, handles| {
            let ([points, multiplicity], [out]) = ir.as_fixed();
            let points = handles.get_float_tensor::<B>(points);
            let multiplicity = handles.get_float_tensor::<B>(multiplicity);
            let strengths = B::ocnn_strengths(points, multiplicity, self_coupling, rows.clone());
            handles.register_float_tensor::<B>(&out.id, strengths);
        })
    }

    fn ocnn_weights(
        points: FloatTensor<Self>,
        multiplicity: FloatTensor<Self>,
        self_coupling: bool,
        rows: Range<usize>,
    ) -> FloatTensor<Self> {
        let (shape, dtype) = (Shape::new([rows.len(), multiplicity.shape()[0]]), points.dtype());
        register::<B, _>("ocnn_weights", vec![points, multiplicity], shape, dtype, move |ir, handles| {
            let ([points, multiplicity], [out]) = ir.as_fixed();
            let points = handles.get_float_tensor::<B>(points);
            let multiplicity = handles.get_float_tensor::<B>(multiplicity);
            let weights = B::ocnn_weights(points, multiplicity, self_coupling, rows.clone());
            handles.register_float_tensor::<B>(&out.id, weights);
        })
    }

    fn ocnn_step_rows(network: &Network<Self>, state: FloatTensor<Self>, matvec: Matvec) -> FloatTensor<Self> {
        let shape = Shape::new([network.rows.len()]);
        with_network::<B>("ocnn_step_rows", network, state, shape, move |network, state| {
            B::ocnn_step_rows(network, state, matvec)
        })
    }

    fn ocnn_steps(
        network: &Network<Self>,
        state: FloatTensor<Self>,
        steps: usize,
        matvec: Matvec,
    ) -> FloatTensor<Self> {
        let shape = Shape::new([steps + 1, state.shape()[0]]);
        with_network::<B>("ocnn_steps", network, state, shape, move |network, state| {
            B::ocnn_steps(network, state, steps, matvec)
        })
    }

    fn ocnn_increase_bits(trajectory: FloatTensor<Self>) -> IntTensor<Self> {
        let shape = trajectory.shape();
        let words = Shape::new([(shape[0] - 1).div_ceil(32), shape[1]]);
        register::<B, _>("ocnn_increase_bits", vec![trajectory], words, DType::I32, |ir, handles| {
            let ([trajectory], [out]) = ir.as_fixed();
            let trajectory = handles.get_float_tensor::<B>(trajectory);
            handles.register_int_tensor::<B>(&out.id, B::ocnn_increase_bits(trajectory));
        })
    }

    fn ocnn_phase_sync(bits: IntTensor<Self>, steps: usize, counts: Option<IntTensor<Self>>) -> IntTensor<Self> {
        let n = bits.shape()[1];
        let inputs = [Some(bits), counts].into_iter().flatten().collect();
        register::<B, _>("ocnn_phase_sync", inputs, Shape::new([n, n]), DType::I32, move |ir, handles| {
            let (inputs, out) = (&ir.inputs, &ir.outputs[0]);
            let bits = handles.get_int_tensor::<B>(&inputs[0]);
            let counts = inputs.get(1).map(|counts| handles.get_int_tensor::<B>(counts));
            handles.register_int_tensor::<B>(&out.id, B::ocnn_phase_sync(bits, steps, counts));
        })
    }

    fn ocnn_fragmentary_sync(
        outputs: FloatTensor<Self>,
        epsilon: f64,
        counts: Option<IntTensor<Self>>,
    ) -> IntTensor<Self> {
        let n = outputs.shape()[1];
        let inputs = [Some(outputs), counts].into_iter().flatten().collect();
        register::<B, _>("ocnn_fragmentary_sync", inputs, Shape::new([n, n]), DType::I32, move |ir, handles| {
            let (inputs, out) = (&ir.inputs, &ir.outputs[0]);
            let outputs = handles.get_float_tensor::<B>(&inputs[0]);
            let counts = inputs.get(1).map(|counts| handles.get_int_tensor::<B>(counts));
            handles.register_int_tensor::<B>(&out.id, B::ocnn_fragmentary_sync(outputs, epsilon, counts));
        })
    }

    fn ocnn_phase_components(bits: IntTensor<Self>, steps: usize, limit: usize, share: Share) -> IntTensor<Self> {
        let n = Shape::new([bits.shape()[1]]);
        register::<B, _>("ocnn_phase_components", vec![bits], n, DType::I32, move |ir, handles| {
            let ([bits], [out]) = ir.as_fixed();
            let bits = handles.get_int_tensor::<B>(bits);
            handles.register_int_tensor::<B>(&out.id, B::ocnn_phase_components(bits, steps, limit, share));
        })
    }

    fn ocnn_fragmentary_components(
        outputs: FloatTensor<Self>,
        epsilon: f64,
        limit: usize,
        share: Share,
    ) -> IntTensor<Self> {
        let n = Shape::new([outputs.shape()[1]]);
        register::<B, _>("ocnn_fragmentary_components", vec![outputs], n, DType::I32, move |ir, handles| {
            let ([outputs], [out]) = ir.as_fixed();
            let outputs = handles.get_float_tensor::<B>(outputs);
            let roots = B::ocnn_fragmentary_components(outputs, epsilon, limit, share);
            handles.register_int_tensor::<B>(&out.id, roots);
        })
    }

    fn ocnn_phase_links(bits: IntTensor<Self>, steps: usize, limit: usize, rows: &[u32]) -> IntTensor<Self> {
        let rows = rows.to_vec();
        let shape = Shape::new([rows.len(), bits.shape()[1].div_ceil(32)]);
        register::<B, _>("ocnn_phase_links", vec![bits], shape, DType::I32, move |ir, handles| {
            let ([bits], [out]) = ir.as_fixed();
            let bits = handles.get_int_tensor::<B>(bits);
            handles.register_int_tensor::<B>(&out.id, B::ocnn_phase_links(bits, steps, limit, &rows));
        })
    }

    fn ocnn_fragmentary_links(outputs: FloatTensor<Self>, epsilon: f64, limit: usize, rows: &[u32]) -> IntTensor<Self> {
        let rows = rows.to_vec();
        let shape = Shape::new([rows.len(), outputs.shape()[1].div_ceil(32)]);
        register::<B, _>("ocnn_fragmentary_links", vec![outputs], shape, DType::I32, move |ir, handles| {
            let ([outputs], [out]) = ir.as_fixed();
            let outputs = handles.get_float_tensor::<B>(outputs);
            handles.register_int_tensor::<B>(&out.id, B::ocnn_fragmentary_links(outputs, epsilon, limit, &rows));
        })
    }

    fn ocnn_graph_steps(graph: &Graph<Self>, state: FloatTensor<Self>, steps: usize) -> FloatTensor<Self> {
        let (dtype, shape) = (state.dtype(), state.shape());
        let shape = Shape::new([steps + 1, shape[0], shape[1]]);
        let inputs = vec![graph.starts.clone(), graph.neighbours.clone(), graph.weights.clone(), state];
        register::<B, _>("ocnn_graph_steps", inputs, shape, dtype, move |ir, handles| {
            let ([starts, neighbours, weights, state], [out]) = ir.as_fixed();
            let graph = Graph {
                starts: handles.get_int_tensor::<B>(starts),
                neighbours: handles.get_int_tensor::<B>(neighbours),
                weights: handles.get_float_tensor::<B>(weights),
            };
            let state = handles.get_float_tensor::<B>(state);
            handles.register_float_tensor::<B>(&out.id, B::ocnn_graph_steps(&graph, state, steps));
        })
    }

    fn ocnn_signs(outputs: FloatTensor<Self>) -> IntTensor<Self> {
        let shape = outputs.shape();
        let words = Shape::new([shape[1], shape[0] / 4]);
        register::<B, _>("ocnn_signs", vec![outputs], words, DType::I32, |ir, handles| {
            let ([outputs], [out]) = ir.as_fixed();
            let outputs = handles.get_float_tensor::<B>(outputs);
            handles.register_int_tensor::<B>(&out.id, B::ocnn_signs(outputs));
        })
    }

    fn ocnn_common_ones(signs: IntTensor<Self>, edges: IntTensor<Self>) -> IntTensor<Self> {
        let e = Shape::new([edges.shape()[1]]);
        register::<B, _>("ocnn_common_ones", vec![signs, edges], e, DType::I32, |ir, handles| {
            let ([signs, edges], [out]) = ir.as_fixed();
            let signs = handles.get_int_tensor::<B>(signs);
            let edges = handles.get_int_tensor::<B>(edges);
            handles.register_int_tensor::<B>(&out.id, B::ocnn_common_ones(signs, edges));
        })
    }

    fn ocnn_nearest(
        points: FloatTensor<Self>,
        queries: FloatTensor<Self>,
        k: usize,
        metric: Metric,
        own: Option<usize>,
    ) -> IntTensor<Self> {
        let shape = Shape::new([queries.shape()[1], k]);
        register::<B, _>("ocnn_nearest", vec![points, queries], shape, DType::I32, move |ir, handles| {
            let ([points, queries], [out]) = ir.as_fixed();
            let points = handles.get_float_tensor::<B>(points);
            let queries = handles.get_float_tensor::<B>(queries);
            handles.register_int_tensor::<B>(&out.id, B::ocnn_nearest(points, queries, k, metric, own));
        })
    }
}
