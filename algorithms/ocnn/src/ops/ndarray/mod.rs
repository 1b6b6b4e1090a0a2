//! The operations on Burn's NdArray: rayon over slices of its tensors, vectorised for the instruction set detected at
//! run time.
//!
//! Every loop takes the [`SimdLevel`](firebox_backends::cpu::SimdLevel) to run on, normally `SimdLevel::best()`, and
//! gives the same bits for any number of threads. Matrices are row-major; trajectories are time-major, so that inner
//! loops run over contiguous neurons.
//!
//! The steps of a call run in one [`rayon::scope`]: outside the pool each step would wait some microseconds for a
//! thread to wake, a tenth to a half of a step of 1000 neurons.

mod coupling;
mod graph;
mod links;
mod measure;
pub(crate) mod nearest;
mod reach;
mod step;
mod sync;

use std::{ops::Range, sync::Arc};

use burn::tensor::{
    TensorMetadata,
    ops::{FloatTensor, IntTensor},
};
use burn_ndarray::{FloatNdArrayElement, IntNdArrayElement, NdArray, NdArrayTensor, QuantElement, SharedArray};
use bytemuck::allocation::cast_vec;
use firebox_backends::{
    DeviceLimits,
    cpu::SimdLevel,
    ndarray::{Float, by_float, dense, dims, shaped, slice},
};
use firebox_core::{Result, Share};

use self::{
    links::Measured,
    measure::{Fragmentary, Phase},
};
use super::{OcnnOps, no_units};
use crate::types::{Graph, Matvec, Metric, Network, Parts, WORD_STEPS};

/// √(log₂ e), which turns exponentials into powers of two: exp(−|v|²) = 2^(−|√(log₂ e)·v|²).
const TO_BASE_2: f64 = 1.201_122_408_786_449_8;

/// The bits of integers, without a copy if the tensor is not shared.
fn words(tensor: NdArrayTensor) -> Vec<u32> {
    match tensor {
        NdArrayTensor::I32(array) => {
            let (values, start) = dense(array.into_shared()).into_owned().into_raw_vec_and_offset();
            let mut words = cast_vec::<_, u32>(values);
            words.drain(..start.unwrap_or(0));
            words
        }
        NdArrayTensor::I64(array) => slice(&dense(array.into_shared())).iter().map(|&word| word as u32).collect(),
        _ => Vec::new(),
    }
}

fn integers(words: Vec<u32>, shape: &[usize]) -> NdArrayTensor {
    shaped(cast_vec::<_, i32>(words), shape).into()
}

/// The links of neurons in phase at more than `limit` steps of bits `[w, n]`.
fn phase(bits: NdArrayTensor, steps: usize, limit: usize) -> Measured<Phase> {
    let [_, n] = dims(&bits);
    Measured { level: SimdLevel::best(), measure: Phase::new(&words(bits), n, steps as u32), limit: limit as u32 }
}

/// The links of neurons that are within ε at more than `limit` steps of outputs `[P, n]`.
fn fragmentary<E: Float>(outputs: NdArrayTensor, epsilon: E, limit: usize) -> Measured<Fragmentary<E>> {
    let [_, n] = dims(&outputs);
    let measure = Fragmentary::new(slice(&E::dense(outputs)), n, epsilon);
    Measured { level: SimdLevel::best(), measure, limit: limit as u32 }
}

fn network<E: Float>(points: NdArrayTensor, multiplicity: NdArrayTensor, self_coupling: bool) -> coupling::Network<E> {
    let scale = E::from_f64(TO_BASE_2);
    let scaled: Vec<E> = slice(&E::dense(points)).iter().map(|&v| v * scale).collect();
    coupling::Network::new(&scaled, slice(&E::dense(multiplicity)), self_coupling)
}

/// Source of the weights of a step.
enum Weights<E> {
    Stored(SharedArray<E>),
    OnTheFly(coupling::Network<E>),
}

/// A network in the form that the loops read.
struct Prepared<E> {
    weights: Weights<E>,
    inverse: SharedArray<E>,
    rows: Range<usize>,
}

impl<E: Float> Prepared<E> {
    /// The network's cached form.
    fn of<B: DeviceLimits<FloatTensorPrimitive = NdArrayTensor>>(network: &Network<B>) -> Arc<Self> {
        network.cache.get(|_| true, || Arc::new(Self::new(network)))
    }

    fn new<B: DeviceLimits<FloatTensorPrimitive = NdArrayTensor>>(parts: &Parts<B>) -> Self {
        let weights = match parts.weights.clone() {
            Some(stored) => Weights::Stored(E::dense(stored)),
            None => {
                let (points, multiplicity) = (parts.points.clone(), parts.multiplicity.clone());
                Weights::OnTheFly(network::<E>(points, multiplicity, parts.self_coupling))
            }
        };
        Self { weights, inverse: E::dense(parts.inverse_strength.clone()), rows: parts.rows.clone() }
    }

