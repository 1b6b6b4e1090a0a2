//! Networks on a graph: their steps, and the ones that the signs of each edge's ends have in common.

use std::{ops::Range, time::Instant};

use burn::tensor::{DType, Int, Tensor, TensorData, TensorPrimitive, backend::Backend};
use firebox_backends::limits::{self, Buffer};
use firebox_core::{
    Context, Error, Result,
    observe::checkpoint,
    random::Random,
    tensor::{primitive, read_ints},
};

use super::{AutoConfig, graph::Edges, graph::Rows, information::Ones, input::Prepared};
use crate::{
    OcnnOps,
    ops::{Graph, REPLICAS},
    pace,
};

/// Numbers of the outputs of a call: 64 MiB of f32.
const OUTPUTS: usize = 1 << 24;
/// Memory from which on a person is told of it before it is taken.
const TOLD: u64 = 256 << 20;
/// Steps whose signs fill a word.
const WORD: usize = 32 / REPLICAS;

/// Steps of a call at most, on a device whose buffers hold so many bytes.
fn steps_at_once(n: usize, float: usize, largest: Option<u64>) -> usize {
    let held = largest.map_or(OUTPUTS, |bytes| OUTPUTS.min(bytes as usize / float));
    // The state before the first is there too.
    ((held / (n * REPLICAS)).saturating_sub(1) / WORD * WORD).max(WORD)
}

/// Checks what the device has to hold for graphs of up to k neighbours; gives the sum in bytes.
pub(crate) fn admit<B: OcnnOps>(
    config: &AutoConfig,
    prepared: &Prepared,
    k: usize,
    context: &Context<B>,
) -> Result<u64> {
    let (n, float) = (prepared.len() as u128, size_of::<B::FloatElem>());
    // An edge may be in two rows; its own ends' ones are counted as edges too.
    let (directed, edges) = (2 * n * k as u128, n * super::CANDIDATES.min(k) as u128 + n);
    if directed > i32::MAX as u128 {
        let reason = format!("{n} different points with so many have more than 2³¹ entries in a graph");
        return Err(Error::Config { field: "neighbours", value: k.to_string(), reason });
    }
    let largest = B::limits(&context.device).largest_buffer;
    let steps = steps_at_once(prepared.len(), float, largest).min(config.steps.max(config.transient)) as u128;
    let plan = [
        Buffer::new("neighbours", directed, 4),
        Buffer::new("their weights", directed, float),
        Buffer::new("outputs of a call", (steps + 1) * n * REPLICAS as u128, float),
        Buffer::new("outputs that count", steps * n * REPLICAS as u128, float),
        // Joined at the end: for a moment the parts and the whole are there.
        Buffer::new("parts of the signs", n * (config.steps / WORD) as u128, 4),
        Buffer::new("signs of all steps", n * (config.steps / WORD) as u128, 4),
        Buffer::new("edges, ones", 3 * edges, 4),
    ];
    limits::admit(context, &plan, "use fewer --neighbours, fewer --steps, or a device with more memory")
}

/// Tells a person how much memory is going to be taken, where that is much: of the host about 60 bytes for each of the k
/// neighbours, and 50 for each of those that may become edges.
pub(crate) fn tell<B: OcnnOps>(n: usize, k: usize, bytes: u64, context: &Context<B>) {
    let host = (n * (60 * k + 50 * super::CANDIDATES)) as u64;
    if bytes + host >= TOLD {
        let [device, host] = [bytes, host].map(|bytes| bytes as f64 / 1e9);
        context
            .observer
            .notice(&format!("takes {device:.2} GB of the device's memory, about {host:.2} GB of the host's"));
    }
}

/// The ones of some runs, each of its networks on both graphs. Ranks take sets of networks in turn; several of a run, or
/// several runs, are of use to several.
pub(crate) fn ones<B: OcnnOps>(
    config: &AutoConfig,
    graphs: &[Rows; 2],
    edges: &Edges,
    runs: Range<u64>,
    context: &Context<B>,
) -> Result<Vec<Ones>> {
    let mut ones: Vec<Ones> = runs.clone().map(|_| Ones::new(edges)).collect();
    if edges.len() == 0 {
        return Ok(ones);
    }
    let (ranks, samples) = (&*context.communicator, REPLICAS * config.steps);
    let sets: Vec<(u64, usize)> = runs.clone().flat_map(|run| [(run, 0), (run, 1)]).collect();
    let (turns, size) = (sets.len().div_ceil(ranks.size()), ranks.size());
    for turn in 0..turns {
        context.go_on()?;
        let now = &sets[turn * size..sets.len().min((turn + 1) * size)];
        let own = now.get(ranks.rank()).map(|&(run, which)| {
            let simulation = Simulation { config, which, run, context };
            simulation.run(&graphs[which], edges)
        });
        let found = ranks.all_gather(&own.unwrap_or(Ok(Vec::new()))?);
        for (found, (run, _)) in found.chunks_exact(edges.len() + edges.n).zip(now) {
            let (common, own) = found.split_at(edges.len());
            ones[(run - runs.start) as usize].add(samples, own, common);
        }
    }
    Ok(ones)
}

