//! The hot loops on Burn's NdArray: slices out of its tensors, and [`crate::cpu`] over them.

use std::{ops::Range, sync::Arc};

use burn::tensor::{
    TensorMetadata,
    ops::{FloatTensor, IntTensor},
};
use burn_ndarray::{FloatNdArrayElement, IntNdArrayElement, NdArray, NdArrayTensor, QuantElement, SharedArray};
use bytemuck::allocation::cast_vec;
use firebox_backends::{
    Limited,
    cpu::Level,
    ndarray::{Float, by_float, dense, dims, shaped, slice},
};
use firebox_core::{Result, Share};

use crate::{
    cpu,
    ops::{Graph, Matvec, Metric, Network, OcnnOps, Parts, REPLICAS, no_units},
};

/// √(log₂ e): the CPU's weights are powers of two, exp(−|v|²) = 2^(−|√(log₂ e)·v|²).
const TO_BASE_2: f64 = 1.201_122_408_786_449_8;

/// Integers as the bits they are, without a copy if nobody else holds them.
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

fn network<E: Float>(points: NdArrayTensor, multiplicity: NdArrayTensor, self_coupling: bool) -> cpu::Network<E> {
    let scale = E::from_f64(TO_BASE_2);
    let scaled: Vec<E> = slice(&E::dense(points)).iter().map(|&v| v * scale).collect();
    cpu::Network::new(&scaled, slice(&E::dense(multiplicity)), self_coupling)
}

/// Where a step has its weights from.
enum Weights<E> {
    Stored(SharedArray<E>),
    OnTheFly(cpu::Network<E>),
}

/// A network as the loops read it.
struct Prepared<E> {
    weights: Weights<E>,
    inverse: SharedArray<E>,
    rows: Range<usize>,
}

impl<E: Float> Prepared<E> {
    /// Once for a network, whatever its steps are asked for in.
    fn of<B: Limited<FloatTensorPrimitive = NdArrayTensor>>(of: &Network<B>) -> Arc<Self> {
        of.kept.get(|_| true, || Arc::new(Self::new(of)))
    }

    fn new<B: Limited<FloatTensorPrimitive = NdArrayTensor>>(of: &Parts<B>) -> Self {
        let weights = match of.weights.clone() {
            Some(stored) => Weights::Stored(E::dense(stored)),
            None => Weights::OnTheFly(network::<E>(of.points.clone(), of.multiplicity.clone(), of.self_coupling)),
        };
        Self { weights, inverse: E::dense(of.inverse_strength.clone()), rows: of.rows.clone() }
    }

    fn step(&self, x: &[E], out: &mut [E]) {
        let (level, inverse, rows) = (Level::best(), slice(&self.inverse), self.rows.clone());
        match &self.weights {
            Weights::Stored(weights) => cpu::step_stored(level, slice(weights), x, inverse, rows, out),
            Weights::OnTheFly(network) => cpu::step_on_the_fly(level, network, x, inverse, rows, out),
        }
    }
}

fn steps<E: Float>(network: &Prepared<E>, state: NdArrayTensor, steps: usize) -> NdArrayTensor {
    let [n] = dims(&state);
    let mut trajectory = vec![E::ZERO; (steps + 1) * n];
    trajectory[..n].copy_from_slice(slice(&E::dense(state)));
    // From inside the pool a step need not wake it up.
    rayon::scope(|_| {
        for at in 0..steps {
            let (past, future) = trajectory.split_at_mut((at + 1) * n);
            network.step(&past[at * n..], &mut future[..n]);
        }
    });
    E::tensor(trajectory, &[steps + 1, n])
}

fn step_rows<E: Float>(network: &Prepared<E>, state: NdArrayTensor) -> NdArrayTensor {
    let mut next = vec![E::ZERO; network.rows.len()];
    network.step(slice(&E::dense(state)), &mut next);
    let count = next.len();
    E::tensor(next, &[count])
}