    fn step(&self, x: &[E], out: &mut [E]) {
        let (level, inverse, rows) = (SimdLevel::best(), slice(&self.inverse), self.rows.clone());
        match &self.weights {
            Weights::Stored(weights) => step::step_stored(level, slice(weights), x, inverse, rows, out),
            Weights::OnTheFly(network) => step::step_on_the_fly(level, network, x, inverse, rows, out),
        }
    }
}

/// The trajectory of `steps` steps from `state`; `step` writes the row after the one that it gets.
fn trajectory<E: Float>(
    state: NdArrayTensor,
    steps: usize,
    mut step: impl FnMut(&[E], &mut [E]) + Send,
) -> NdArrayTensor {
    let shape = [&[steps + 1], state.shape().as_slice()].concat();
    let state = E::dense(state);
    let state = slice(&state);
    let row = state.len();
    let mut trajectory = vec![E::ZERO; (steps + 1) * row];
    trajectory[..row].copy_from_slice(state);
    // Steps run inside the pool, whose threads need not be woken for each.
    rayon::scope(|_| {
        for at in 0..steps {
            let (past, future) = trajectory.split_at_mut((at + 1) * row);
            step(&past[at * row..], &mut future[..row]);
        }
    });
    E::tensor(trajectory, &shape)
}

fn step_rows<E: Float>(network: &Prepared<E>, state: NdArrayTensor) -> NdArrayTensor {
    let mut next = vec![E::ZERO; network.rows.len()];
    network.step(slice(&E::dense(state)), &mut next);
    let count = next.len();
    E::tensor(next, &[count])
}

/// A graph's cached form.
struct PreparedGraph<E: Float> {
    graph: graph::Graph,
    weights: SharedArray<E>,
}

fn graph_signs<E: Float, B>(tensors: &Graph<B>, state: NdArrayTensor, steps: usize) -> (NdArrayTensor, NdArrayTensor)
where
    B: DeviceLimits<FloatTensorPrimitive = NdArrayTensor, IntTensorPrimitive = NdArrayTensor>,
{
    let [n, replicas] = dims(&state);
    let prepare = || {
        let graph = graph::Graph::new(words(tensors.starts.clone()), &words(tensors.neighbours.clone()));
        Arc::new(PreparedGraph { graph, weights: E::dense(tensors.weights.clone()) })
    };
    let prepared: Arc<PreparedGraph<E>> = tensors.cache.get(|_| true, prepare);
    let mut x = slice(&E::dense(state)).to_vec();
    let mut signs = vec![0; n * steps.div_ceil(WORD_STEPS)];
    graph::steps(SimdLevel::best(), &prepared.graph, slice(&prepared.weights), &mut x, steps, &mut signs);
    (E::tensor(x, &[n, replicas]), integers(signs, &[n, steps.div_ceil(WORD_STEPS)]))
}