/// 8 networks on a graph.
struct Simulation<'a, B: Backend> {
    config: &'a AutoConfig,
    /// The first graph's or the second's.
    which: usize,
    /// Seeds from the context's on.
    run: u64,
    context: &'a Context<B>,
}

impl<B: OcnnOps> Simulation<'_, B> {
    fn ints(&self, values: Vec<i32>, shape: &[usize]) -> Tensor<B, 1, Int> {
        Tensor::from_data(TensorData::new(values, shape.to_vec()), (&self.context.device, DType::I32))
    }

    /// Runs the networks: the ones of both ends of each edge, then those of each neuron.
    fn run(&self, rows: &Rows, edges: &Edges) -> Result<Vec<i32>> {
        let n = edges.n;
        let signs = self.signs(rows, n)?;
        let own = 0..n as i32;
        let ends = |ends: &[u32]| ends.iter().map(|&i| i as i32).chain(own.clone()).collect::<Vec<_>>();
        let both = [ends(&edges.heads), ends(&edges.tails)].concat();
        let count = edges.len() + n;
        let pairs = self.ints(both, &[2 * count]).reshape([2, count]).into_primitive();
        let found = B::ocnn_common_ones(signs.into_primitive(), pairs);
        let found = read_ints(Tensor::<B, 1, Int>::from_primitive(found), "information")?;
        let samples = REPLICAS * self.config.steps;
        let (common, own) = found.split_at(edges.len());
        // Counts that a kernel did not write are, as a rule, none that can be.
        let possible = |e: usize| {
            let ends = [edges.heads[e], edges.tails[e]].map(|i| own[i as usize]);
            (0..=ends[0].min(ends[1])).contains(&common[e]) && ends[0] + ends[1] - common[e] <= samples as i32
        };
        if !own.iter().all(|ones| (0..=samples as i32).contains(ones)) || !(0..edges.len()).all(possible) {
            let device = B::limits(&self.context.device).device;
            let what = "counts of ones that cannot be came back".into();
            return Err(Error::Run { device, phase: "information".into(), what });
        }
        Ok(found)
    }

    /// The signs of all steps that count `[n, steps/4]`.
    fn signs(&self, rows: &Rows, n: usize) -> Result<Tensor<B, 2, Int>> {
        let device = &self.context.device;
        let signed = |values: &[u32]| values.iter().map(|&value| value as i32).collect::<Vec<_>>();
        let (starts, entries) = (rows.starts.len(), rows.neighbours.len());
        let graph = Graph::<B> {
            starts: self.ints(signed(&rows.starts), &[starts]).into_primitive(),
            neighbours: self.ints(signed(&rows.neighbours), &[entries]).into_primitive(),
            weights: primitive::<B, 1>(rows.weights.clone(), [entries], device),
        };
        let mut random = Random::new(self.context.seed.wrapping_add(self.run), self.which as u64);
        let state = (0..n * REPLICAS).map(|_| random.uniform(-1.0, 1.0)).collect();
        let mut state = primitive::<B, 3>(state, [1, n, REPLICAS], device);
        let (transient, total) = (self.config.transient, self.config.transient + self.config.steps);
        let mut words: Vec<Tensor<B, 2, Int>> = Vec::new();
        let most = steps_at_once(n, size_of::<B::FloatElem>(), B::limits(device).largest_buffer);
        let (mut done, mut pace) = (0, WORD);
        while done < total {
            let start = Instant::now();
            let counts = done >= transient;
            let steps = pace.min(if counts { total } else { transient } - done);
            let state_now = Tensor::<B, 3>::from_primitive(TensorPrimitive::Float(state)).reshape([n, REPLICAS]);
            let trajectory = B::ocnn_graph_steps(&graph, state_now.into_primitive().tensor(), steps);
            let trajectory = Tensor::<B, 3>::from_primitive(TensorPrimitive::Float(trajectory));
            state = trajectory.clone().slice([steps..steps + 1, 0..n, 0..REPLICAS]).into_primitive().tensor();
            if counts {
                let outputs = trajectory.slice([1..steps + 1, 0..n, 0..REPLICAS]).into_primitive().tensor();
                words.push(Tensor::from_primitive(B::ocnn_signs(outputs)));
            }
            done += steps;
            B::finish(device, "simulation")?;
            let first = (self.which * total) as u64;
            checkpoint(&self.context.own_pace(), "simulating", first + done as u64, 2 * total as u64)?;
            pace = (pace::next(pace, steps, start) / WORD * WORD).clamp(WORD, most);
        }
        Ok(if words.len() == 1 { words.remove(0) } else { Tensor::cat(words, 1) })
    }
}