fn graph_steps<E: Float, B>(of: &Graph<B>, state: NdArrayTensor, steps: usize) -> NdArrayTensor
where
    B: Limited<FloatTensorPrimitive = NdArrayTensor, IntTensorPrimitive = NdArrayTensor>,
{
    let [n, _] = dims(&state);
    let row = n * REPLICAS;
    let (starts, neighbours) = (words(of.starts.clone()), words(of.neighbours.clone()));
    let weights = E::dense(of.weights.clone());
    let graph = cpu::Graph { starts: &starts, neighbours: &neighbours, weights: slice(&weights) };
    let mut trajectory = vec![E::ZERO; (steps + 1) * row];
    trajectory[..row].copy_from_slice(slice(&E::dense(state)));
    let mut scratch = vec![[E::ZERO; REPLICAS]; n];
    // From inside the pool a step need not wake it up.
    rayon::scope(|_| {
        for step in 0..steps {
            let (past, future) = trajectory.split_at_mut((step + 1) * row);
            cpu::graph_step(Level::best(), &graph, &past[step * row..], &mut scratch, &mut future[..row]);
        }
    });
    E::tensor(trajectory, &[steps + 1, n, REPLICAS])
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
        of: Range<usize>,
    ) -> FloatTensor<Self> {
        let r = of.len();
        by_float!(points, F => {
            let mut strengths = vec![0.0; r];
            cpu::strengths(Level::best(), &network::<F>(points, multiplicity, self_coupling), of, &mut strengths);
            F::tensor(strengths, &[r])
        })
    }

    fn ocnn_weights(
        points: FloatTensor<Self>,
        multiplicity: FloatTensor<Self>,
        self_coupling: bool,
        of: Range<usize>,
    ) -> FloatTensor<Self> {
        let ([n], r) = (dims(&multiplicity), of.len());
        by_float!(points, F => {
            let mut weights = vec![0.0; r * n];
            cpu::store(Level::best(), &network::<F>(points, multiplicity, self_coupling), of, &mut weights);
            F::tensor(weights, &[r, n])
        })
    }

    fn ocnn_steps(of: &Network<Self>, state: FloatTensor<Self>, count: usize, _matvec: Matvec) -> FloatTensor<Self> {
        by_float!(state, F => steps::<F>(&Prepared::of(of), state, count))
    }

    fn ocnn_step_rows(of: &Network<Self>, state: FloatTensor<Self>, _matvec: Matvec) -> FloatTensor<Self> {
        by_float!(state, F => step_rows::<F>(&Prepared::of(of), state))
    }

    fn ocnn_increase_bits(trajectory: FloatTensor<Self>) -> IntTensor<Self> {
        let [rows, n] = dims(&trajectory);
        let height = rows.saturating_sub(1).div_ceil(32);
        let mut bits = vec![0; height * n];
        by_float!(trajectory, F => {
            cpu::pack_increase(Level::best(), slice(&F::dense(trajectory)), n, &mut bits);
        });
        integers(bits, &[height, n])
    }

    fn ocnn_phase_sync(bits: IntTensor<Self>, steps: usize, counts: Option<IntTensor<Self>>) -> IntTensor<Self> {
        let [_, n] = dims(&bits);
        let mut counts = counts.map_or_else(|| vec![0; n * n], words);
        cpu::phase_sync(Level::best(), &words(bits), steps as u32, n, &mut counts);
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
            cpu::fragmentary_sync(Level::best(), slice(&F::dense(outputs)), n, epsilon as F, &mut counts);
        });
        integers(counts, &[n, n])
    }

    fn ocnn_phase_components(bits: IntTensor<Self>, steps: usize, limit: usize, share: Share) -> IntTensor<Self> {
        let [_, n] = dims(&bits);
        integers(cpu::link_phase(Level::best(), &words(bits), steps as u32, n, limit as u32, share), &[n])
    }

    fn ocnn_fragmentary_components(
        outputs: FloatTensor<Self>,
        epsilon: f64,
        limit: usize,
        share: Share,
    ) -> IntTensor<Self> {
        let [_, n] = dims(&outputs);
        let roots = by_float!(outputs, F => {
            cpu::link_fragmentary(Level::best(), slice(&F::dense(outputs)), n, epsilon as F, limit as u32, share)
        });
        integers(roots, &[n])
    }

    fn ocnn_phase_links(bits: IntTensor<Self>, steps: usize, limit: usize, rows: &[u32]) -> IntTensor<Self> {
        let [_, n] = dims(&bits);
        let links = cpu::phase_link_rows(Level::best(), &words(bits), steps as u32, n, limit as u32, rows);
        integers(links, &[rows.len(), n.div_ceil(32)])
    }

    fn ocnn_fragmentary_links(outputs: FloatTensor<Self>, epsilon: f64, limit: usize, rows: &[u32]) -> IntTensor<Self> {
        let [_, n] = dims(&outputs);
        let links = by_float!(outputs, F => {
            cpu::fragmentary_link_rows(Level::best(), slice(&F::dense(outputs)), n, epsilon as F, limit as u32, rows)
        });
        integers(links, &[rows.len(), n.div_ceil(32)])
    }

    fn ocnn_graph_steps(graph: &Graph<Self>, state: FloatTensor<Self>, steps: usize) -> FloatTensor<Self> {
        by_float!(state, F => graph_steps::<F, Self>(graph, state, steps))
    }

    fn ocnn_signs(outputs: FloatTensor<Self>) -> IntTensor<Self> {
        let [p, n, _] = dims(&outputs);
        let mut words = vec![0; n * (p / 4)];
        by_float!(outputs, F => cpu::signs(Level::best(), slice(&F::dense(outputs)), n, &mut words));
        integers(words, &[n, p / 4])
    }

    fn ocnn_common_ones(signs: IntTensor<Self>, edges: IntTensor<Self>) -> IntTensor<Self> {
        let ([_, width], [_, e]) = (dims(&signs), dims(&edges));
        let ends = words(edges);
        let mut counts = vec![0; e];
        cpu::common_ones(Level::best(), &words(signs), width, &ends[..e], &ends[e..], &mut counts);
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
            cpu::nearest(Level::best(), slice(&points), slice(&queries), q, k, metric, own).indices
        });
        integers(indices, &[q, k])
    }
}