impl<E, I, Q> OcnnOps for NdArray<E, I, Q>
where
    E: FloatNdArrayElement,
    I: IntNdArrayElement,
    Q: QuantElement,
    NdArrayTensor: From<SharedArray<E>> + From<SharedArray<I>>,
{
    fn ocnn_strategy(_device: &Self::Device, matvec: Matvec, _n: usize, _d: usize) -> Result<&'static str> {
        if matvec == Matvec::Auto { Ok("rows by thread") } else { Err(no_units(matvec)) }
    }

    fn ocnn_strengths(
        points: FloatTensor<Self>,
        multiplicity: FloatTensor<Self>,
        self_coupling: bool,
        rows: Range<usize>,
    ) -> FloatTensor<Self> {
        let r = rows.len();
        by_float!(points, F => {
            let mut strengths = vec![0.0; r];
            let network = network::<F>(points, multiplicity, self_coupling);
            coupling::strengths(SimdLevel::best(), &network, rows, &mut strengths);
            F::tensor(strengths, &[r])
        })
    }

    fn ocnn_weights(
        points: FloatTensor<Self>,
        multiplicity: FloatTensor<Self>,
        self_coupling: bool,
        rows: Range<usize>,
    ) -> FloatTensor<Self> {
        let ([n], r) = (dims(&multiplicity), rows.len());
        by_float!(points, F => {
            let mut weights = vec![0.0; r * n];
            let network = network::<F>(points, multiplicity, self_coupling);
            coupling::store(SimdLevel::best(), &network, rows, &mut weights);
            F::tensor(weights, &[r, n])
        })
    }

    fn ocnn_steps(
        network: &Network<Self>,
        state: FloatTensor<Self>,
        steps: usize,
        _matvec: Matvec,
    ) -> FloatTensor<Self> {
        by_float!(state, F => {
            let network = Prepared::<F>::of(network);
            trajectory::<F>(state, steps, |now, next| network.step(now, next))
        })
    }

    fn ocnn_step_rows(network: &Network<Self>, state: FloatTensor<Self>, _matvec: Matvec) -> FloatTensor<Self> {
        by_float!(state, F => step_rows::<F>(&Prepared::of(network), state))
    }

    fn ocnn_increase_bits(trajectory: FloatTensor<Self>) -> IntTensor<Self> {
        let [rows, n] = dims(&trajectory);
        let height = rows.saturating_sub(1).div_ceil(32);
        let mut bits = vec![0; height * n];
        by_float!(trajectory, F => {
            sync::pack_increase(SimdLevel::best(), slice(&F::dense(trajectory)), n, &mut bits);
        });
        integers(bits, &[height, n])
    }

    fn ocnn_phase_sync(bits: IntTensor<Self>, steps: usize, counts: Option<IntTensor<Self>>) -> IntTensor<Self> {
        let [_, n] = dims(&bits);
        let mut counts = counts.map_or_else(|| vec![0; n * n], words);
        sync::accumulate(SimdLevel::best(), &phase(bits, steps, 0).measure, &mut counts);
        integers(counts, &[n, n])
    }

    fn ocnn_fragmentary_sync(
        outputs: FloatTensor<Self>,
        epsilon: f64,
        counts: Option<IntTensor<Self>>,
    ) -> IntTensor<Self> {
        let [_, n] = dims(&outputs);
        let mut counts = counts.map_or_else(|| vec![0; n * n], words);
        by_float!(outputs, F => {
            sync::accumulate(SimdLevel::best(), &fragmentary(outputs, epsilon as F, 0).measure, &mut counts);
        });
        integers(counts, &[n, n])
    }

    fn ocnn_phase_components(bits: IntTensor<Self>, steps: usize, limit: usize, share: Share) -> IntTensor<Self> {
        let [_, n] = dims(&bits);
        integers(links::components(&phase(bits, steps, limit), share), &[n])
    }

    fn ocnn_fragmentary_components(
        outputs: FloatTensor<Self>,
        epsilon: f64,
        limit: usize,
        share: Share,
    ) -> IntTensor<Self> {
        let [_, n] = dims(&outputs);
        let roots = by_float!(outputs, F => links::components(&fragmentary(outputs, epsilon as F, limit), share));
        integers(roots, &[n])
    }

    fn ocnn_phase_links(bits: IntTensor<Self>, steps: usize, limit: usize, rows: &[u32]) -> IntTensor<Self> {
        let [_, n] = dims(&bits);
        integers(links::link_rows(&phase(bits, steps, limit), rows), &[rows.len(), n.div_ceil(32)])
    }

    fn ocnn_fragmentary_links(outputs: FloatTensor<Self>, epsilon: f64, limit: usize, rows: &[u32]) -> IntTensor<Self> {
        let [_, n] = dims(&outputs);
        let links = by_float!(outputs, F => links::link_rows(&fragmentary(outputs, epsilon as F, limit), rows));
        integers(links, &[rows.len(), n.div_ceil(32)])
    }

    fn ocnn_graph_signs(
        graph: &Graph<Self>,
        state: FloatTensor<Self>,
        steps: usize,
    ) -> (FloatTensor<Self>, IntTensor<Self>) {
        by_float!(state, F => graph_signs::<F, Self>(graph, state, steps))
    }

    fn ocnn_common_ones(signs: IntTensor<Self>, edges: IntTensor<Self>, mask: u32) -> IntTensor<Self> {
        let ([_, width], [_, e]) = (dims(&signs), dims(&edges));
        let ends = words(edges);
        let mut counts = vec![0; e];
        graph::common_ones(SimdLevel::best(), &words(signs), width, [&ends[..e], &ends[e..]], mask, &mut counts);
        integers(counts, &[e])
    }

    fn ocnn_nearest(
        points: FloatTensor<Self>,
        queries: FloatTensor<Self>,
        k: usize,
        metric: Metric,
        own: Option<usize>,
    ) -> IntTensor<Self> {
        let [_, q] = dims(&queries);
        let indices = by_float!(points, F => {
            let (points, queries) = (F::dense(points), F::dense(queries));
            nearest::nearest(SimdLevel::best(), slice(&points), slice(&queries), q, k, metric, own).indices
        });
        integers(indices, &[q, k])
    }
}

#[cfg(test)]
mod graph_tests;
#[cfg(test)]
mod tests;
